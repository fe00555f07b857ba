"""grad and value_and_grad: values, selection of arguments, refusals."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad, jvp, linearize, value_and_grad, vjp
from tans_core import ArrayImpl, dtypes
from tans_xla import device_put, jit

f32 = np.float32


def test_first_and_third_derivative_of_tanh():
    assert float(grad(lax.tanh)(1.0)) == pytest.approx(0.4199743, rel=1e-6)
    assert float(grad(grad(grad(lax.tanh)))(1.0)) == pytest.approx(0.62162673, rel=1e-6)


def test_python_branch_is_picked_per_call():
    def f(x):
        return lax.sin(x) if lax.gt(x, 0.0) else lax.mul(x, 3.0)

    assert float(grad(f)(-1.0)) == 3.0
    assert float(grad(f)(1.0)) == pytest.approx(np.cos(1.0), rel=1e-6)


@pytest.mark.parametrize(
    ("argnums", "expected"), [(-1, 2.0), (0, 3.0), ((0,), (3.0,)), ((1, 0), (2.0, 3.0))]
)
def test_argnums_select_and_give_tuples_for_sequences(argnums, expected):
    result = grad(lax.mul, argnums=argnums)(2.0, 3.0)
    found = tuple(map(float, result)) if isinstance(result, tuple) else float(result)
    assert found == expected


def test_gradient_has_the_structure_of_the_argument():
    result = grad(lambda d: lax.mul(d["a"], d["b"]))({"a": 2.0, "b": 3.0})
    assert {k: float(v) for k, v in result.items()} == {"a": 3.0, "b": 2.0}


def test_keyword_arguments_are_passed_on():
    assert float(grad(lambda x, *, n: lax.mul(x, n))(2.0, n=5.0)) == 5.0


def test_has_aux_returns_any_object_with_tracers_lowered():
    def f(x):
        return lax.square(x), {"a": x, "name": "n"}

    gradient, aux = grad(f, has_aux=True)(3.0)
    assert float(gradient) == 6.0
    assert float(aux["a"]) == 3.0
    assert aux["name"] == "n"


def test_value_and_grad_with_aux():
    (value, aux), gradient = value_and_grad(lambda x: (lax.square(x), "aux"), has_aux=True)(3.0)
    assert (float(value), aux, float(gradient)) == (9.0, "aux", 6.0)


def test_unused_argument_has_zero_gradient():
    assert float(grad(lambda x: 1.0)(2.0)) == 0.0
    assert float(value_and_grad(lambda x: 1.0)(2.0)[0]) == 1.0


@pytest.mark.parametrize("x", [1, True, np.arange(3)])
def test_allow_int_gives_float0(x):
    result = grad(lambda x: 2.0, allow_int=True)(x)
    assert result.dtype == dtypes.float0
    assert result.shape == np.shape(x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_gradient_has_the_dtype_of_its_argument(dtype):
    x = np.ones(3, dtypes.native(dtype))
    out = grad(lambda x: lax.reduce_sum(lax.convert_element_type(x, "float32"), (0,)))(x)
    assert out.dtype == x.dtype


def test_gradient_is_weak_exactly_when_the_argument_is():
    assert grad(lax.sin)(2.0).aval.weak_type
    assert not grad(lax.sin)(device_put(f32(2))).aval.weak_type
    strong = device_put(f32(3))
    assert grad(lambda x: lax.mul(x, strong))(2.0).aval.weak_type


def test_zero_derivatives_are_arrays():
    def constant(x):
        return 1.0

    assert isinstance(grad(constant)(2.0), ArrayImpl)
    assert isinstance(vjp(constant, 2.0)[1](1.0)[0], ArrayImpl)
    assert isinstance(jvp(constant, (2.0,), (1.0,))[1], ArrayImpl)
    assert isinstance(linearize(constant, 2.0)[1](1.0), ArrayImpl)


def test_identity_returns_an_array():
    assert float(grad(lambda x: x)(2.0)) == 1.0
    assert float(jit(grad(lambda x: x))(2.0)) == 1.0


def test_nested_gradients_do_not_confuse_perturbations():
    def f(x):
        return lax.mul(x, grad(lambda y: lax.add(x, y))(1.0))

    assert float(grad(f)(1.0)) == 1.0


def test_stop_gradient_hides_a_factor():
    assert float(grad(lambda x: lax.mul(x, lax.stop_gradient(x)))(3.0)) == 3.0


def test_holomorphic():
    assert complex(grad(lax.square, holomorphic=True)(1 + 2j)) == 2 + 4j
    assert complex(grad(lax.conj, holomorphic=True)(1 + 2j)) == 1


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: lax.real(lax.mul(z, lax.conj(z))), 2 - 4j),
        (lambda z: lax.real(lax.square(z)), 2 + 4j),
        (lax.imag, -1j),
    ],
    ids=["abs2", "real_square", "imag"],
)
def test_complex_input_gives_the_conjugate_of_steepest_ascent(f, expected):
    assert complex(grad(f)(1 + 2j)) == expected


@pytest.mark.parametrize(
    ("make", "error", "facts"),
    [
        (lambda: grad(3), TypeError, ["3", "int"]),
        (lambda: grad(lax.sin)("a"), TypeError, ["'a'", "arrays"]),
        (lambda: grad(lax.sin)(1), TypeError, ["int32", "allow_int"]),
        (lambda: grad(lambda x: x)(1j), TypeError, ["complex64", "holomorphic=True"]),
        (lambda: grad(lambda x: 1)(1.0), TypeError, ["int32", "vjp"]),
        (lambda: grad(lax.sin, holomorphic=True)(1.0), TypeError, ["float32", "complex"]),
        (
            lambda: grad(lambda x: x)(np.ones(3, f32)),
            TypeError,
            ["float32[3]", ".sum()", "jacobian"],
        ),
        (lambda: grad(lambda x: x)(np.ones(1, f32)), TypeError, ["reshape(())", "out[0]"]),
        (lambda: grad(lambda x: None)(1.0), TypeError, ["None", "scalar"]),
        (lambda: grad(lambda x: (x, x))(1.0), TypeError, ["tuple", "has_aux"]),
        (lambda: grad(lax.sin, has_aux=True)(1.0), TypeError, ["two-element tuple"]),
        (lambda: grad(lax.sin, argnums=1)(1.0), TypeError, ["argnums=1", "2 positional"]),
        (lambda: grad(lax.sin, argnums="a"), TypeError, ["'a'", "int"]),
        (lambda: grad(lax.sin, argnums=-2)(1.0), ValueError, ["-2"]),
        (lambda: grad(lax.sin, reduce_axes=("i",)), NotImplementedError, ["reduce_axes"]),
    ],
)
def test_misuse_names_what_was_given_and_the_remedy(make, error, facts):
    with pytest.raises(error) as caught:
        make()
    for fact in facts:
        assert fact in str(caught.value)


def test_frames_of_the_package_are_hidden():
    def user_function(x):
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        grad(user_function)(1.0)
    files = [str(entry.path) for entry in caught.traceback]
    assert not any("tans_autodiff" in file and "tests" not in file for file in files)
