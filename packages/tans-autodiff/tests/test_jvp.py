"""jvp: values, types of tangents, refusals."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad, jvp
from tans_core import dtypes
from tans_core.errors import UnexpectedTracerError
from tans_xla import device_put, jit, make_jaxpr

f32 = np.float32
float0 = dtypes.float0


def test_tangent_of_sin():
    y, y_dot = jvp(lax.sin, (0.0,), (2.0,))
    assert (float(y), float(y_dot)) == (0.0, 2.0)


def test_aux_and_structures():
    def f(d):
        return {"out": lax.mul(d["a"], d["b"])}, d["a"]

    y, y_dot, aux = jvp(f, ({"a": 2.0, "b": 3.0},), ({"a": 1.0, "b": 0.0},), has_aux=True)
    assert (float(y["out"]), float(y_dot["out"]), float(aux)) == (6.0, 3.0, 2.0)


def test_integer_output_has_a_float0_tangent():
    _, y_dot = jvp(lambda x: (x, 3), (1.0,), (1.0,))
    assert y_dot[1].dtype == float0
    _, tangent = jvp(
        lambda x: lax.argmax(x, 0, "int32"), (np.array([1, 2], f32),), (np.ones(2, f32),)
    )
    assert tangent.dtype == float0
    assert tangent.shape == ()


def test_integer_input_takes_a_float0_tangent():
    def f(x, n):
        return lax.mul(x, lax.convert_element_type(n, "float32"))

    y, y_dot = jvp(f, (2.0, 3), (1.0, np.zeros((), float0)))
    assert (float(y), float(y_dot)) == (6.0, 3.0)


def test_zero_tangent_is_instantiated():
    _, y_dot = jvp(lambda x: (x, np.ones(2, f32)), (1.0,), (1.0,))
    np.testing.assert_array_equal(y_dot[1], np.zeros(2))


def test_jvp_of_jvp_is_the_second_derivative():
    def first(x):
        return jvp(lax.sin, (x,), (1.0,))[1]

    assert float(jvp(first, (1.0,), (1.0,))[1]) == pytest.approx(-np.sin(1.0), rel=1e-6)


def test_forward_and_reverse_compose():
    def slope(x):
        return jvp(lax.exp, (x,), (1.0,))[1]

    assert float(grad(slope)(0.5)) == pytest.approx(np.exp(0.5), rel=1e-6)


def test_operations_without_tangents_are_recorded_once(primitives):
    closed = make_jaxpr(lambda x, y: jvp(lambda x: lax.mul(x, lax.exp(y)), (x,), (1.0,)))(1.0, 2.0)
    assert primitives(closed) == {"exp": 1, "mul": 2}


def test_under_jit_values_equal_eager_ones():
    x = device_put(np.linspace(0, 1, 5, dtype=f32))

    def f(x):
        return jvp(lambda v: lax.tanh(lax.mul(v, v)), (x,), (x,))

    for eager, jitted in zip(f(x), jit(f)(x), strict=True):
        np.testing.assert_allclose(eager, jitted, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "facts"),
    [
        (lambda: jvp(3, (1.0,), (1.0,)), TypeError, ["3"]),
        (lambda: jvp(lax.sin, 1.0, 1.0), TypeError, ["float", "tuples or lists"]),
        (lambda: jvp(lax.sin, (1.0,), (1.0, 2.0)), TypeError, ["structure", "(*, *)"]),
        (lambda: jvp(lax.sin, (1.0,), (1,)), TypeError, ["int32", "float32"]),
        (lambda: jvp(lax.abs, (1,), (1,)), TypeError, ["int32", "float0"]),
        (
            lambda: jvp(lax.sin, (np.ones(3, f32),), (np.ones(2, f32),)),
            ValueError,
            ["float32[3]", "(2,)"],
        ),
        (lambda: jvp(lax.sin, (1.0,), (1.0,), has_aux=True), TypeError, ["two-element"]),
    ],
)
def test_misuse(make, error, facts):
    with pytest.raises(error) as caught:
        make()
    for fact in facts:
        assert fact in str(caught.value)


def test_leaked_tracer_is_refused():
    leaked = []

    def f(x):
        leaked.append(x)
        return lax.sin(x)

    jvp(f, (1.0,), (1.0,))
    with pytest.raises(UnexpectedTracerError, match="finished"):
        lax.sin(leaked[0])
