"""Reductions against NumPy, their types, errors, lowering and batching."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_core import rules, typeof
from tans_core.context import AxisData
from tans_lax.reductions import MONOIDS, argmax_p, reduce_p, reduce_sum_p
from tans_xla import jit, make_jaxpr

RTOL = {"float32": 1e-5, "bfloat16": 3e-2, "float16": 5e-3, "complex64": 1e-5, "int8": 0, "bool": 0}
SHAPES = [(), (0,), (5,), (2, 3, 4)]
ORACLES = {
    "reduce_sum": np.sum,
    "reduce_prod": np.prod,
    "reduce_max": np.max,
    "reduce_min": np.min,
}


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) > 0.5
    values = rng.integers(-3, 4, shape) if dtype == "int8" else rng.standard_normal(shape)
    if dtype == "complex64":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def wide(x):
    kind = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.asarray(x).astype(kind)


def all_axes(x):
    return tuple(range(np.ndim(x)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int8"])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod"])
def test_sum_and_product_equal_numpy(name, dtype):
    xs = [sample(shape, dtype) for shape in SHAPES]
    outs = jit(lambda xs: [getattr(lax, name)(x, all_axes(x)) for x in xs])(xs)
    for x, out in zip(xs, outs, strict=True):
        kind = np.int8 if dtype == "int8" else None
        expected = ORACLES[name](wide(x) if kind is None else x, dtype=kind)
        assert out.dtype == x.dtype
        assert out.shape == ()
        np.testing.assert_allclose(wide(out), wide(expected), rtol=RTOL[dtype], atol=RTOL[dtype])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_extrema_equal_numpy(name, dtype):
    xs = [sample(shape, dtype) for shape in [(), (5,), (2, 3, 4)]]
    outs = jit(lambda xs: [getattr(lax, name)(x, all_axes(x)) for x in xs])(xs)
    for x, out in zip(xs, outs, strict=True):
        np.testing.assert_array_equal(np.asarray(out), ORACLES[name](x))


@pytest.mark.parametrize("axes", [(), (0,), (2,), (0, 2), (2, 1), (0, 1, 2)])
def test_axes_select_what_is_reduced(axes):
    x = sample((2, 3, 4), "float32")
    np.testing.assert_allclose(lax.reduce_sum(x, axes), x.sum(axes), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(lax.reduce_max(x, list(axes)), x.max(axes))


def test_extrema_of_an_empty_axis_are_the_identities():
    x = np.zeros((2, 0), np.float32)
    assert lax.reduce_max(x, (1,)).tolist() == [-np.inf] * 2
    assert lax.reduce_min(x.astype(np.int8), (1,)).tolist() == [127] * 2
    assert lax.reduce_max(x.astype(bool), (1,)).tolist() == [False] * 2
    assert lax.reduce_min(x.astype(np.uint8), (1,)).tolist() == [255] * 2


def test_nan_wins_in_extrema():
    x = np.array([1.0, np.nan, 3.0], np.float32)
    assert np.isnan(float(lax.reduce_max(x, (0,))))
    assert np.isnan(float(lax.reduce_min(x, (0,))))


def test_complex_extrema_are_lexicographic():
    x = np.array([1 + 2j, 1 - 1j, 1 + 5j, 0 + 9j], np.complex64)
    assert complex(lax.reduce_max(x, (0,))) == 1 + 5j
    assert complex(lax.reduce_min(x, (0,))) == 9j


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("reduce_and", np.bitwise_and),
        ("reduce_or", np.bitwise_or),
        ("reduce_xor", np.bitwise_xor),
    ],
)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32"])
def test_logical_reductions_equal_numpy(name, oracle, dtype):
    x = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, (3, 4)).astype(dtype)
    fn = getattr(lax, name)
    np.testing.assert_array_equal(fn(x, (0,)), oracle.reduce(x, axis=0))
    np.testing.assert_array_equal(fn(x[:0], (0,)), oracle.reduce(x[:0], axis=0))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_arg_extrema_equal_numpy(axis, dtype):
    x = sample((2, 3, 4), dtype)
    np.testing.assert_array_equal(lax.argmax(x, axis, np.int32), x.argmax(axis))
    np.testing.assert_array_equal(lax.argmin(x, axis, np.int8), x.argmin(axis))


def test_arg_extrema_take_the_first_of_equals_and_nan():
    assert int(lax.argmax(np.array([1, 3, 3]), 0, np.int32)) == 1
    assert int(lax.argmin(np.array([1.0, 1.0, 2.0]), 0, np.int32)) == 0
    x = np.array([3.0, np.nan, 1.0, np.nan], np.float32)
    assert int(lax.argmax(x, 0, np.int32)) == 1
    assert int(lax.argmin(x, 0, np.int32)) == 1
    assert lax.argmin(np.array([[-np.inf, -np.inf]]), 1, np.int32).tolist() == [0]


def test_weak_types_pass_through_sums_but_not_indices():
    assert typeof(lax.reduce_sum(2.0, ())).weak_type
    jaxpr = make_jaxpr(lambda x: lax.argmax(x, 0, np.int32))(np.ones(3))
    assert not jaxpr.out_avals[0].weak_type


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: lax.reduce_sum(np.ones(3), (-1,)), ValueError, ["-1", "write 0"]),
        (lambda: lax.reduce_sum(np.ones(3), (1,)), ValueError, ["axis 1", "float32[3]"]),
        (lambda: lax.reduce_sum(np.ones((2, 2)), (0, 0)), ValueError, ["twice"]),
        (lambda: lax.reduce_sum(np.ones(3), 0), TypeError, ["(0,)"]),
        (lambda: lax.reduce_sum(np.array([True]), (0,)), TypeError, ["bool", "numeric"]),
        (lambda: lax.reduce_and(np.ones(3), (0,)), TypeError, ["float32", "integer"]),
        (lambda: lax.argmax(np.ones((0, 2)), 0, np.int32), ValueError, ["empty", "float32[0,2]"]),
        (lambda: lax.argmax(np.ones(2), 0, np.float32), TypeError, ["index_dtype", "float32"]),
        (lambda: lax.argmax(np.ones(2) * 1j, 0, np.int32), TypeError, ["complex64"]),
        (lambda: lax.argmax(np.ones(2), 1, np.int32), ValueError, ["axis 1"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


def test_general_fold_of_several_arrays():
    x = sample((4, 3), "float32")
    y = np.abs(sample((4, 3), "float32", 1))

    def add_and_multiply(a, b):
        return {"s": lax.add(a["s"], b["s"]), "p": lax.mul(a["p"], b["p"])}

    inits = {"s": np.float32(0), "p": np.float32(1)}
    out = lax.reduce({"s": x, "p": y}, inits, add_and_multiply, (0,))
    np.testing.assert_allclose(out["s"], x.sum(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out["p"], y.prod(0), rtol=1e-5)


def test_initial_value_of_a_general_fold_is_applied():
    assert float(lax.reduce(np.ones(3, np.float32), np.float32(10), lax.add, (0,))) == 13.0


@pytest.mark.parametrize(
    ("init", "computation", "name"),
    [
        (0.0, "add", "reduce_sum"),
        (1.0, "mul", "reduce_prod"),
        (-np.inf, "max", "reduce_max"),
        (np.inf, "min", "reduce_min"),
        (1.0, "add", "reduce"),
    ],
)
def test_fold_becomes_a_named_reduction_when_it_is_one(init, computation, name):
    fn = getattr(lax, computation)
    jaxpr = make_jaxpr(lambda x: lax.reduce(x, init, fn, (0,)))(np.ones((2, 3), np.float32))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == [name]


def test_equal_folds_share_one_traced_body():
    def bodies(fn):
        jaxpr = make_jaxpr(lambda x: (fn(x), fn(x)))(np.ones(3, np.float32))
        return [eqn.params["jaxpr"] for eqn in jaxpr.eqns if eqn.primitive is reduce_p]

    first, second = bodies(lambda x: lax.reduce(x, 1.0, lax.add, (0,)))
    assert first is second


@pytest.mark.parametrize(
    ("args", "error", "facts"),
    [
        ((np.ones(3, np.float32), 1, lax.add), TypeError, ["float32", "int32"]),
        ((np.ones(3, np.float32), np.ones(2, np.float32), lax.add), ValueError, ["scalar", "(2,)"]),
        (((), (), lax.add), TypeError, ["no operands"]),
        (((np.ones(3), np.ones(2)), (0.0, 0.0), lambda a, b: a), ValueError, ["(2,)", "(3,)"]),
        ((np.ones(3), 0.0, lambda a, b: (a, b)), TypeError, ["structure"]),
        ((np.ones(3), 0.0, lax.gt), TypeError, ["bool", "float32"]),
        ((np.ones(3), (0.0,), lax.add), TypeError, ["structure"]),
    ],
)
def test_bad_folds_are_named(args, error, facts):
    with pytest.raises(error) as raised:
        lax.reduce(*args, (0,))
    assert all(fact in str(raised.value) for fact in facts)


def test_fold_with_a_captured_traced_value_is_refused():
    def program(x, y):
        return lax.reduce(x, 1.0, lambda a, b: lax.add(lax.add(a, b), y), (0,))

    with pytest.raises(NotImplementedError, match="traced value from outside"):
        make_jaxpr(program)(np.ones(3, np.float32), np.float32(1))


def test_reduction_lowers_to_one_operation():
    text = jit(lambda x: lax.reduce_sum(x, (0,))).lower(np.ones((2, 3), np.float32)).as_text()
    assert text.count("stablehlo.reduce") == 1
    assert text.count("stablehlo.constant") == 1
    text = jit(lambda x: lax.reduce_sum(x, ())).lower(np.ones(3, np.float32)).as_text()
    assert "stablehlo" not in text


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_batching_equals_a_loop(dim, axes):
    x = sample((2, 3, 4), "float32")
    out, out_dim = rules.batching[reduce_sum_p](
        AxisData(x.shape[dim]), (x,), (dim,), axes=axes, out_sharding=None
    )
    each = [part.sum(axes) for part in np.moveaxis(x, dim, 0)]
    np.testing.assert_allclose(np.moveaxis(np.asarray(out), out_dim, 0), each, rtol=1e-5)


def test_batching_of_argmax_equals_a_loop():
    x = sample((2, 3, 4), "float32")
    out, out_dim = rules.batching[argmax_p](
        AxisData(3), (x,), (1,), axes=(1,), index_dtype=np.dtype("int32")
    )
    np.testing.assert_array_equal(np.moveaxis(np.asarray(out), out_dim, 0), x.argmax(2).T)


@pytest.mark.parametrize("init_dim", [None, 0])
def test_batching_of_general_folds_equals_a_loop(init_dim):
    x = sample((5, 3), "float32")
    jaxpr = make_jaxpr(lambda x: lax.reduce(x, 1.0, lax.add, (0,)))(x[0]).eqns[0].params["jaxpr"]
    init = np.float32(2) if init_dim is None else np.arange(5, dtype=np.float32)
    (out,), (dim,) = rules.batching[reduce_p](
        AxisData(5), (x, init), (0, init_dim), dimensions=(0,), jaxpr=jaxpr
    )
    assert dim == 0
    np.testing.assert_allclose(out, x.sum(1) + init, rtol=1e-5)


def test_each_monoid_has_an_identity_that_changes_nothing():
    values = {"and": 5, "or": 5, "xor": 5}
    for name, monoid in MONOIDS.items():
        x = np.int8(values.get(name, 3))
        identity = np.asarray(monoid.identity(np.dtype("int8")), np.int8)[()]
        assert int(monoid.function(x, identity)) == x
