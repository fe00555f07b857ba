"""Derivatives and batching of gathers and scatters."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tans_autodiff as autodiff
import tans_lax as lax
from tans_core import rules
from tans_core.context import AxisData
from tans_lax.gather_scatter import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_p,
)
from tans_xla import jit, make_jaxpr

_spec = spec_from_file_location("window_oracle", Path(__file__).with_name("window_oracle.py"))
oracle = module_from_spec(_spec)
_spec.loader.exec_module(oracle)

S = ScatterDimensionNumbers((), (0,), (0,))
LAWS = settings(max_examples=10, deadline=None)
RNG = np.random.default_rng(0)


def sample(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def identity_holds(fun, *xs):
    """Check <y_bar, J x_dot> == <J^T y_bar, x_dot>, and return J x_dot with x_dot."""
    x_dots = [sample(*x.shape) for x in xs]

    def both(xs, x_dots, y_bar):
        y, y_dot = autodiff.jvp(fun, tuple(xs), tuple(x_dots))
        _, pullback = autodiff.vjp(fun, *xs)
        return y, y_dot, pullback(y_bar)

    y_bar = sample(*fun(*xs).shape)
    y, y_dot, x_bars = jit(both)(xs, x_dots, y_bar)
    left = np.vdot(y_bar, np.asarray(y_dot))
    right = sum(np.vdot(np.asarray(b), d) for b, d in zip(x_bars, x_dots, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)
    return np.asarray(y), np.asarray(y_dot), x_dots


def differences_hold(fun, *xs):
    """Check the tangent against a central difference where the function is piecewise linear."""
    y, y_dot, x_dots = identity_holds(fun, *xs)
    np.testing.assert_allclose(y, fun(*xs), rtol=1e-6)
    h = 1e-3
    ahead = fun(*[x + h * d for x, d in zip(xs, x_dots, strict=True)])
    behind = fun(*[x - h * d for x, d in zip(xs, x_dots, strict=True)])
    central = (np.asarray(ahead, np.float64) - np.asarray(behind, np.float64)) / (2 * h)
    np.testing.assert_allclose(y_dot, central, rtol=2e-2, atol=2e-2)


@given(oracle.cases(bounds=False), st.sampled_from(["clip", "fill"]))
@LAWS
def test_gather(case, mode):
    operand, indices, numbers, sizes = case
    identity_holds(
        lambda x: lax.gather(x, indices, numbers, sizes, mode=mode, fill_value=3), operand
    )


@given(oracle.cases(bounds=False), st.sampled_from(["scatter_add", "scatter_sub"]))
@LAWS
def test_sums(case, name):
    operand, indices, numbers, _ = case
    scatter = getattr(lax, name)
    identity_holds(
        lambda x, u: scatter(x, indices, u, numbers.for_scatter()),
        operand,
        sample(*oracle.update_shape(case)),
    )


UNIQUE = np.array([[4], [1], [9], [3]], np.int32)
REPEATED = np.array([[1], [1], [9], [3], [1]], np.int32)


@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("name", ["scatter", "scatter_mul"])
def test_unique_places(name, mode):
    scatter = getattr(lax, name)
    indices = UNIQUE if mode == "drop" else UNIQUE[:2]
    fun = jit(lambda x, u: scatter(x, indices, u, S, unique_indices=True, mode=mode))
    differences_hold(fun, sample(6), sample(len(indices)))


@pytest.mark.parametrize("name", ["scatter", "scatter_min", "scatter_max", "scatter_add"])
def test_repeated_places(name):
    scatter = getattr(lax, name)
    differences_hold(jit(lambda x, u: scatter(x, REPEATED, u, S)), sample(6), sample(5))


def test_constant_updates_keep_the_plain_scatter():
    jaxpr = make_jaxpr(
        lambda x, t: autodiff.jvp(lambda x: lax.scatter(x, REPEATED, sample(5), S), (x,), (t,))
    )(sample(6), sample(6))
    assert [e.primitive.name for e in jaxpr.eqns].count("scatter") == 2
    identity_holds(lambda x: lax.scatter(x, REPEATED, np.ones(5, np.float32), S), sample(6))


def test_ties_of_extrema_share_the_derivative():
    x, updates = np.full(2, 5.0, np.float32), np.array([5.0, 5.0, 1.0], np.float32)
    indices = np.array([[0], [0], [1]], np.int32)
    fun = lambda x, u: lax.reduce_sum(lax.scatter_max(x, indices, u, S), (0,))  # noqa: E731
    x_bar, u_bar = jit(autodiff.grad(fun, (0, 1)))(x, updates)
    np.testing.assert_allclose(x_bar, [1 / 3, 1.0], rtol=1e-6)
    np.testing.assert_allclose(u_bar, [1 / 3, 1 / 3, 0.0], rtol=1e-6)


def test_nan_in_the_operand_keeps_its_own_derivative():
    x = np.array([np.nan, 1.0], np.float32)

    def fun(x):
        return lax.scatter_max(x, np.array([[1]], np.int32), np.ones(1, np.float32), S)

    _, tangent = jit(lambda x: autodiff.jvp(fun, (x,), (np.ones(2, np.float32),)))(x)
    np.testing.assert_allclose(tangent, [1.0, 0.5])


def test_product_of_repeated_updates_names_the_remedy():
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        autodiff.grad(lambda u: lax.reduce_sum(lax.scatter_mul(sample(6), REPEATED, u, S), (0,)))(
            sample(5)
        )


def test_scatter_apply_has_no_derivative():
    fun = lambda x: lax.scatter_apply(x, UNIQUE, lax.sin, S, update_shape=(4,))  # noqa: E731
    with pytest.raises(NotImplementedError, match="scatter_apply"):
        autodiff.jvp(fun, (sample(6),), (sample(6),))


def test_second_derivative_of_a_gather():
    def fun(x):
        taken = lax.gather(x, REPEATED[:2], S.for_gather(), (1,))
        return lax.reduce_sum(lax.integer_pow(taken, 3), (0,))

    hessian = jit(autodiff.hessian(fun))(np.arange(3.0, dtype=np.float32))
    np.testing.assert_allclose(hessian, np.diag([0.0, 12.0, 0.0]))


# ---- batching: one batched call equals a loop ---------------------------------------------------

BATCH = 3
AXIS = AxisData(BATCH)


def batched_equals_loop(primitive, args, dims, **params):
    outs, dim = rules.batching[primitive](AXIS, args, dims, **params)
    got = np.moveaxis(np.asarray(outs), dim, 0)
    for k in range(BATCH):
        row = [a if d is None else np.take(a, k, d) for a, d in zip(args, dims, strict=True)]
        np.testing.assert_allclose(got[k], primitive.bind(*row, **params), rtol=1e-6)


def stacked(x, dim, seed):
    rng = np.random.default_rng(seed)
    return np.stack([rng.permuted(x.reshape(-1)).reshape(x.shape) for _ in range(BATCH)], dim)


@given(oracle.cases(), st.sampled_from([(0, None), (None, 0), (0, 0), (1, 0)]))
@LAWS
def test_batched_gather_equals_loop(case, dims):
    operand, indices, numbers, sizes = case
    args = (
        operand if dims[0] is None else stacked(operand, dims[0], 1),
        indices if dims[1] is None else stacked(indices, dims[1], 2),
    )
    batched_equals_loop(
        gather_p,
        args,
        dims,
        dimension_numbers=numbers,
        fill_value=7,
        indices_are_sorted=False,
        mode=GatherScatterMode.FILL_OR_DROP,
        slice_sizes=sizes,
        unique_indices=False,
    )


DIMS = [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, None), (None, 0, 0), (1, 0, 0)]


@given(oracle.cases(), st.sampled_from(DIMS), st.sampled_from([scatter_add_p, scatter_max_p]))
@LAWS
def test_batched_scatter_equals_loop(case, dims, primitive):
    operand, indices, numbers, _ = case
    updates = sample(*oracle.update_shape(case))
    args = tuple(
        x if d is None else stacked(x, d, k)
        for k, (x, d) in enumerate(zip((operand, indices, updates), dims, strict=True))
    )
    batched_equals_loop(
        primitive,
        args,
        dims,
        dimension_numbers=numbers.for_scatter(),
        indices_are_sorted=False,
        mode=GatherScatterMode.FILL_OR_DROP,
        unique_indices=False,
        update_consts=(),
        update_jaxpr=None,
    )


def test_gradient_of_a_batched_scatter():
    indices = np.array([[[0], [2]], [[1], [1]]], np.int32)
    import tans_batching as batching

    fun = batching.vmap(lambda x, i, u: lax.scatter_add(x, i, u, S))
    identity_holds(lambda x, u: fun(x, indices, u), sample(2, 3), sample(2, 2))


def test_rows_are_complete():
    for table in (rules.types, rules.lowering, rules.jvp, rules.transpose, rules.batching):
        for primitive in (gather_p, scatter_p, scatter_add_p, scatter_max_p):
            assert table.find(primitive) is not None
