"""Universal functions against NumPy: folds, updates, calls, and what they refuse."""

import pickle

import numpy as np
import pytest

import tans_autodiff
import tans_batching
import tans_numpy as jnp
from tans_core import config_module as config
from tans_core.errors import TracerArrayConversionError
from tans_xla import jit

NUMBERS = ["add", "subtract", "multiply", "maximum", "minimum", "logaddexp", "logaddexp2"]
TRUTHS = ["logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
NAMES = [*NUMBERS, *TRUTHS, *BITS]
DTYPES = ["float32", "float64", "int8", "bool"]
SHAPES = [(3,), (2, 3, 4), (0, 3)]
REFUSES_BOOL = {"subtract", "logaddexp", "logaddexp2"}


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype == "int8":
        return rng.integers(-3, 4, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(dtype)


def accepted(name, dtype):
    if name in BITS:
        return np.dtype(dtype).kind in "bi"
    return dtype != "bool" or name not in REFUSES_BOOL


CASES = [(n, d) for n in NAMES for d in DTYPES if accepted(n, d)]


@pytest.fixture
def case(request):
    name, dtype = request.param
    with config.enable_x64(dtype == "float64"):
        yield name, dtype


def wide(x):
    if x.dtype.kind == "i":
        return x.astype(np.int64)
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def close(out, expected, dtype):
    out, expected = np.asarray(out), np.asarray(expected)
    assert out.shape == expected.shape
    tolerance = 1e-10 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(
        out.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance
    )


def has_identity(name):
    return getattr(jnp, name).identity is not None or name.startswith("logadd")


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reduce_equals_numpy(case, shape):
    name, dtype = case
    a, f, oracle = sample(shape, dtype), getattr(jnp, name), getattr(np, name)
    for axis in (*range(len(shape)), *([None] if len(shape) == 1 or name != "subtract" else [])):
        if a.shape[axis or 0] == 0 and oracle.identity is None:
            continue
        keepdims = axis != 0
        expected = oracle.reduce(wide(a), axis=axis, keepdims=keepdims)
        close(f.reduce(a, axis, keepdims=keepdims), expected, dtype)
        close(jit(lambda v: f.reduce(v, axis, keepdims=keepdims))(a), expected, dtype)  # noqa: B023


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reduce_with_mask_and_initial_equals_numpy(case, shape):
    name, dtype = case
    a, f, oracle = sample(shape, dtype), getattr(jnp, name), getattr(np, name)
    mask = sample(shape, "bool", seed=1)
    initial = np.dtype(dtype).type(1)
    expected = oracle.reduce(wide(a), axis=0, initial=wide(initial), where=mask)
    close(f.reduce(a, initial=initial, where=mask), expected, dtype)


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_accumulate_equals_numpy(case, shape):
    name, dtype = case
    a, f, oracle = sample(shape, dtype), getattr(jnp, name), getattr(np, name)
    for axis in range(len(shape)):
        out = f.accumulate(a, axis)
        # Sums and products keep an integer dtype and wrap around; booleans are counted.
        exact = a if name in ("add", "multiply") and dtype == "int8" else wide(a)
        counted = np.int32 if name in ("add", "multiply") and dtype == "bool" else exact.dtype
        expected = oracle.accumulate(
            exact, axis=axis, dtype=counted if name in ("add", "multiply") else None
        )
        close(out, expected, dtype)
        close(tans_batching.vmap(lambda v: f.accumulate(v, axis))(a[None])[0], out, dtype)  # noqa: B023


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize("shape", [(6,), (6, 2), (2, 6, 3)], ids=str)
def test_reduceat_equals_numpy(case, shape):
    name, dtype = case
    a, f, oracle = sample(shape, dtype), getattr(jnp, name), getattr(np, name)
    axis = shape.index(6)
    indices = np.array([0, 4, 1, 5])
    kept = a.dtype if name in ("add", "multiply") else None
    expected = oracle.reduceat(a if kept else wide(a), indices, axis=axis, dtype=kept)
    close(f.reduceat(a, jnp.asarray(indices), axis), expected, dtype)


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
def test_outer_equals_numpy(case, shape):
    name, dtype = case
    a, b = sample(shape, dtype), sample((4,), dtype, seed=2)
    close(getattr(jnp, name).outer(a, b), getattr(np, name).outer(wide(a), wide(b)), dtype)


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
@pytest.mark.parametrize(
    "where", [0, np.array([1, 1, 0]), (slice(None), np.array([2, 2]))], ids=repr
)
def test_at_equals_numpy(case, where):
    name, dtype = case
    f, a = getattr(jnp, name), sample((2, 3), dtype)
    b = sample(np.shape(a[where]), dtype, seed=3)
    result = f(a, a).dtype
    expected = a.astype(result)
    getattr(np, name).at(expected, where, b)
    close(f.at(a, where, b, inplace=False), expected, dtype)
    assert f.at(a, where, b, inplace=False).dtype == (a.dtype if name in _METHODS else result)


_METHODS = {"add", "subtract", "multiply", "maximum", "minimum"}


def test_unary_updates_apply_once_per_mention():
    a = jnp.arange(4.0)
    assert jnp.negative.at(a, jnp.array([1, 1, 2]), inplace=False).tolist() == [0.0, 1.0, -2.0, 3.0]


def test_updates_out_of_bounds_are_dropped():
    f = jnp.frompyfunc(lambda a, b: a + b, 2, 1)
    assert f.at(jnp.arange(3), jnp.array([7, 0]), 5, inplace=False).tolist() == [5, 1, 2]


def test_functions_of_scalars_fold_from_the_first_element():
    f = jnp.frompyfunc(lambda a, b: 10 * a + b, 2, 1)
    oracle = np.frompyfunc(lambda a, b: 10 * a + b, 2, 1)
    x = np.arange(6).reshape(2, 3)
    assert f(x, 1).tolist() == oracle(x, 1).tolist()
    assert f.reduce(x).tolist() == oracle.reduce(x).tolist()
    assert f.reduce(x, axis=None).item() == 12345
    assert f.accumulate(x, 1).tolist() == oracle.accumulate(x, axis=1).tolist()
    assert (
        f.reduceat(x, jnp.array([0, 2]), 1).tolist() == oracle.reduceat(x, [0, 2], axis=1).tolist()
    )
    assert f.outer(x, x).tolist() == oracle.outer(x, x).tolist()
    assert tans_batching.vmap(f)(x, x).tolist() == (11 * x).tolist()


def test_functions_of_scalars_may_return_several_values():
    f = jnp.frompyfunc(lambda a: (a, a + 1), 1, 2)
    first, second = f(jnp.arange(3))
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [1, 2, 3])
    assert (f.nin, f.nout, f.nargs, f.identity) == (1, 2, 1, None)


def test_identity_stands_for_what_a_mask_leaves_out():
    f = jnp.frompyfunc(lambda a, b: 10 * a + b, 2, 1, identity=0)
    assert f.reduce(jnp.arange(4), where=jnp.array([False, True, False, True])).item() == 13
    assert f.reduce(jnp.zeros((0, 2))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["subtract", "multiply", "logaddexp"])
def test_folds_have_the_slope_of_central_differences(name):
    with config.enable_x64(True):
        f, x = getattr(jnp, name), np.array([0.3, -1.2, 2.1, 0.7])
        slope = tans_autodiff.grad(lambda v: f.reduce(v) + f.accumulate(v).sum())(x)
        oracle = getattr(np, name)
        value = lambda v: oracle.reduce(v) + oracle.accumulate(v).sum()  # noqa: E731
        steps = 1e-6 * np.eye(4)
        central = [(value(x + h) - value(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(slope, central, rtol=1e-6)


def test_a_ufunc_is_an_instance_and_shows_its_name():
    assert isinstance(jnp.add, jnp.ufunc)
    assert not isinstance(jnp.divide, jnp.ufunc)
    assert repr(jnp.add) == "<jnp.ufunc 'add'>"
    assert (jnp.add.nin, jnp.add.nout, jnp.add.nargs, jnp.add.identity) == (2, 1, 2, 0)
    assert jnp.logaddexp.identity == -np.inf


def test_ufuncs_compare_by_what_they_compute():
    def f(a, b):
        return a + b

    assert jnp.frompyfunc(f, 2, 1) == jnp.frompyfunc(f, 2, 1)
    assert hash(jnp.frompyfunc(f, 2, 1)) == hash(jnp.frompyfunc(f, 2, 1))
    assert jnp.frompyfunc(f, 2, 1) != jnp.frompyfunc(f, 2, 1, identity=0)
    assert jnp.add != jnp.subtract


def test_ufuncs_survive_pickling():
    assert pickle.loads(pickle.dumps(jnp.add)) is jnp.add


def test_implementations_of_methods_can_be_given():
    f = jnp.ufunc(
        lambda a, b: a, 2, 1, name="first", reduce=lambda a, **_: a[0],
        accumulate=lambda a, **_: a, reduceat=lambda a, indices, **_: a[indices],
        at=lambda a, indices, b: a,
    )  # fmt: skip
    x = jnp.arange(3)
    assert f.reduce(x).item() == 0
    assert f.accumulate(x).tolist() == f.at(x, 0, 1, inplace=False).tolist() == [0, 1, 2]
    assert f.reduceat(x, jnp.array([2])).tolist() == [2]


def _bad_calls():
    x = jnp.arange(4.0)
    f = jnp.frompyfunc(lambda a, b: a + b, 2, 1)
    return {
        "out": (NotImplementedError, "out", lambda: jnp.add(x, x, out=x)),
        "where": (NotImplementedError, "where", lambda: jnp.negative(x, where=x > 0)),
        "where of a map": (NotImplementedError, "where", lambda: f(x, x, where=x > 0)),
        "operands": (TypeError, "missing", lambda: f(x)),
        "reduce of one operand": (ValueError, "2 operands", lambda: jnp.negative.reduce(x)),
        "reduce out": (NotImplementedError, "out", lambda: jnp.add.reduce(x, out=x)),
        "mask": (ValueError, "initial", lambda: jnp.subtract.reduce(x, where=x > 0)),
        "empty": (ValueError, "identity", lambda: jnp.subtract.reduce(x[:0])),
        "axes": (NotImplementedError, "axis", lambda: jnp.subtract.reduce(x[None], axis=(0, 1))),
        "axis": (ValueError, "axis 3", lambda: jnp.add.reduce(x, axis=3)),
        "in place": (NotImplementedError, "inplace", lambda: jnp.add.at(x, 0, 1)),
        "missing": (TypeError, "Give b", lambda: jnp.add.at(x, 0, inplace=False)),
        "surplus": (TypeError, "Leave out b", lambda: jnp.negative.at(x, 0, 1, inplace=False)),
        "indices": (ValueError, "(1, 1)", lambda: jnp.add.reduceat(x, jnp.zeros((1, 1), int))),
        "list": (TypeError, "argument 0", lambda: jnp.add.reduce([1, 2])),
        "function": (TypeError, "of type int", lambda: jnp.frompyfunc(1, 2, 1)),
    }


@pytest.mark.parametrize("name", _bad_calls())
def test_bad_calls_say_what_was_expected(name):
    error, fact, call = _bad_calls()[name]
    with pytest.raises(error, match=fact.replace("(", r"\(").replace(")", r"\)")):
        call()


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(9,), (9, 2)], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_polyfit_equals_numpy(degree, dtype, shape, weighted):
    with config.enable_x64(dtype == "float64"):
        rng = np.random.default_rng(degree)
        x, y = np.linspace(-1, 1, 9).astype(dtype), rng.standard_normal(shape).astype(dtype)
        w = rng.uniform(0.5, 2, 9).astype(dtype) if weighted else None
        x64, y64 = x.astype(float), y.astype(float)
        w64 = w if w is None else w.astype(float)
        close(jnp.polyfit(x, y, degree, w=w), np.polyfit(x64, y64, degree, w=w64), dtype)
        for cov in (True, "unscaled"):
            out = jnp.polyfit(x, y, degree, w=w, cov=cov)
            for got, expected in zip(
                out, np.polyfit(x64, y64, degree, w=w64, cov=cov), strict=True
            ):
                close(got, expected, dtype)
        full, expected = (
            f.polyfit(a, b, degree, w=c, full=True)
            for f, a, b, c in ((jnp, x, y, w), (np, x64, y64, w64))
        )
        for got, value in zip(full[:4], expected[:4], strict=True):
            close(got, value, dtype)


@pytest.mark.parametrize(
    "p", [[1, -3, 2], [0, 1, -3, 2], [1, -3, 2, 0], [0, 0], [5], [], [2, 1, 3, -1, 4]], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_roots_equal_numpy(p, dtype):
    given = np.array(p, dtype)
    expected = np.roots(given.astype(complex))
    out = jnp.roots(given)
    assert out.dtype == np.complex64
    in_order = np.sort_complex(np.asarray(out).round(3))
    np.testing.assert_allclose(in_order, np.sort_complex(expected.round(3)), atol=1.1e-3)


def test_roots_under_jit_are_as_many_as_the_degree():
    out = jit(lambda p: jnp.roots(p, strip_zeros=False))(jnp.array([0.0, 1.0, -3.0, 2.0]))
    np.testing.assert_allclose(out[:2], [2, 1], rtol=1e-5)
    assert np.isnan(out[2])
    with pytest.raises(TracerArrayConversionError):
        jit(jnp.roots)(jnp.ones(3))


def test_bad_points_of_polyfit_are_refused():
    x = jnp.arange(4.0)
    for args, kwargs, error, fact in (
        ((x, x, -1), {}, ValueError, "deg=-1"),
        ((x, x[:2], 1), {}, TypeError, r"\(2,\)"),
        ((x[None], x, 1), {}, TypeError, r"\(1, 4\)"),
        ((x, x, 1), {"w": x[:2]}, TypeError, "weights"),
        ((x, x, 3), {"cov": True}, ValueError, "at least 5"),
    ):
        with pytest.raises(error, match=fact):
            jnp.polyfit(*args, **kwargs)
    with pytest.raises(ValueError, match="2 dimensions"):
        jnp.roots(jnp.ones((1, 2)))


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), (), (-1, 0, 1)])
def test_folds_of_bits_take_several_axes(name, dtype, axis):
    x = sample((2, 3, 4), "int8").astype(dtype)
    mask = sample((2, 3, 4), "bool", 1)
    expected, f = getattr(np, name), getattr(jnp, name)
    for options in ({}, {"keepdims": True}, {"initial": 1}, {"where": mask}):
        out = f.reduce(jnp.asarray(x), axis=axis, **options)
        given = {**options, "initial": x.dtype.type(1)} if "initial" in options else options
        np.testing.assert_array_equal(out, expected.reduce(x, axis=axis, **given))
        assert out.dtype == dtype


@pytest.mark.parametrize("name", BITS)
def test_updates_by_python_numbers_keep_the_dtype(name):
    out = getattr(jnp, name).at(jnp.arange(3, dtype=jnp.uint8), 0, 1, inplace=False)
    assert out.dtype == jnp.uint8


def test_running_logarithms_of_integers_are_strong():
    assert not jnp.logaddexp.accumulate(jnp.array([1, 2])).weak_type
