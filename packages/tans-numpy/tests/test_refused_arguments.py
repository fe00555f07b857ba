"""Arguments whose result nobody meant are refused; those that look odd but are fine work."""

import functools
import warnings

import numpy as np
import pytest

import tans_numpy as jnp
from tans_xla import jit

X = jnp.arange(6.0).reshape(2, 3)
I = jnp.arange(5)


@pytest.mark.parametrize("mask", [1, X, np.ones(3, np.int8)], ids=["int", "float", "int8"])
@pytest.mark.parametrize(
    "reduction",
    [jnp.sum, jnp.prod, jnp.mean, jnp.var, jnp.any, jnp.all, jnp.nansum,
     functools.partial(jnp.max, initial=0.0), functools.partial(jnp.min, initial=0.0)],
    ids="sum prod mean var any all nansum max min".split(),
)  # fmt: skip
def test_where_takes_booleans(reduction, mask):
    with pytest.raises(ValueError, match=r"where= of type .* expected booleans.*x != 0"):
        reduction(X, where=mask)


@pytest.mark.parametrize("reduction", [jnp.sum, jnp.prod, jnp.max, jnp.min])
def test_initial_is_a_scalar(reduction):
    with pytest.raises(ValueError, match=r"initial of shape \(2,\), expected a scalar"):
        reduction(X, initial=jnp.ones(2))
    assert reduction(X, initial=jnp.float32(2.0)).shape == ()


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_ptp_of_nothing(axis):
    with pytest.raises(ValueError, match=r"ptp: given an array of shape \(0, 3\)"):
        jnp.ptp(jnp.zeros((0, 3)), axis=axis)
    assert jnp.ptp(jnp.zeros((0, 3)), axis=1).shape == (0,)


def test_a_scalar_has_no_running_totals():
    with pytest.raises(ValueError, match=r"add\.accumulate: given a scalar"):
        jnp.add.accumulate(X[0, 0])


@pytest.mark.parametrize("exponent", [-1, jnp.array(-1), np.int64(-2), np.array(-1)], ids=repr)
@pytest.mark.parametrize("base", [2, I, jnp.uint8(2), np.int16(3)], ids=lambda b: type(b).__name__)
def test_integers_to_a_known_negative_power(base, exponent):
    if isinstance(base, int | np.integer) and isinstance(exponent, int | np.ndarray | np.integer):
        result = lambda: jnp.power(base, exponent)  # noqa: E731
    else:
        result = lambda: base**exponent  # noqa: E731
    with pytest.raises(TypeError, match=r"power -[12]"):
        result()


def test_other_negative_powers_are_computed():
    np.testing.assert_array_equal(I ** jnp.array([-1]), [0, 1, 0, 0, 0])
    np.testing.assert_array_equal(jit(jnp.power)(I, -1), [0, 1, 0, 0, 0])
    assert 2.0 ** jnp.array(-1) == 0.5
    assert jnp.power(jnp.float32(2), np.int32(-1)) == 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [int, jnp.uint8, jnp.int4], ids=["int", "uint8", "int4"])
def test_lists_of_integers_hold_no_nan(value, dtype):
    with pytest.raises(ValueError, match=r"array: given nan or infinity for u?int"):
        jnp.array([1.0, value], dtype=dtype)


@pytest.mark.parametrize("dtype", [None, jnp.float16, jnp.bfloat16, jnp.complex64])
def test_scalars_beyond_the_range_are_infinite_without_a_warning(dtype):
    assert jnp.isinf(jnp.asarray(1e39, dtype=dtype).real)
    assert jnp.isinf(jnp.asarray([1e39], dtype=dtype).real)


def test_numpy_arrays_beyond_the_range_warn_as_numpy_does():
    for value in (np.array([1e39]), np.float64(1e39), np.array([1e39j])):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert jnp.isinf(jnp.abs(jnp.asarray(value))).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="overflow"):
                jnp.asarray(value)


@pytest.mark.parametrize("make", [jnp.zeros, jnp.ones, jnp.empty, lambda s: jnp.full(s, 2.0)])
def test_shapes_may_be_arrays(make):
    assert make(jnp.array([2, 3])).shape == (2, 3)
    assert make(jnp.array([], dtype=int)).shape == ()
    with pytest.raises(TypeError, match="float32"):
        make(jnp.array([2.0, 3.0]))


@pytest.mark.parametrize("shape", [jnp.array([3, 2]), np.array([3, -1]), [3, 2]], ids=repr)
def test_new_shapes_may_be_arrays(shape):
    assert jnp.reshape(X, shape).shape == X.reshape(shape).shape == (3, 2)


@pytest.mark.parametrize("join", [jnp.concatenate, jnp.stack])
def test_python_types_as_dtype_of_a_join_do_not_warn(join):
    assert join([X, X], dtype=int).dtype == np.int32
    with pytest.warns(UserWarning, match="int64"):
        join([X, X], dtype="int64")


def test_covariance_of_no_observations_is_nan():
    assert jnp.isnan(jnp.cov(jnp.zeros((2, 0)))).all()


def test_decimals_are_an_integer():
    with pytest.raises(TypeError, match="float"):
        jnp.round(X, 1.5)


@pytest.mark.parametrize("a", [1, 2.5, 1j], ids=repr)
def test_full_like_of_a_python_scalar_is_weak(a):
    out = jnp.full_like(a, 2)
    assert (out.weak_type, out.dtype, out.shape) == (True, jnp.asarray(a).dtype, ())
    assert not jnp.full_like(a, 2, dtype=jnp.float32).weak_type


def test_negative_sizes_of_results():
    with pytest.raises(ValueError, match="nonzero: given size=-1"):
        jnp.nonzero(X, size=-1)


def test_the_parts_of_a_grid_have_one_dtype():
    assert [v.dtype for v in jnp.ogrid[0:2, 0:1:0.5]] == [np.float32] * 2
    assert jnp.mgrid[0:2, 0:3:2j].dtype == np.float32


@pytest.mark.parametrize("p", [None, 1, 2, np.inf, "fro"])
def test_condition_of_singular_matrices(p):
    assert jnp.linalg.cond(jnp.zeros((2, 2)), p) == np.inf
    assert jnp.isnan(jnp.linalg.cond(jnp.full((2, 2), jnp.nan), p))


@pytest.mark.parametrize("method", ["reduce", "accumulate", "at", "reduceat", "outer"])
def test_ufuncs_of_functions_without_a_module(method):
    add = eval("lambda a, b: a + b", {"__name__": None})
    for function in (add, functools.partial(lambda c, a, b: a + b, 1)):
        made = jnp.frompyfunc(function, 2, 1, identity=0)
        rest = {"at": (jnp.array([1, 1]), 2), "reduceat": (jnp.array([0, 2]),), "outer": (I,)}
        options = {"inplace": False} if method == "at" else {}
        out = getattr(made, method)(I, *rest.get(method, ()), **options)
        expected = np.arange(5)
        if method == "at":
            np.add.at(expected, [1, 1], 2)
        else:
            args = [np.asarray(v) for v in rest.get(method, ())]
            expected = getattr(np.add, method)(expected, *args)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("given", [[1, 2], None, "a", [[1.0]]])
def test_shapes_of_lists_warn(given):
    for ask in (jnp.shape, jnp.ndim, jnp.size):
        with pytest.warns(DeprecationWarning, match=r"expected an array.*jnp\.asarray"):
            found = ask(given)
        assert found == getattr(np, ask.__name__)(np.asarray(given))


def test_numbers_of_parts_are_integers():
    with pytest.raises(TypeError, match=r"split: given 2\.5 of type float, expected a number of"):
        jnp.split(jnp.ones(5), 2.5)
