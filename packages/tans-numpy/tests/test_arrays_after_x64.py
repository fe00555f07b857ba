"""64-bit arrays that were made under x64 and are used while it is off: they are narrowed."""

import numpy as np
import pytest

import tans_batching as batching
import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import (
    checkpoint,
    closure_convert,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    vjp,
)
from tans_batching import vmap
from tans_core import config
from tans_xla import (
    device_put,
    devices,
    ensure_compile_time_eval,
    eval_shape,
    jit,
    make_jaxpr,
    wide_arrays,
)

CALLS = {
    "mean": jnp.mean,
    "var": jnp.var,
    "pad": lambda x: jnp.pad(x, 1),
    "at": lambda x: x.at[0].set(1),
    "at add": lambda x: x.at[0].add(1.5),
    "item": lambda x: x[1],
    "nan_to_num": jnp.nan_to_num,
    "logaddexp": lambda x: jnp.logaddexp(x, x),
    "times": lambda x: x * 2.5,
    "jit": jit(lambda x: x + 1),
    "vmap": vmap(lambda x: jnp.sin(x) * 2),
    "grad": grad(lambda x: jnp.mean(x * x)),
    "take_along_axis": lambda x: jnp.take_along_axis(x, np.array([1, 0]), 0),
}


@pytest.fixture
def wide():
    with config.enable_x64(True):
        x = jnp.array([0.5, 1.5, 2.5, 1e-3])
    assert x.dtype == np.float64
    return x


@pytest.mark.parametrize("name", CALLS)
def test_functions_narrow_them(name, wide):
    found = CALLS[name](wide)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, CALLS[name](jnp.asarray(np.asarray(wide, np.float32))))


def test_integers_are_narrowed_without_a_warning():
    with config.enable_x64(True):
        x = jnp.arange(4)
    assert x.dtype == np.int64
    assert x.at[0].set(3).dtype == np.int32
    assert (x + 1).dtype == np.int32


def test_single_operations_keep_them(wide):
    with config.enable_x64(True):
        expected = lax.mul(wide, np.float64(0.1))
    found = lax.mul(wide, np.float64(0.1))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_the_same_call_under_x64_is_wide_again(wide):
    assert jnp.mean(wide).dtype == np.float32
    with config.enable_x64(True):
        assert jnp.mean(wide).dtype == np.float64


def test_python_numbers_beside_captured_arrays_narrow_them(wide):
    for fun in (lambda: wide + 1, lambda: 2.5 * wide, lambda: wide[0] - 1):
        assert jit(fun)().dtype == np.float32


@custom_jvp
def doubled(x):
    return 2 * x


doubled.defjvp(lambda primals, tangents: (doubled(primals[0]), 2 * tangents[0]))


@custom_vjp
def tripled(x):
    return 3 * x


tripled.defvjp(lambda x: (3 * x, None), lambda _, ct: (3 * ct,))

NARROW = np.ones(4, np.float32)

# Functions of one array, which transformations start from.
STARTS = {
    "jvp": lambda x: jvp(lambda x: x * x, (x,), (NARROW,))[1],
    "jvp, wide tangent": lambda x: jvp(lambda x: x * x, (NARROW,), (x,))[1],
    "vjp": lambda x: vjp(lambda x: x * x, x)[1](NARROW)[0],
    "vjp, wide cotangent": lambda x: vjp(lambda x: x * x, NARROW)[1](x)[0],
    "linearize": lambda x: linearize(lambda x: x * x, x)[1](NARROW),
    "linearize, wide tangent": lambda x: linearize(lambda x: x * x, NARROW)[1](x),
    "linear_transpose": lambda x: linear_transpose(lambda y: 2 * y, x)(x)[0],
    "jacfwd": jacfwd(lambda x: x * x),
    "jacrev": jacrev(lambda x: x * x),
    "hessian": hessian(lambda x: (x**3).sum()),
    "custom_jvp": grad(lambda x: doubled(x).sum()),
    "custom_vjp": grad(lambda x: tripled(x).sum()),
    "checkpoint": checkpoint(lambda x: lax.add(x, NARROW)),
    "vmap": vmap(lambda x: lax.add(x, np.float32(1))),
    "scan, init": lambda x: lax.scan(lambda c, _: (c + 1, None), x, None, 3)[0],
    "scan, xs": lambda x: lax.scan(lambda c, x: (c, lax.add(c, x)), np.float32(1), x)[1],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, x),
    "while_loop": lambda x: lax.while_loop(lambda c: c.sum() < 20, lambda c: c + 1, x),
    "cond": lambda x: lax.cond(True, lambda x: lax.add(x, NARROW), lambda x: x, x),
    "map": lambda x: batching.map(lambda x: lax.add(x, np.float32(1)), x),
    "associative_scan": lambda x: lax.associative_scan(jnp.add, x),
}

# Functions of one array, which another function captures.
CAPTURES = {
    "grad": lambda x: grad(lambda y: lax.mul(y, x).sum())(NARROW),
    "grad, result": lambda x: grad(lambda y: (y.sum(), lax.mul(x, NARROW)), has_aux=True)(1.0)[1],
    "jvp": lambda x: jvp(lambda y: lax.mul(y, x), (NARROW,), (NARROW,))[1],
    "vmap": lambda x: vmap(lambda y: lax.mul(y, x), axis_size=4)(np.ones((4, 4), np.float32))[0],
    "jit": lambda x: jit(lambda y: lax.mul(y, x))(NARROW),
    "jit, result": lambda x: jit(lambda: x)(),
    "jit, update": lambda x: jit(lambda y: y.at[:].set(x))(NARROW),
    "jit of grad": lambda x: jit(grad(lambda y: lax.mul(y, x).sum()))(NARROW),
    "grad of jit": lambda x: grad(jit(lambda y: lax.mul(y, x).sum()))(NARROW),
    "custom_vjp": lambda x: grad(lambda y: (tripled(y) * x).sum())(NARROW) / 3,
    "checkpoint": lambda x: grad(checkpoint(lambda y: lax.mul(y, x).sum()))(NARROW),
    "scan": lambda x: lax.scan(lambda c, _: (lax.mul(c, x), None), NARROW, None, 1)[0],
    "fori_loop": lambda x: lax.fori_loop(0, 1, lambda i, c: lax.mul(c, x), NARROW),
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] > x[0], lambda c: lax.mul(c, x), NARROW),
    "cond": lambda x: lax.cond(True, lambda y: lax.mul(y, x), lambda y: y, NARROW),
    "closure_convert": lambda x: closure_convert(lambda y: lax.mul(y, x), NARROW)[0](NARROW),
    "compile time": lambda x: jit(lambda y: y * _now(x))(NARROW),
}


def _now(x):
    with ensure_compile_time_eval():
        return lax.mul(x, NARROW)


@pytest.mark.parametrize("name", STARTS)
def test_transformations_narrow_their_arguments(name, wide):
    found = STARTS[name](wide)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, STARTS[name](jnp.asarray(np.asarray(wide, np.float32))))


@pytest.mark.parametrize("name", CAPTURES)
def test_traced_functions_narrow_what_they_capture(name, wide):
    found = CAPTURES[name](wide)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.asarray(wide, np.float32))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "complex128"])
def test_captured_arrays_of_other_types_are_narrowed(dtype):
    with config.enable_x64(True):
        x = jnp.array([1, 0, 2], dtype)
    found = jit(lambda: lax.add(x, x))()
    assert found.dtype == {"int64": "int32", "uint64": "uint32", "complex128": "complex64"}[dtype]
    np.testing.assert_array_equal(found, [2, 0, 4])


def test_captured_indices_are_narrowed(wide):
    with config.enable_x64(True):
        i = jnp.array([2, 0])
    np.testing.assert_array_equal(jit(lambda x: x[i])(np.arange(3.0)), [2, 0])
    np.testing.assert_array_equal(jit(lambda x: x.at[i].set(7))(np.arange(3.0)), [7, 1, 7])


def test_programs_are_recorded_as_they_are_called(wide):
    assert str(make_jaxpr(jnp.sin)(wide)).startswith("{ lambda ; a:f32[4].")
    assert eval_shape(jnp.sin, wide).dtype == np.float32
    assert jit(lambda x: lax.add(x, NARROW)).lower(wide).compile()(wide).dtype == np.float32


def test_an_array_captured_twice_is_one_constant(wide):
    closed = make_jaxpr(lambda: lax.add(lax.sin(wide), wide))()
    assert len(closed.consts) == 1


def test_narrowed_copies_keep_weak_type_and_place():
    device = devices()[-1]
    with config.enable_x64(True):
        x = device_put(jnp.asarray(1.5), device)
        weak = jnp.asarray(2.5) * 1.0
    assert wide_arrays.narrow(x).devices() == {device}
    assert wide_arrays.narrow(x).committed
    assert wide_arrays.narrow(weak).weak_type is weak.weak_type


def test_values_out_of_range_become_infinite():
    with config.enable_x64(True):
        x = jnp.array([1e300])
    assert jit(lambda y: y * x)(1.0) == np.inf


def test_what_was_made_under_x64_keeps_its_types(wide):
    with config.enable_x64(True):
        y, pull = vjp(lambda x: x * x, wide)
        _, push = linearize(lambda x: x * x, wide)
    assert pull(y)[0].dtype == np.float64
    assert push(y).dtype == np.float64
    with pytest.raises(ValueError, match=r"given.*float32.*expected float64.*Convert"):
        pull(NARROW)
