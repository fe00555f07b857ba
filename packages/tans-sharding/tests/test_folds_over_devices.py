"""Folds over devices by operations and of dtypes for which XLA has no collective."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax

REAL = np.random.default_rng(0).integers(0, 3, (8, 4, 2))
COMPLEX = (REAL[..., 0] + 1j * REAL[..., 1]).astype(np.complex64)
WHOLE = np.random.default_rng(1).integers(0, 64, (8, 4)).astype(np.int32)


def place(x: Any, *spec: Any) -> Any:
    return tans.reshard(np.asarray(x), P(*spec))


FOLDS: dict[str, tuple[Any, Any, Any]] = {
    "complex max": (COMPLEX, lambda x: lax.reduce_max(x, (0,)), lambda x: x.max(0)),
    "complex min": (COMPLEX, lambda x: lax.reduce_min(x, (0, 1)), lambda x: x.min()),
    "xor": (WHOLE, lambda x: lax.reduce_xor(x, (0,)), lambda x: np.bitwise_xor.reduce(x, 0)),
    "and": (WHOLE, lambda x: lax.reduce_and(x, (0,)), lambda x: np.bitwise_and.reduce(x, 0)),
    "or": (WHOLE, lambda x: lax.reduce_or(x, (1,)), lambda x: np.bitwise_or.reduce(x, 1)),
    "bool and": (WHOLE > 3, lambda x: lax.reduce_and(x, (0,)), lambda x: x.all(0)),
    "bool or": (WHOLE > 50, lambda x: lax.reduce_or(x, (0,)), lambda x: x.any(0)),
    "bool xor": (WHOLE > 30, lambda x: lax.reduce_xor(x, (0,)), lambda x: x.sum(0) % 2 == 1),
    "of one's own": (
        WHOLE,
        lambda x: lax.reduce(x, np.int32(1), lambda a, b: (a * b) % 17, (0,)),
        lambda x: (np.multiply.reduce(x.astype(object), 0) % 17).astype(np.int32),
    ),
}


@pytest.mark.parametrize("spec", [("X",), ("X", "Y"), (("X", "Y"),)], ids=str)
@pytest.mark.parametrize("case", FOLDS.values(), ids=FOLDS.keys())
def test_folds_of_sharded_dimensions(mesh: Any, case: Any, spec: Any) -> None:
    x, fold, oracle = case
    np.testing.assert_array_equal(tans.jit(fold)(place(x, *spec)), oracle(x))


@pytest.mark.parametrize("fold", [lax.reduce_and, lax.reduce_or])
def test_folds_of_booleans_move_results_only(mesh: Any, fold: Any) -> None:
    compiled = tans.jit(lambda x: fold(x, (0,))).lower(place(WHOLE > 3, "X")).compile()
    text = compiled.as_text()
    assert "all-reduce" in text
    assert "all-gather" not in text


@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("axes", ["X", "Y", ("X", "Y")], ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_complex_numbers(mesh: Any, name: str, axes: Any, check: bool) -> None:
    fold = getattr(lax, f"p{name}")
    run = tans.shard_map(
        lambda v: lax.pcast(fold(v, axes), axes, to="varying") if check else fold(v, axes),
        out_specs=P("X", "Y"),
        check_vma=check,
    )
    parts = COMPLEX.reshape(2, 4, 4, 1)
    along = tuple({"X": 0, "Y": 2}[a] for a in axes)
    extremum = {"max": np.max, "min": np.min}[name]
    expected = np.broadcast_to(extremum(parts, along, keepdims=True), parts.shape)
    np.testing.assert_array_equal(run(place(COMPLEX, "X", "Y")), expected.reshape(8, 4))


def test_complex_extrema_keep_nan_and_groups() -> None:
    x = np.array([1 + 2j, np.nan, 3 - 1j, 3 + 1j], np.complex64)
    run = tans.pmap(lambda v: lax.pmax(v, "i", axis_index_groups=[[0, 1], [2, 3]]), axis_name="i")
    found = np.asarray(run(x))
    assert np.isnan(found[:2]).all()
    np.testing.assert_array_equal(found[2:], [3 + 1j, 3 + 1j])


COLLECTIVES: dict[str, Callable[[Any], Any]] = {
    "psum": lambda v: lax.psum(v, "X"),
    "pmax": lambda v: lax.pmax(v, "X"),
    "pmin": lambda v: lax.pmin(v, "X"),
    "psum_scatter": lambda v: lax.psum_scatter(v, "X", tiled=True),
}


@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("fold", COLLECTIVES.values(), ids=COLLECTIVES.keys())
def test_keys_have_no_sums_and_no_order(mesh: Any, fold: Any, check: bool) -> None:
    keys = tans.device_put(tans.random.split(tans.random.key(0), 8), P("X"))
    run = tans.shard_map(fold, out_specs=P("X"), check_vma=check)
    with pytest.raises(TypeError, match=r"given.*key<fry>\[4\].*expected numbers.*all_gather"):
        run(keys)


MOVES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "psum": (lambda v: lax.pcast(lax.psum(v, "X"), "X", to="varying"), (0, 4)),
    "pmax": (lambda v: lax.pcast(lax.pmax(v, "X"), "X", to="varying"), (0, 4)),
    "all_gather": (lambda v: lax.all_gather(v, "X"), (4, 0, 4)),
    "all_gather tiled": (lambda v: lax.all_gather(v, "X", tiled=True), (0, 4)),
    "psum_scatter": (lambda v: lax.psum_scatter(v, "X", tiled=True), (0, 4)),
    "all_to_all": (lambda v: lax.all_to_all(v, "X", 1, 0, tiled=True), (0, 2)),
    "ppermute": (lambda v: lax.ppermute(v, "X", [(0, 1)]), (0, 4)),
}


@pytest.mark.parametrize("case", MOVES.values(), ids=MOVES.keys())
def test_arrays_without_elements(mesh: Any, case: Any) -> None:
    move, shape = case
    x = place(np.zeros((0, 4), np.float32), "X")
    run = tans.jit(tans.shard_map(move, out_specs=P("X")))
    assert run(x).shape == shape


def test_pseudoinverses_of_sharded_stacks(mesh: Any) -> None:
    stack = np.random.default_rng(2).normal(size=(4, 5, 3)).astype(np.float32)
    found = jnp.linalg.pinv(place(stack, "X"))
    assert str(tans.typeof(found)) == "float32[4@X,3,5]"
    np.testing.assert_allclose(found, np.linalg.pinv(stack.astype(np.float64)), atol=1e-5)
    gradient = tans.grad(lambda a: jnp.linalg.pinv(a).sum())
    np.testing.assert_allclose(gradient(place(stack, "X")), gradient(stack), atol=1e-4)


@pytest.mark.parametrize("left_side", [True, False])
def test_right_hand_sides_of_a_triangular_system_stay_where_they_are(
    mesh: Any, left_side: bool
) -> None:
    rng = np.random.default_rng(3)
    a = np.tril(rng.normal(size=(4, 4)) + 4 * np.eye(4)).astype(np.float32)
    b = rng.normal(size=(4, 4)).astype(np.float32)
    free, bound = (P(None, "X"), P("X")) if left_side else (P("X"), P(None, "X"))

    def solve(b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, left_side=left_side, lower=True)

    found = solve(tans.reshard(b, free))
    assert tans.typeof(found).sharding.spec == tans.reshard(b, free).sharding.spec
    expected = np.linalg.solve(a, b) if left_side else np.linalg.solve(a.T, b.T).T
    np.testing.assert_allclose(found, expected, atol=1e-5)
    with pytest.raises(tans.errors.ShardingTypeError, match="Only the batch dimensions"):
        solve(tans.reshard(b, bound))
