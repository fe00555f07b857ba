"""custom_gradient and closure_convert."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import closure_convert, custom_gradient, grad
from tans_xla import jit

f32 = np.float32


def test_gradient_comes_with_the_value():
    f = custom_gradient(lambda x: (lax.square(x), lambda g: lax.mul(g, x)))
    assert float(f(3.0)) == 9.0
    assert float(grad(f)(3.0)) == 3.0
    assert float(jit(grad(f))(3.0)) == 3.0
    assert float(grad(jit(f))(3.0)) == 3.0


def test_several_arguments():
    f = custom_gradient(lambda x, y: (lax.mul(x, y), lambda g: (lax.mul(g, 10.0), lax.mul(g, x))))
    assert list(map(float, grad(f, (0, 1))(2.0, 3.0))) == [10.0, 2.0]


def test_a_result_that_is_no_pair_is_refused():
    with pytest.raises(TypeError, match="pair"):
        custom_gradient(lambda x: x)(1.0)


def test_closure_convert_lifts_differentiated_tracers_only():
    constant = np.ones((), f32)
    _converted, consts = closure_convert(lambda x: lax.mul(x, constant), 1.0)
    assert consts == []

    @jit
    def f(y):
        converted, consts = closure_convert(lambda x: lax.mul(lax.mul(x, y), constant), 1.0)
        assert len(consts) == 1
        return converted(2.0, *consts)

    assert float(f(3.0)) == 6.0
    assert float(grad(f)(3.0)) == 2.0


def test_closure_converted_function_checks_its_arguments():
    converted, consts = closure_convert(lax.neg, 1.0)
    with pytest.raises(TypeError, match="structure"):
        converted((1.0,), *consts)


def test_as_a_decorator_with_parentheses():
    @custom_gradient()
    def f(x):
        return lax.square(x), lambda g: (lax.mul(g, x),)

    assert float(grad(f)(3.0)) == 3.0
