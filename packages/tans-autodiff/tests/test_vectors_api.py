"""API behaviour: the vectors A1 to A36 and complex numbers, C1 to C12, by number."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    custom_gradient,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from tans_core import dtypes, tree
from tans_xla import jit, make_jaxpr

f32 = np.float32
add, mul, sub = lax.add, lax.mul, lax.sub
FLOAT0 = np.zeros((), dtypes.float0)


def array(*values):
    return np.array(values, f32)


def cube(x):
    return mul(x, lax.square(x))


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


def outer(a, b):
    return lax.dot(lax.reshape(a, (a.shape[0], 1)), lax.reshape(b, (1, b.shape[0])))


def steps(x):
    """Multiply by x three times; the count is computed."""
    return lax.while_loop(
        lambda s: lax.lt(s[0], 3), lambda s: (add(s[0], 1), mul(s[1], x)), (0, 1.0)
    )[1]


def counted(x):
    n = lax.while_loop(lambda n: lax.lt(n, 3), lambda n: add(n, 1), 0)
    return mul(lax.convert_element_type(n, "float32"), x)


def three_times(x):
    return lax.fori_loop(0, 3, lambda _, c: mul(c, x), 1.0)


def traced_bound(x, n):
    return lax.fori_loop(0, n, lambda _, c: mul(c, x), 1.0)


def until_ten(x):
    return lax.while_loop(lambda c: lax.lt(c, 10.0), lambda c: mul(c, x), x)


def doubled(x):
    return lax.scan(lambda c, _: (mul(2.0, c), None), x, None, length=3)[0]


def reverse_product(xs):
    return lax.scan(lambda c, x: (mul(c, x), None), 1.0, xs, reverse=True)[0]


def last_product(xs):
    return lax.index_in_dim(lax.associative_scan(mul, xs), -1, keepdims=False)


def branches(x):
    return lax.cond(lax.gt(x, 0.0), lax.square, lax.neg, x)


@custom_jvp
def sine_times(x, y):
    return mul(lax.sin(x), y)


sine_times.defjvp(lambda p, t: (sine_times(*p), add(mul(10.0, t[0]), t[1])))


@custom_jvp
def product(x, y):
    return mul(x, y)


product.defjvps(lambda t, out, x, y: mul(7.0, t), None)


def power(n, x):
    return lax.integer_pow(x, n)


static_power = custom_jvp(power, nondiff_argnums=(0,))
static_power.defjvp(lambda n, p, t: (power(n, p[0]), mul(100.0 * n, t[0])))


@custom_vjp
def ten_times(x, y):
    return mul(x, y)


ten_times.defvjp(lambda x, y: (mul(x, y), None), lambda _, ct: (mul(10.0, ct), None))


def of_dict(bwd):
    f = custom_vjp(lambda d: mul(d["a"], d["b"]))
    f.defvjp(lambda d: (mul(d["a"], d["b"]), None), bwd)
    return grad(f)({"a": 2.0, "b": 3.0})


def symbolic_zeros():
    """Return what forward and backward rules see."""
    seen = []
    f = custom_vjp(lambda x, y: (x, y))

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return (x.value, y.value), None

    def bwd(_, cts):
        seen.append(tuple(type(ct).__name__ == "SymbolicZero" for ct in cts))
        return (cts[0], None)

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    grad(lambda x: f(x, 1.0)[0])(2.0)
    return seen


def square_with_gradient(x):
    return lax.square(x), lambda g: (mul(g, x),)


def nested(x):
    return mul(x, grad(lambda y: add(x, y))(x))


def shapes(jacobians):
    return [j.shape for j in jacobians]


AB = {"a": 2.0, "b": 3.0}
VECTORS = {
    "A1": (lambda: grad(mul, -1)(2.0, 3.0), 2.0),
    "A1 sequence": (lambda: grad(mul, (0,))(2.0, 3.0), (3.0,)),
    "A2": (lambda: grad(lambda d: mul(d["a"], d["b"]))(AB), {"a": 3.0, "b": 2.0}),
    "A3": (lambda: grad(lambda x: (lax.square(x), {"a": x}), has_aux=True)(3.0), (6.0, {"a": 3.0})),
    "A4": (lambda: value_and_grad(lax.square)(3.0), (9.0, 6.0)),
    "A5": (lambda: grad(lambda x: 1.0)(2.0), 0.0),
    "A6": (
        lambda: grad(lambda x: mul(lax.convert_element_type(x, "float32"), 2.0), allow_int=True)(1),
        FLOAT0,
    ),
    "A7": (
        lambda: vjp(lambda x, n: mul(x, lax.convert_element_type(n, "float32")), 2.0, 3)[1](1.0),
        (3.0, FLOAT0),
    ),
    "A8": (
        lambda: vjp(lambda x: lax.convert_element_type(x, "float32"), np.float16(1))[1](f32(2)),
        (np.float16(2),),
    ),
    "A9": (lambda: grad(lambda x: mul(x, lax.stop_gradient(x)))(3.0), 3.0),
    "A10": (lambda: jvp(steps, (2.0,), (1.0,)), (8.0, 12.0)),
    "A12": (lambda: grad(counted)(2.0), 3.0),
    "A13": (lambda: grad(three_times)(2.0), 12.0),
    "A13 text": (lambda: " scan[" in str(make_jaxpr(grad(three_times))(2.0)), True),
    "A15": (lambda: linearize(steps, 2.0)[1](1.0), 12.0),
    "A16": (lambda: jvp(until_ten, (2.0,), (1.0,)), (16.0, 32.0)),
    "A17": (
        lambda: linear_transpose(lambda x, y: sub(mul(0.5, x), mul(0.5, y)), 0.0, 0.0)(1.0),
        (0.5, -0.5),
    ),
    "A18": (lambda: linear_transpose(lambda x: mul(2, x), 1)(1), (np.int32(2),)),
    "A19": (lambda: linear_transpose(doubled, 1.0)(1.0), (8.0,)),
    "A20": (lambda: jacfwd(lax.square)(array(0, 1, 2)), np.diag(array(0, 2, 4))),
    "A21": (
        lambda: shapes(jacfwd(outer, (0, 1))(array(1, 2), array(1, 2, 3))),
        [(2, 3, 2), (2, 3, 3)],
    ),
    "A22": (lambda: hessian(lambda x: total(cube(x)))(array(0, 1)), np.diag(array(0, 6))),
    "A23": (
        lambda: hessian(lambda d: mul(d["a"], d["b"]))(AB),
        {"a": {"a": 0.0, "b": 1.0}, "b": {"a": 1.0, "b": 0.0}},
    ),
    "A24": (
        lambda: (
            linearize(lambda x, y: (x, y, {"a": mul(x, y)}), 2.0, 3.0, in_nzs=(True, False))[
                1
            ].out_nzs
        ),
        (True, False, {"a": True}),
    ),
    "A25": (lambda: grad(reverse_product)(array(1, 2, 3)), array(6, 3, 2)),
    "A26": (lambda: grad(last_product)(array(1, 2, 3)), array(6, 3, 2)),
    "A27": (lambda: grad(branches)(3.0), 6.0),
    "A28": (lambda: grad(nested)(1.0), 1.0),
    "A29": (lambda: jvp(sine_times, (1.0, 2.0), (1.0, 0.0))[1], 10.0),
    "A29 grad": (lambda: grad(sine_times, (0, 1))(1.0, 2.0), (10.0, 1.0)),
    "A30": (lambda: grad(product, (0, 1))(2.0, 3.0), (7.0, 0.0)),
    "A31": (lambda: grad(lambda x: static_power(3, x))(2.0), 300.0),
    "A32": (lambda: grad(ten_times, (0, 1))(2.0, 3.0), (10.0, 0.0)),
    "A34": (lambda: of_dict(lambda _, g: (None,)), {"a": 0.0, "b": 0.0}),
    "A34 part": (lambda: of_dict(lambda _, g: ({"a": g, "b": None},)), {"a": 1.0, "b": 0.0}),
    "A35": (symbolic_zeros, [(True, False), (False, True)]),
    "A36": (lambda: grad(custom_gradient(square_with_gradient))(3.0), 3.0),
    "C1": (lambda: grad(lambda z: lax.real(mul(z, lax.conj(z))))(1 + 2j), 2 - 4j),
    "C2": (lambda: grad(lambda z: lax.real(lax.square(z)))(1 + 2j), 2 + 4j),
    "C3": (lambda: grad(lax.imag)(1 + 2j), -1j),
    "C4": (lambda: grad(lax.square, holomorphic=True)(1 + 2j), 2 + 4j),
    "C5": (lambda: grad(lax.conj, holomorphic=True)(1 + 2j), 1 + 0j),
    "C6": (lambda: vjp(lambda z: mul(z, np.complex64(2 + 1j)), 1 + 1j)[1](1j), (-1 + 2j,)),
    "C7": (
        lambda: vjp(lambda x: mul(lax.complex(x, f32(0)), np.complex64(2 + 1j)), f32(1))[1](1j),
        (f32(-1),),
    ),
    "C8": (
        lambda: vjp(lambda z: lax.real(mul(z, np.complex64(2 + 1j))), 1 + 1j)[1](1.0),
        (2 + 1j,),
    ),
    "C9": (lambda: vjp(lax.conj, 1 + 1j)[1](1j), (-1j,)),
    "C10": (lambda: jvp(lax.square, (1 + 2j,), (1j,)), (-3 + 4j, -4 + 2j)),
    "C11": (lambda: grad(lambda z: lax.square(lax.abs(z)))(3 + 4j), 6 - 8j),
    "C11 angle": (lambda: grad(lambda z: lax.atan2(lax.imag(z), lax.real(z)))(1j), -1 + 0j),
    "C12": (lambda: jacfwd(lambda x: lax.complex(0.0, x))(3.0), 1j),
    "C12 holomorphic": (lambda: jacfwd(lax.square, holomorphic=True)(1 + 2j), 2 + 4j),
}


@pytest.mark.parametrize("number", VECTORS)
def test_vector(number):
    run, expected = VECTORS[number]
    found = run()
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        if isinstance(b, np.ndarray | np.generic):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
        if getattr(b, "dtype", None) != dtypes.float0:
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6)


REFUSED = {
    "A11": (lambda: grad(steps)(2.0), ValueError, "Reverse-mode|reverse-mode"),
    "A14": (lambda: jit(grad(traced_bound))(2.0, 3), ValueError, "reverse"),
    "A33": (lambda: jvp(ten_times, (1.0, 1.0), (1.0, 1.0)), TypeError, "forward-mode"),
}


@pytest.mark.parametrize("number", REFUSED)
def test_refused_vector(number):
    run, error, fact = REFUSED[number]
    with pytest.raises(error, match=fact):
        run()
