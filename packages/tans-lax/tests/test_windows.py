"""Windowed reductions: values, derivatives, batching, errors."""

import itertools

import numpy as np
import pytest

import tans_autodiff as autodiff
import tans_lax as lax
from tans_core import rules
from tans_core.context import AxisData
from tans_lax.windows import (
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
    window_params,
)
from tans_xla import jit, make_jaxpr

FOLDS = {
    "sum": (lax.add, 0.0, np.add),
    "max": (lax.max, -np.inf, np.maximum),
    "min": (lax.min, np.inf, np.minimum),
    "product": (lax.mul, 1.0, np.multiply),
}
# Operand shape and the geometry of the window.
CASES = {
    "1d": ((7,), {"window_dimensions": (3,)}),
    "strided": ((7,), {"window_dimensions": (2,), "window_strides": (2,), "padding": "SAME"}),
    "2d": (
        (4, 5),
        {"window_dimensions": (2, 3), "window_strides": (1, 2), "padding": "SAME_LOWER"},
    ),
    "padded": ((4, 5), {"window_dimensions": (2, 1), "padding": ((1, 1), (0, 0))}),
    "dilated": (
        (6, 4),
        {
            "window_dimensions": (2, 2),
            "window_strides": (2, 1),
            "padding": ((1, 0), (0, 2)),
            "base_dilation": (2, 1),
            "window_dilation": (1, 2),
        },
    ),
    "no window fits": ((2,), {"window_dimensions": (3,)}),
    "empty": ((0, 2), {"window_dimensions": (1, 1)}),
}


def sample(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def direct(x, fold, params):
    """Fold every window from its definition."""
    _, init, oracle = FOLDS[fold]
    init = np.float64(init)
    grown = [
        0 if n == 0 else (n - 1) * b + 1
        for n, b in zip(x.shape, params["base_dilation"], strict=True)
    ]
    padded = [n + low + high for n, (low, high) in zip(grown, params["padding"], strict=True)]
    field = np.full(padded, init)
    places = tuple(
        slice(low, low + n, b)
        for (low, _), n, b in zip(params["padding"], grown, params["base_dilation"], strict=True)
    )
    field[places] = x
    shape = lax.reduce_window_shape_tuple(
        x.shape,
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        params["base_dilation"],
        params["window_dilation"],
    )
    out = np.empty(shape)
    for place in itertools.product(*map(range, shape)):
        window = tuple(
            slice(p * s, p * s + (w - 1) * d + 1, d)
            for p, s, w, d in zip(
                place,
                params["window_strides"],
                params["window_dimensions"],
                params["window_dilation"],
                strict=True,
            )
        )
        out[place] = oracle.reduce(field[window].ravel(), initial=init)
    return out


def full_params(shape, options):
    defaults = {"window_strides": None, "padding": "VALID", "base_dilation": None}
    return window_params(shape, **defaults | {"window_dilation": None} | options)


@pytest.mark.parametrize("fold", list(FOLDS))
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_values_equal_the_direct_fold(case, fold):
    shape, options = case
    computation, init, _ = FOLDS[fold]
    x = sample(shape)
    out = lax.reduce_window(x, init, computation, **options)
    expected = direct(x, fold, full_params(shape, options))
    assert out.shape == expected.shape
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_integer_windows():
    x = np.arange(6, dtype=np.int32)
    assert lax.reduce_window(x, 0, lax.add, (2,)).tolist() == [1, 3, 5, 7, 9]
    least = np.iinfo(np.int32).min
    assert lax.reduce_window(x, least, lax.max, (2,), (2,)).tolist() == [1, 3, 5]


def test_several_operands_are_folded_together():
    def both(a, b):
        return {"s": lax.add(a["s"], b["s"]), "p": lax.mul(a["p"], b["p"])}

    x = sample((5,))
    out = lax.reduce_window(
        {"s": x, "p": x}, {"s": np.float32(0), "p": np.float32(1)}, both, (2,), padding="SAME"
    )
    np.testing.assert_allclose(out["s"], np.append(x[:-1] + x[1:], x[-1]), rtol=1e-6)
    np.testing.assert_allclose(out["p"], np.append(x[:-1] * x[1:], x[-1]), rtol=1e-6)


def test_padding_names_give_the_usual_counts():
    assert lax.padtype_to_pads((5,), (3,), (2,), "VALID") == [(0, 0)]
    assert lax.padtype_to_pads((5, 6), (2, 3), (1, 2), "same") == [(0, 1), (0, 1)]
    assert lax.padtype_to_pads((5,), (2,), (1,), "SAME_LOWER") == [(1, 0)]
    assert lax.padtype_to_pads((7,), (1,), (3,), "SAME") == [(0, 0)]


@pytest.mark.parametrize("fold", ["sum", "max", "min"])
@pytest.mark.parametrize("name", ["1d", "strided", "2d", "padded"])
def test_derivatives_to_second_order(check_derivatives, name, fold):
    shape, options = CASES[name]
    computation, init, _ = FOLDS[fold]

    def pooled(x):
        return lax.reduce_window(lax.mul(x, x), init, computation, **options)

    check_derivatives(pooled, sample(shape))


def test_derivatives_of_a_dilated_sum(check_derivatives):
    shape, options = CASES["dilated"]
    check_derivatives(lambda x: lax.reduce_window(x, 0.0, lax.add, **options), sample(shape))


def test_tangent_of_a_general_fold():
    import tans_autodiff as autodiff

    x, t = sample((5,)), sample((5,), 1)

    def product(x):
        return lax.reduce_window(x, 1.0, lax.mul, (2,))

    _, out = autodiff.jvp(product, (x,), (t,))
    np.testing.assert_allclose(out, t[:-1] * x[1:] + x[:-1] * t[1:], rtol=1e-5)


def test_reverse_derivative_of_a_dilated_maximum_is_refused():
    import tans_autodiff as autodiff

    def pooled(x):
        out = lax.reduce_window(x, -np.inf, lax.max, (2,), window_dilation=(2,))
        return lax.reduce_sum(out, (0,))

    x = sample((5,))
    assert autodiff.jvp(pooled, (x,), (x,))[1].shape == ()
    with pytest.raises(NotImplementedError, match="window_dilation"):
        autodiff.grad(pooled)(x)


def test_ties_send_the_cotangent_to_the_first_maximum():
    import tans_autodiff as autodiff

    def pooled(x):
        return lax.reduce_sum(lax.reduce_window(x, -np.inf, lax.max, (2,), (2,)), (0,))

    assert autodiff.grad(pooled)(np.array([3, 3, 1, 2], np.float32)).tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("dim", [0, 1])
def test_batching_of_sums_equals_a_loop(dim):
    x = sample((3, 7))
    params = full_params((7,), CASES["strided"][1])
    out, out_dim = rules.batching[reduce_window_sum_p](
        AxisData(3), (np.moveaxis(x, 0, dim),), (dim,), **params
    )
    got = np.moveaxis(np.asarray(out), out_dim, 0)
    np.testing.assert_allclose(got, [direct(row, "sum", params) for row in x], rtol=1e-5)


def test_batching_of_general_folds_equals_a_loop():
    x = sample((3, 7))
    options = CASES["strided"][1]

    def program(x):
        return lax.reduce_window(x, 1.0, lax.mul, **options)

    params = make_jaxpr(program)(x[0]).eqns[-1].params
    rule = rules.batching[reduce_window_p]
    (out,), (dim,) = rule(AxisData(3), (x.T, np.float32(1)), (1, None), **params)
    assert dim == 0
    geometry = full_params((7,), options)
    np.testing.assert_allclose(out, [direct(row, "product", geometry) for row in x], rtol=1e-5)
    with pytest.raises(NotImplementedError, match="initial value"):
        rule(AxisData(3), (x.T, np.ones(3, np.float32)), (1, 0), **params)


@pytest.mark.parametrize("dims", [(0, 1), (None, 0), (1, None)])
def test_batching_of_selections_equals_a_loop(dims):
    x, t = sample((3, 6)), sample((3, 6), 1)
    ones = {"base_dilation": (1,), "window_dilation": (1,)}
    params = {
        "select_prim": lax.ge_p,
        "window_dimensions": (2,),
        "window_strides": (2,),
        "padding": ((0, 0),),
    }

    def args(first, second):
        return tuple(
            v[0] if d is None else np.moveaxis(v, 0, d)
            for v, d in zip((first, second), dims, strict=True)
        )

    def at(v, d, i):
        return v[0 if d is None else i]

    out, dim = rules.batching[select_and_gather_add_p](
        AxisData(3), args(t, x), dims, **params, **ones
    )
    each = [
        select_and_gather_add_p.bind(at(t, dims[0], i), at(x, dims[1], i), **params, **ones)
        for i in range(3)
    ]
    np.testing.assert_array_equal(np.moveaxis(np.asarray(out), dim, 0), np.stack(each))
    source = t[:, :3]
    out, dim = rules.batching[select_and_scatter_add_p](
        AxisData(3), args(source, x), dims, **params
    )
    each = [
        select_and_scatter_add_p.bind(at(source, dims[0], i), at(x, dims[1], i), **params)
        for i in range(3)
    ]
    np.testing.assert_array_equal(np.moveaxis(np.asarray(out), dim, 0), np.stack(each))


def test_general_select_and_scatter():
    scalar = np.float32(0)
    x, source = np.array([1, 4, 2, 3], np.float32), np.array([10, 20], np.float32)
    params = {
        "select_jaxpr": make_jaxpr(lax.ge)(scalar, scalar),
        "scatter_jaxpr": make_jaxpr(lax.add)(scalar, scalar),
        "window_dimensions": (2,),
        "window_strides": (2,),
        "padding": ((0, 0),),
    }
    out = select_and_scatter_p.bind(x, source, scalar, **params)
    assert out.tolist() == [0, 10, 0, 20]
    rule = rules.batching[select_and_scatter_p]
    out, dim = rule(AxisData(2), (np.stack([x, x]), source, scalar), (0, None, None), **params)
    assert (dim, out.tolist()) == (0, [[0, 10, 0, 20]] * 2)


X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (
            lambda: lax.reduce_window(X, 0.0, lax.add, (1,)),
            TypeError,
            ["(1,)", "(2, 3)", "2 entries"],
        ),
        (lambda: lax.reduce_window(X, 0.0, lax.add, (1, 1), padding="FOO"), RuntimeError, ["FOO"]),
        (
            lambda: lax.reduce_window(X, np.int32(1), lax.add, (1, 2)),
            TypeError,
            ["float32", "int32"],
        ),
        (lambda: lax.reduce_window(X, 0.0, lax.add, (1, 2), (0, 1)), TypeError, ["window_strides"]),
        (
            lambda: lax.reduce_window(X, 0.0, lax.add, (1, 2), padding=((0, 0),)),
            TypeError,
            ["padding", "2 dimensions"],
        ),
        (lambda: lax.reduce_window(X, X, lax.add, (1, 2)), ValueError, ["scalar"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


def test_named_folds_take_one_operation():
    text = jit(lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2))).lower(X).as_text()
    assert text.count("stablehlo.reduce_window") == 1
    assert text.count("stablehlo.constant") == 1


@pytest.mark.parametrize(
    ("computation", "start", "slope"),
    [
        (lax.add, 0.0, [1, 2, 2, 1]),
        (lax.max, -np.inf, [0, 1, 1, 1]),
        (lax.min, np.inf, [1, 1, 1, 0]),
    ],
)
def test_the_gradient_of_a_window_fold_from_a_python_number(computation, start, slope):
    def f(x):
        return lax.reduce_sum(lax.reduce_window(x, start, computation, (2,)), axes=(0,))

    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(autodiff.grad(f)(x), slope)
    np.testing.assert_array_equal(jit(autodiff.grad(f))(x), slope)
