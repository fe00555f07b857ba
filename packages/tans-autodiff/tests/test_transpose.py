"""linear_transpose and the backward walk."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import custom_jvp, grad, linear_transpose, vjp
from tans_core import Primitive, named_scope, rules
from tans_core.config import enable_checks
from tans_xla import ShapeDtypeStruct, jit, make_jaxpr

f32 = np.float32


def test_two_arguments():
    transposed = linear_transpose(lambda x, y: lax.sub(lax.mul(0.5, x), lax.mul(0.5, y)), 1.0, 1.0)
    assert list(map(float, transposed(1.0))) == [0.5, -0.5]


def test_integers():
    (ct,) = linear_transpose(lambda x: lax.mul(2, x), 1)(1)
    assert int(ct) == 2
    assert ct.dtype == np.int32


def test_only_types_of_the_primals_are_read():
    transposed = linear_transpose(lambda x: lax.reduce_sum(x, (0,)), ShapeDtypeStruct((3,), f32))
    np.testing.assert_array_equal(transposed(f32(2))[0], [2, 2, 2])


def test_added_constants_are_ignored():
    assert float(linear_transpose(lambda x: lax.add(x, 1.0), 0.0)(2.0)[0]) == 2.0


def test_scan_that_doubles():
    def f(x):
        return lax.scan(lambda c, _: (lax.mul(c, 2.0), None), x, None, length=3)[0]

    assert float(linear_transpose(f, 1.0)(1.0)[0]) == 8.0


def test_through_jit_and_under_jit():
    f = jit(lambda x: lax.mul(3.0, x))
    assert float(linear_transpose(f, 1.0)(2.0)[0]) == 6.0
    assert float(jit(lambda ct: linear_transpose(f, 1.0)(ct)[0])(2.0)) == 6.0


def test_captured_values():
    def f(c):
        return linear_transpose(lambda x: lax.mul(c, x), 1.0)(1.0)[0]

    assert float(grad(f)(3.0)) == 1.0


@pytest.mark.parametrize(
    ("make", "error", "facts"),
    [
        (lambda: linear_transpose(lax.sin, 1.0)(1.0), NotImplementedError, ["'sin'"]),
        (
            lambda: linear_transpose(lambda x: lax.mul(x, x), 1.0)(1.0),
            NotImplementedError,
            ["'mul'"],
        ),
        (lambda: linear_transpose(lambda x, n: x, 1.0, 1), TypeError, ["int32", "float32"]),
        (lambda: linear_transpose(lax.neg, 1.0)(np.ones(2, f32)), TypeError, ["float32[2]"]),
        (lambda: linear_transpose(lax.neg, 1.0)((1.0,)), TypeError, ["tree"]),
        (lambda: linear_transpose(lax.neg, 1.0, reduce_axes=("i",)), NotImplementedError, []),
    ],
)
def test_misuse(make, error, facts):
    with pytest.raises(error) as caught:
        make()
    for fact in facts:
        assert fact in str(caught.value)


def test_a_rule_that_uses_its_tangent_non_linearly_is_named():
    @custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (primals[0], lax.sin(tangents[0])))
    with pytest.raises(NotImplementedError, match="'sin'"):
        grad(f)(1.0)


def test_cotangents_of_unused_outputs_cost_nothing():
    _, f_vjp = vjp(lambda x: (lax.sin(x), lax.cos(x)), 0.0)
    assert float(f_vjp((1.0, 0.0))[0]) == 1.0


SHAPES = [(), (3,), (0, 3), (2, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "f",
    [
        lax.neg,
        lambda x: lax.mul(x, 3.0),
        lambda x: lax.convert_element_type(x, "float16"),
        lambda x: lax.reduce_sum(x, tuple(range(x.ndim))),
        lambda x: lax.broadcast(x, (2,)),
        lambda x: lax.reshape(x, (x.size,)),
    ],
    ids=["neg", "scale", "convert", "sum", "broadcast", "reshape"],
)
def test_inner_products_agree(f, shape):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape).astype(f32)
    y = f(x)
    ct = rng.standard_normal(y.shape).astype(y.dtype)
    (x_bar,) = linear_transpose(f, x)(ct)
    left = np.vdot(np.asarray(ct, f32), np.asarray(y, f32))
    np.testing.assert_allclose(left, np.vdot(x_bar, x), rtol=2e-2, atol=1e-2)


def test_checks_name_a_rule_with_a_wrong_cotangent():
    wrong_p = Primitive("wrong")
    rules.types[wrong_p] = lambda aval: aval
    rules.jvp[wrong_p] = lambda p, t: (p[0], wrong_p.bind(t[0]))
    rules.transpose[wrong_p] = lambda ct, x: (lax.broadcast(ct, (2,)),)
    try:
        with enable_checks(True), pytest.raises(AssertionError, match="'wrong'"):
            grad(lambda x: lax.neg(wrong_p.bind(x)))(1.0)
    finally:
        for table in (rules.types, rules.jvp, rules.transpose):
            del table[wrong_p]


def test_transposed_operations_keep_the_names_of_the_forward_ones():
    def f(x):
        with named_scope("layer"):
            return lax.sin(x)

    def outer(x):
        with named_scope("outer"):
            return grad(f)(x)

    names = [e.name_stack for e in make_jaxpr(outer)(1.0).eqns]
    inner = "outer/jvp(layer)"
    assert names == [inner, inner, "outer/transpose(jvp(layer))"]
