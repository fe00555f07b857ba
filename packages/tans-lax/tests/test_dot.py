"""dot_general and its relatives: values, types, errors, derivatives, batching."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_core import rules, typeof
from tans_core.context import AxisData
from tans_lax.contractions import dot_general_p
from tans_xla import jit, make_jaxpr

RTOL = {"float32": 1e-5, "bfloat16": 5e-2, "float16": 5e-3, "complex64": 1e-5, "int8": 0}
# Shapes, dimension numbers and the same contraction in einsum's notation.
CASES = [
    ((3,), (3,), (((0,), (0,)), ((), ())), "i,i->"),
    ((4, 8), (8, 2), (((1,), (0,)), ((), ())), "ik,kj->ij"),
    ((8, 4), (2, 8), (((0,), (1,)), ((), ())), "ki,jk->ij"),
    ((5, 4, 8), (5, 8, 2), (((2,), (1,)), ((0,), (0,))), "bik,bkj->bij"),
    ((4, 5, 8), (8, 2, 5), (((2,), (0,)), ((1,), (2,))), "ibk,kjb->bij"),
    ((3, 4, 2), (2, 4, 5), (((2, 1), (0, 1)), ((), ())), "ilk,klj->ij"),
    ((3, 4, 2), (4, 2, 5), (((1, 2), (0, 1)), ((), ())), "ilk,lkj->ij"),
    ((2, 3), (4,), (((), ()), ((), ())), "ij,k->ijk"),
    ((0, 3), (3, 2), (((1,), (0,)), ((), ())), "ik,kj->ij"),
    ((2, 0), (0, 2), (((1,), (0,)), ((), ())), "ik,kj->ij"),
    ((2, 3, 4), (3, 2, 4), (((), ()), ((0, 1), (1, 0))), "abi,baj->abij"),
    ((), (), (((), ()), ((), ())), ",->"),
]
IDS = [case[3] + str(case[0]) for case in CASES]


def sample(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, shape) if dtype == "int8" else rng.standard_normal(shape)
    if dtype == "complex64":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def wide(x):
    kind = np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64
    return np.asarray(x).astype(kind)


@pytest.mark.parametrize("dtype", list(RTOL))
def test_values_equal_einsum(dtype):
    pairs = [(sample(lhs, dtype), sample(rhs, dtype, 1)) for lhs, rhs, *_ in CASES]

    def program(pairs):
        return [lax.dot_general(*p, case[2]) for p, case in zip(pairs, CASES, strict=True)]

    for (x, y), case, out in zip(pairs, CASES, jit(program)(pairs), strict=True):
        expected = np.einsum(case[3], wide(x), wide(y))
        if dtype == "int8":
            expected = expected.astype(np.int64).astype(np.int8)
        assert out.dtype == x.dtype
        assert out.shape == expected.shape
        np.testing.assert_allclose(wide(out), expected, rtol=RTOL[dtype], atol=RTOL[dtype])


@pytest.mark.parametrize(
    ("lhs", "rhs", "preferred", "expected"),
    [
        ("bfloat16", "float32", None, "float32"),
        ("int32", "float32", None, "float32"),
        ("float32", "complex64", None, "complex64"),
        ("bfloat16", "bfloat16", "float32", "float32"),
        ("int8", "int8", "int32", "int32"),
        ("bool", "bool", None, "bool"),
    ],
)
def test_result_dtypes(lhs, rhs, preferred, expected):
    def ones(shape, dtype):
        return np.ones(shape, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)

    numbers = (((1,), (0,)), ((), ()))
    x, y = ones((2, 3), lhs), ones((3, 2), rhs)
    out = lax.dot_general(x, y, numbers, preferred_element_type=preferred)
    assert out.dtype == np.dtype(expected)
    np.testing.assert_array_equal(wide(out), np.full((2, 2), 1 if expected == "bool" else 3))


def test_results_of_weak_operands_are_weak():
    assert typeof(lax.dot_general(2.0, 3.0, (((), ()), ((), ())))).weak_type
    assert not typeof(lax.dot_general(np.ones(3), 3.0, (((), ()), ((), ())))).weak_type


def test_narrowing_of_the_preferred_dtype_is_announced():
    with pytest.warns(UserWarning, match="float64"):
        out = lax.dot_general(np.ones(2), np.ones(2), (((0,), (0,)), ((), ())), None, np.float64)
    assert out.dtype == np.float32


def test_dot_takes_vectors_and_matrices():
    a, b = sample((4, 8)), sample((8, 2), seed=1)
    np.testing.assert_allclose(lax.dot(a, b), a @ b, rtol=1e-5)
    np.testing.assert_allclose(lax.dot(a, b[:, 0]), a @ b[:, 0], rtol=1e-5)
    np.testing.assert_allclose(lax.dot(a[0], b), a[0] @ b, rtol=1e-5)
    np.testing.assert_allclose(lax.dot(a[0], b[:, 0]), a[0] @ b[:, 0], rtol=1e-5)


def test_batch_matmul_equals_matmul():
    a, b = sample((2, 5, 4, 8)), sample((2, 5, 8, 3), seed=1)
    np.testing.assert_allclose(lax.batch_matmul(a, b), a @ b, rtol=1e-5, atol=1e-5)


X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (
            lambda: lax.dot_general(X, X, (((1,), (0,)), ((), ()))),
            TypeError,
            ["float32[2,3]", "size 3", "size 2"],
        ),
        (lambda: lax.dot_general(X, X, (((), ()), ((0,), (1,)))), TypeError, ["batch", "size 2"]),
        (lambda: lax.dot_general(X, X, (((0, 1), (0,)), ((), ()))), TypeError, ["2 lhs", "1 rhs"]),
        (lambda: lax.dot_general(X, X, (((0, 0), (0, 0)), ((), ()))), TypeError, ["at most once"]),
        (lambda: lax.dot_general(X, X, (((0,), (0,)), ((0,), (0,)))), TypeError, ["at most once"]),
        (lambda: lax.dot_general(X, X, (((2,), (0,)), ((), ()))), TypeError, ["(2,)", "0 to 1"]),
        (lambda: lax.dot_general(X, X, (((-1,), (0,)), ((), ()))), TypeError, ["(-1,)"]),
        (lambda: lax.dot_general(X, X, ((1,), (0,))), TypeError, ["dimension_numbers"]),
        (lambda: lax.dot(X, X), ValueError, ["float32[2,3]", "dimension_numbers"]),
        (lambda: lax.dot(1.0, 2.0), ValueError, ["float32[]"]),
        (lambda: lax.batch_matmul(X[0], X[0]), ValueError, ["1 and 1"]),
        (lambda: lax.batch_matmul(X[None], X), ValueError, ["3 and 2"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


@pytest.mark.parametrize("case", CASES[1:8] + CASES[10:11], ids=lambda case: case[3])
def test_derivatives(check_derivatives, case):
    lhs, rhs, numbers, _ = case
    order = 2 if len(lhs) == 3 else 1
    check_derivatives(
        lambda x, y: lax.dot_general(x, y, numbers), sample(lhs), sample(rhs, seed=1), order=order
    )


def test_complex_derivatives(check_derivatives):
    x, y = sample((2, 3), "complex64"), sample((3, 2), "complex64", 1)
    check_derivatives(lax.dot, x, y, order=1)


def test_gradient_of_a_mixed_product_has_the_operands_dtypes():
    from tans_autodiff import grad

    def total(x, y):
        return lax.reduce_sum(lax.real(lax.dot(x, y)), (0, 1))

    x, y = sample((2, 3)), sample((3, 2), "complex64")
    x_bar, y_bar = grad(total, (0, 1))(x, y)
    assert (x_bar.dtype, y_bar.dtype) == (np.float32, np.complex64)
    np.testing.assert_allclose(x_bar, np.ones((2, 2)) @ y.real.T, rtol=1e-5)
    narrow = x.astype(ml_dtypes.bfloat16)
    assert grad(total)(narrow, y).dtype == ml_dtypes.bfloat16


def test_gradients_of_a_matrix_product_need_no_transpose():
    from tans_autodiff import grad

    def total(x, y):
        return lax.reduce_sum(lax.dot(x, y), (0, 1))

    jaxpr = make_jaxpr(grad(total, (0, 1)))(sample((4, 8)), sample((8, 2)))
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names.count("dot_general") == 3
    assert "transpose" not in names


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (None, 1), (0, 0), (1, 2), (2, 0)])
def test_batching_equals_a_loop(dims):
    numbers = (((1,), (0,)), ((), ()))
    x, y = sample((4, 8)), sample((8, 2), seed=1)
    xs, ys = sample((3, 4, 8), seed=2), sample((3, 8, 2), seed=3)
    args = (
        x if dims[0] is None else np.moveaxis(xs, 0, dims[0]),
        y if dims[1] is None else np.moveaxis(ys, 0, dims[1]),
    )
    out, dim = rules.batching[dot_general_p](
        AxisData(3),
        args,
        dims,
        dimension_numbers=numbers,
        precision=None,
        preferred_element_type=None,
        out_sharding=None,
    )
    each = [(x if dims[0] is None else xs[i]) @ (y if dims[1] is None else ys[i]) for i in range(3)]
    got = np.moveaxis(np.asarray(out), dim, 0)
    np.testing.assert_allclose(got, each, rtol=1e-5, atol=1e-5)


def test_batching_of_batched_products_equals_a_loop():
    numbers = (((2,), (1,)), ((0,), (0,)))
    params = {"precision": None, "preferred_element_type": None, "out_sharding": None}
    x, ys = sample((6, 4, 8)), sample((5, 6, 8, 3), seed=1)
    out, dim = rules.batching[dot_general_p](
        AxisData(5), (x, ys), (None, 0), dimension_numbers=numbers, **params
    )
    got = np.moveaxis(np.asarray(out), dim, 0)
    np.testing.assert_allclose(got, x @ ys, rtol=1e-4, atol=1e-4)


def test_products_of_two_linear_operands_can_not_be_transposed():
    import tans_autodiff as autodiff

    with pytest.raises(NotImplementedError, match="not linear"):
        autodiff.linear_transpose(lambda x: lax.dot(x, x), np.ones(3, np.float32))(np.float32(1))


def test_products_of_integers_are_not_narrowed():
    x = np.ones((2, 2), np.int32)
    with pytest.raises(TypeError, match=r"given preferred_element_type=int8 .*int32 and int32"):
        lax.dot(x, x, preferred_element_type=np.int8)
    assert lax.dot(x, x, preferred_element_type=np.float32).dtype == np.float32
    narrow = np.ones((2, 2), np.int8)
    for operands in ((x, narrow), (narrow, x)):
        with pytest.raises(TypeError, match="given preferred_element_type=int16"):
            lax.dot(*operands, preferred_element_type=np.int16)
        assert lax.dot(*operands, preferred_element_type=np.int32).dtype == np.int32
