"""The checks themselves: they pass for right rules, and fail for wrong ones."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import custom_jvp, custom_vjp, jvp, vjp
from tans_autodiff.check_grads import check_grads, check_jvp, check_vjp


def wrong_forward(scale):
    @custom_jvp
    def f(x):
        return lax.sin(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), lax.mul(tangents[0], lax.mul(scale, lax.cos(primals[0])))

    return f


def test_right_rules_pass_in_both_modes():
    x = np.float32([0.3, -1.2])
    check_grads(lax.sin, (x,), order=3)
    check_grads(lambda a, b: [lax.mul(a, b), {"c": lax.exp(a)}], (x, x), order=2)
    check_grads(lambda a: lax.real(lax.mul(a, a)), (np.complex64([1 + 2j, 0.5j]),), order=2)
    check_grads(lambda a, n: lax.integer_pow(a, 3), (x, np.int32(2)), order=1)


@pytest.mark.parametrize("modes", ["fwd", "rev", ("fwd", "rev")])
def test_a_wrong_rule_fails(modes):
    with pytest.raises(AssertionError):
        check_grads(wrong_forward(1.5), (np.float32(0.3),), order=1, modes=modes)


def test_a_rule_that_is_wrong_in_reverse_only_fails_there():
    @custom_vjp
    def f(x):
        return lax.sin(x)

    f.defvjp(lambda x: (lax.sin(x), x), lambda x, ct: (lax.mul(ct, x),))
    with pytest.raises(AssertionError):
        check_grads(f, (np.float32(0.3),), order=1, modes=["rev"])


def test_tolerances_are_the_callers():
    check_grads(wrong_forward(1.5), (np.float32(0.3),), order=1, atol=10.0, rtol=10.0)
    with pytest.raises(AssertionError):
        check_grads(lax.sin, (np.float32(0.3),), order=1, atol=1e-12, rtol=1e-12)


def test_single_rules():
    x = np.float32([0.3, -1.2])
    check_jvp(lax.sin, lambda p, t: jvp(lax.sin, p, t), (x,))
    check_vjp(lax.sin, lambda *p: vjp(lax.sin, *p), (x,))
    with pytest.raises(AssertionError, match="mine"):
        check_jvp(lax.sin, lambda p, t: jvp(lax.cos, p, t), (x,), err_msg="mine")


@pytest.mark.parametrize(("order", "modes"), [(0, "fwd"), (1, "both"), (1, ())])
def test_unknown_orders_and_modes_are_refused(order, modes):
    with pytest.raises(ValueError, match="check_grads"):
        check_grads(lax.sin, (1.0,), order=order, modes=modes)
