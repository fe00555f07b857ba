"""while_loop and fori_loop."""

import numpy as np
import pytest

from tans_autodiff import grad, jacfwd, jvp, linearize
from tans_batching import vmap
from tans_core import config, dce_jaxpr
from tans_lax.control_flow.fori_loop import fori_loop
from tans_lax.control_flow.scan import scan_p
from tans_lax.control_flow.while_loop import while_loop, while_p
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.elementwise.comparison import lt
from tans_xla import jit, make_jaxpr


def power(x):
    return while_loop(lambda c: lt(c[0], 3), lambda c: (add(c[0], 1), mul(c[1], x)), (0, 1.0))[1]


def test_while_equals_a_loop():
    assert int(while_loop(lambda n: lt(n, 100), lambda n: mul(n, 2), 3)) == 192
    assert int(jit(lambda n: while_loop(lambda n: lt(n, 100), lambda n: mul(n, 2), n))(3)) == 192


def test_condition_false_at_first_returns_the_initial_carry():
    assert int(while_loop(lambda n: lt(n, 1), lambda n: mul(n, 2), 3)) == 3


def test_forward_derivative():
    # Vectors A10, A15, A16.
    out, dot = jvp(power, (np.float32(2),), (np.float32(1),))
    assert (float(out), float(dot)) == (8.0, 12.0)
    _, f_jvp = linearize(power, np.float32(2))
    assert float(f_jvp(np.float32(1))) == 12.0
    doubling = lambda x: while_loop(lambda c: lt(c, 10.0), lambda c: mul(c, 2.0), x)  # noqa: E731
    out, dot = jvp(doubling, (np.float32(2),), (np.float32(1),))
    assert (float(out), float(dot)) == (16.0, 8.0)
    np.testing.assert_allclose(jacfwd(power)(np.float32(2)), 12)


def test_jvp_is_one_loop_whose_condition_reads_primals_only():
    # Vector L5.
    x = np.float32(2)
    jaxpr = make_jaxpr(
        lambda x, t: jvp(
            lambda c: while_loop(lambda c: lt(c, 10.0), lambda c: mul(c, 2.0), c), (x,), (t,)
        )
    )(x, x)
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is while_p]
    assert len(eqn.outvars) == 2
    assert len(eqn.params["cond_jaxpr"].eqns) == 1


def test_reverse_derivative_says_what_to_use_instead():
    # Vectors A11, A14.
    with pytest.raises(ValueError, match="scan"):
        grad(power)(np.float32(2))
    with pytest.raises(ValueError, match="fori_loop"):
        jit(grad(lambda x, n: fori_loop(0, n, lambda i, c: mul(c, x), 1.0)))(np.float32(2), 3)


def test_integer_loop_does_not_block_the_gradient():
    # Vector A12.
    def f(x):
        n = while_loop(lambda n: lt(n, 3), lambda n: add(n, 1), 0)
        return mul(x, convert_element_type(n, np.float32))

    assert float(grad(f)(np.float32(2))) == 3.0


def test_vmap_with_mapped_condition_stops_each_lane():
    f = lambda n, x: while_loop(  # noqa: E731
        lambda c: lt(c[0], n), lambda c: (add(c[0], 1), mul(c[1], x)), (0, 1.0)
    )
    n = np.arange(4, dtype=np.int32)
    count, value = vmap(f, in_axes=(0, None))(n, np.float32(2))
    np.testing.assert_array_equal(count, n)
    np.testing.assert_array_equal(value, 2.0**n)


def test_vmap_with_shared_condition_keeps_it_scalar():
    f = lambda x: while_loop(  # noqa: E731
        lambda c: lt(c[0], 3), lambda c: (add(c[0], 1), mul(c[1], x)), (0, 1.0)
    )
    jaxpr = make_jaxpr(vmap(f))(np.ones(4, np.float32))
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is while_p]
    assert eqn.outvars[0].aval.shape == ()
    assert eqn.outvars[1].aval.shape == (4,)


def test_nested_vmap():
    f = lambda n, x: while_loop(  # noqa: E731
        lambda c: lt(c[0], n), lambda c: (add(c[0], 1), mul(c[1], x)), (0, 1.0)
    )[1]
    n, x = np.arange(3, dtype=np.int32), np.array([1.0, 2.0], np.float32)
    got = vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None))(n, x)
    np.testing.assert_array_equal(got, x[None, :] ** n[:, None])


def test_jvp_of_vmap():
    f = lambda x: vmap(  # noqa: E731
        lambda n: while_loop(
            lambda c: lt(c[0], n), lambda c: (add(c[0], 1), mul(c[1], x)), (0, 1.0)
        )[1]
    )(np.arange(4, dtype=np.int32))
    _, dot = jvp(f, (np.float32(2),), (np.float32(1),))
    np.testing.assert_allclose(dot, [0, 1, 4, 12])


def test_dead_carry_is_removed():
    def f(x):
        return while_loop(
            lambda c: lt(c[0], 3),
            lambda c: (add(c[0], 1), mul(c[1], 2.0), mul(c[2], 3.0)),
            (0, x, x),
        )[1]

    jaxpr, _ = dce_jaxpr(make_jaxpr(f)(np.float32(1)), [True])
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is while_p]
    assert len(eqn.outvars) == 2


def test_weak_carry_takes_the_dtype_of_the_result():
    one = np.float16(1)
    out = while_loop(
        lambda c: lt(convert_element_type(c, np.int32), 4),
        lambda c: add(convert_element_type(c, one.dtype), one),
        0,
    )
    assert out.dtype == np.float16


def test_while_under_disable_jit_runs_python():
    seen = []

    def body(n):
        seen.append(int(n))
        return n + 1

    with config.disable_jit(True):
        assert while_loop(lambda n: n < 3, body, 0) == 3
    assert seen == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        (lambda: while_loop(lambda c: c, lambda c: c, 1.0), r"float32\[\]"),
        (lambda: while_loop(lambda c: (lt(c, 1.0), c), lambda c: c, 1.0), "boolean"),
        (
            lambda: while_loop(lambda c: lt(c, np.ones(3, np.float32)), lambda c: c, 1.0),
            r"bool\[3\]",
        ),
        (lambda: while_loop(lambda c: lt(c, 1.0), lambda c: (c, c), 1.0), "tuple"),
        (
            lambda: while_loop(lambda c: lt(c, 1.0), lambda c: np.ones(3, np.float32), 1.0),
            r"float32\[3\]",
        ),
        (lambda: while_loop(1, lambda c: c, 1.0), "cond_fun"),
        (lambda: fori_loop(0, 3.5, lambda i, c: c, 1.0), "upper"),
        (lambda: fori_loop(0, np.ones(3, np.int32), lambda i, c: c, 1.0), "upper"),
        (lambda: fori_loop(np.int32(0), np.int8(3), lambda i, c: c, 1.0), "int8"),
    ],
    ids=["number", "tree", "array", "structure", "shape", "fn", "float", "vector", "dtypes"],
)
def test_bad_input_is_refused(call, fact):
    with pytest.raises(TypeError, match=fact):
        call()


def test_static_bounds_make_a_scan_and_traced_ones_a_while():
    static = make_jaxpr(lambda x: fori_loop(0, 3, lambda i, c: add(c, i), x))(np.int32(0))
    assert [e.primitive for e in static.eqns] == [scan_p]
    traced = make_jaxpr(lambda n, x: fori_loop(0, n, lambda i, c: add(c, i), x))(3, np.int32(0))
    assert [e.primitive for e in traced.eqns] == [while_p]


@pytest.mark.parametrize(("lower", "upper"), [(0, 5), (2, 2), (4, 1), (-3, 2)])
def test_fori_loop_equals_a_loop(lower: int, upper: int):
    want = sum(range(lower, upper))
    body = lambda i, c: add(c, i)  # noqa: E731
    assert int(fori_loop(lower, upper, body, 0)) == want
    assert int(jit(lambda a, b: fori_loop(a, b, body, 0))(lower, upper)) == want
    assert int(jit(lambda b: fori_loop(lower, b, body, 0))(upper)) == want
    assert int(fori_loop(np.int32(lower), np.int32(upper), body, 0)) == want


def test_unroll_needs_static_bounds():
    with pytest.raises(ValueError, match="unroll=3"):
        jit(lambda n: fori_loop(0, n, lambda i, c: c, 1.0, unroll=3))(3)
    assert float(fori_loop(0, 7, lambda i, c: add(c, 1.0), 0.0, unroll=3)) == 7.0
