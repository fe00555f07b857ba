"""jacfwd, jacrev, jacobian, hessian."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import checkpoint, hessian, jacfwd, jacobian, jacrev
from tans_xla import jit

f32 = np.float32


def outer(a, b):
    shape = (a.shape[0], b.shape[0])
    a = lax.broadcast_in_dim(a, shape, (0,))
    return lax.mul(a, lax.broadcast_in_dim(b, shape, (1,)))


@pytest.mark.parametrize("jac", [jacfwd, jacrev, jacobian])
def test_jacobian_of_square(jac):
    x = np.arange(3, dtype=f32)
    np.testing.assert_array_equal(jac(lax.square)(x), np.diag([0, 2, 4]))
    np.testing.assert_array_equal(jit(jac(lax.square))(x), np.diag([0, 2, 4]))


@pytest.mark.parametrize("jac", [jacfwd, jacrev])
def test_shapes_with_two_arguments(jac):
    result = jac(outer, argnums=(0, 1))(np.ones(2, f32), np.ones(3, f32))
    assert [j.shape for j in result] == [(2, 3, 2), (2, 3, 3)]


@pytest.mark.parametrize("jac", [jacfwd, jacrev])
def test_output_tree_is_outermost(jac):
    result = jac(lambda d: (d["a"], [lax.mul(d["a"], d["b"])]))({"a": 2.0, "b": 3.0})
    assert float(result[0]["b"]) == 0.0
    assert float(result[1][0]["a"]) == 3.0


@pytest.mark.parametrize("jac", [jacfwd, jacrev])
def test_aux(jac):
    result, aux = jac(lambda x: (lax.square(x), x), has_aux=True)(3.0)
    assert (float(result), float(aux)) == (6.0, 3.0)


def test_complex():
    assert complex(jacfwd(lambda x: lax.mul(lax.complex(x, 0.0), 1j))(3.0)) == 1j
    assert complex(jacfwd(lax.square, holomorphic=True)(1 + 2j)) == 2 + 4j


def test_jacrev_of_cumprod_is_exact_with_zeros():
    x = np.array([2, 0, 3], f32)
    np.testing.assert_array_equal(jacrev(lax.cumprod)(x), [[1, 0, 0], [0, 2, 0], [0, 6, 0]])


def test_integer_input_gives_zeros_of_its_dtype():
    def f(n):
        return lax.convert_element_type(n, "float32")

    result = jacrev(f, allow_int=True)(np.arange(3, dtype=np.int32))
    assert (result.shape, result.dtype) == ((3, 3), np.int32)


def test_hessian_of_a_quadratic():
    def f(w):
        d = lax.sub(w, np.array([1, 2], f32))
        return lax.dot(d, d)

    np.testing.assert_array_equal(hessian(f)(np.zeros(2, f32)), 2 * np.eye(2))


def test_hessian_of_a_cubic_and_of_a_dict():
    def cubic(x):
        return lax.reduce_sum(lax.mul(x, lax.square(x)), (0,))

    np.testing.assert_array_equal(hessian(cubic)(np.array([0, 1], f32)), [[0, 0], [0, 6]])
    result = hessian(lambda d: lax.mul(d["a"], d["b"]))({"a": 2.0, "b": 3.0})
    assert float(result["a"]["b"]) == 1.0
    assert float(result["a"]["a"]) == 0.0


def test_hessian_through_a_checkpoint():
    def f(x):
        return lax.sin(lax.sin(x))

    np.testing.assert_allclose(hessian(checkpoint(f))(1.0), hessian(f)(1.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: jacfwd(lax.neg)(1), ["int32", "floating"]),
        (lambda: jacfwd(lax.neg)(1j), ["complex64", "holomorphic=True"]),
        (lambda: jacfwd(lax.neg, holomorphic=True)(1.0), ["float32", "complex"]),
        (lambda: jacrev(lambda x: lax.complex(x, x))(1.0), ["complex64"]),
        (lambda: jacrev(lax.neg)(1), ["int32"]),
        (lambda: jacfwd(3), ["3"]),
    ],
)
def test_misuse(make, facts):
    with pytest.raises(TypeError) as caught:
        make()
    for fact in facts:
        assert fact in str(caught.value)
