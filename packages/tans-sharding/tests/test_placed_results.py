"""Operations on sharded arrays that compute their result where it is wanted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import communication, expect_communication
from tans_random.implementations import find_implementation
from tans_random.random_gamma import random_gamma

INDICES = np.array([0, 2, 5, 15, 3, 3, 1, 9])
HOST = np.arange(128, dtype=np.float32).reshape(16, 8)


def placed(values: Any, *spec: Any, **states: Any) -> Any:
    return tans.reshard(np.asarray(values), P(*spec, **states))


# ---- x.at[...] with out_sharding ----------------------------------------------------------------

SPECS = {
    "same": P("X", "Y"),
    "other": P("Y", "X"),
    "replicated": P(),
    "both on one": P(("X", "Y")),
    "reduced": P("Y", reduced={"X"}),
    "unreduced": P(None, "Y", unreduced={"X"}),
}


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_reads_and_writes_at_arrays_of_indices(mesh: Any, spec: P, jit: bool) -> None:
    x, i = placed(HOST, "X", "Y"), placed(INDICES, "X")
    wrap: Callable[[Any], Any] = tans.jit if jit else lambda f: f
    read = wrap(lambda x, i: x.at[i].get(out_sharding=spec))(x, i)
    np.testing.assert_array_equal(tans.reshard(read, P()), HOST[INDICES])
    assert tans.typeof(read).sharding.spec == spec.padded(2)
    added = wrap(lambda x, i: x.at[i].add(1.0, out_sharding=spec))(x, i)
    expected = HOST.copy()
    np.add.at(expected, INDICES, 1)
    np.testing.assert_array_equal(tans.reshard(added, P()), expected)


INDEXES = {
    "one": 0,
    "from the end": -3,
    "slice": slice(2, 14, 3),
    "two": (slice(None), 3),
    "new axis": (None, 5),
    "ellipsis": (..., slice(0, 4)),
    "mask": HOST[:, 0] > 50,
    "array and slice": (np.array([1, 7]), slice(2, 6)),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_kinds_of_indices(mesh: Any, index: Any) -> None:
    x = placed(HOST, "X", "Y")
    for _ in range(2):  # the second time from the table of compiled programs
        np.testing.assert_array_equal(x.at[index].get(out_sharding=P()), HOST[index])
        expected = HOST.copy()
        expected[index] = 7
        np.testing.assert_array_equal(x.at[index].set(7, out_sharding=P("X", "Y")), expected)


def test_equal_numbers_of_other_types_are_other_indices(mesh: Any) -> None:
    x = placed(HOST, "X")
    assert x.at[True].get(out_sharding=P()).shape == (1, 16, 8)
    assert x.at[1].get(out_sharding=P()).shape == (8,)


def test_writes_do_not_communicate(mesh: Any) -> None:
    x = placed(HOST, "X", "Y")
    expect_communication(None, lambda x: x.at[3].set(1.0, out_sharding=P("X", "Y")), x)
    expect_communication(None, lambda x: x.at[INDICES].add(1.0, out_sharding=P("X", "Y")), x)


def test_lookup_in_a_table_does_not_communicate(mesh: Any) -> None:
    table, ids = placed(HOST, None, "Y"), placed(INDICES, "X")
    lookup = lambda table, ids: table.at[ids].get(out_sharding=P("X", "Y"))  # noqa: E731
    assert str(tans.typeof(lookup(table, ids))) == "float32[8@X,8@Y]"
    expect_communication(None, lookup, table, ids)


@pytest.mark.parametrize("states", [{}, {"reduced": {"X"}}], ids=["replicated", "reduced"])
def test_gradient_of_a_lookup(mesh: Any, states: Any) -> None:
    table, ids = placed(HOST, None, "Y", **states), placed(INDICES, "X")

    def loss(table: Any) -> Any:
        return (table.at[ids].get(out_sharding=P("X", "Y")) ** 2).sum()

    grad = tans.grad(loss)(table)
    assert tans.typeof(grad).sharding.spec == P(None, "Y", **states).to_cotangent()
    expected = np.zeros_like(HOST)
    np.add.at(expected, INDICES, 2 * HOST[INDICES])
    np.testing.assert_allclose(tans.reshard(grad, P()), expected)


def test_errors_of_at_with_out_sharding(mesh: Any) -> None:
    x = placed(HOST, "X", "Y")
    with pytest.raises(ValueError, match="at most 2"):
        x.at[INDICES].get(out_sharding=P("X", None, None))
    with pytest.raises(ValueError, match="3"):
        x.at[np.array([0, 1, 2])].get(out_sharding=P("X"))
    with pytest.raises(ValueError, match="not found"):
        x.at[0].get(out_sharding=P("Q"))
    with pytest.raises(TypeError, match="PartitionSpec"):
        x.at[0].get(out_sharding="X")


# ---- stacks of matrices -------------------------------------------------------------------------

STACK = np.random.default_rng(0).normal(size=(8, 4, 4)).astype(np.float32)
POSITIVE = STACK @ STACK.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)

LINALG: dict[str, Callable[[Any], Any]] = {
    "cholesky": jnp.linalg.cholesky,
    "inv": jnp.linalg.inv,
    "qr": jnp.linalg.qr,
    "eigh": jnp.linalg.eigh,
    "svd": jnp.linalg.svd,
    "det": jnp.linalg.det,
    "slogdet": jnp.linalg.slogdet,
    "solve": lambda a: jnp.linalg.solve(a, a),
    "lu": lax.linalg.lu,
    "triangular_solve": lambda a: lax.linalg.triangular_solve(a, a),
    "matrix_power": lambda a: jnp.linalg.matrix_power(a, -2),
}


@pytest.mark.parametrize("name", LINALG)
def test_matrices_are_solved_where_they_are(mesh: Any, name: str) -> None:
    fun = LINALG[name]
    found = fun(placed(POSITIVE, "X"))
    expected = fun(jnp.asarray(POSITIVE))
    for y, plain in zip(tans.tree.leaves(found), tans.tree.leaves(expected), strict=True):
        assert tans.typeof(y).sharding.spec.partitions[0] == "X"
        np.testing.assert_allclose(y, plain, rtol=2e-3, atol=2e-3)
    assert len(communication(fun, placed(POSITIVE, "X"))) == 0


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "solve", "qr"])
def test_gradients_of_stacks(mesh: Any, name: str) -> None:
    def loss(a: Any) -> Any:
        return sum(jnp.sin(y).sum() for y in tans.tree.leaves(LINALG[name](a)))

    given = tans.grad(loss)(placed(POSITIVE, "X"))
    plain = tans.grad(loss)(jnp.asarray(POSITIVE))
    assert str(tans.typeof(given)) == "float32[8@X,4,4]"
    np.testing.assert_allclose(given, plain, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_gamma_samples_lie_where_their_parameters_do(mesh: Any, implementation: str) -> None:
    keys = tans.random.split(tans.random.key(0, impl=implementation), 8)
    a = np.linspace(0.5, 4, 32).astype(np.float32).reshape(8, 4)
    rowwise = tans.vmap(tans.random.gamma)
    found = rowwise(tans.reshard(keys, P("X")), tans.reshard(a, P("X", "Y")))
    assert str(tans.typeof(found)) == "float32[8@X,4@Y]"
    if implementation == "threefry2x32":  # bits of rbg depend on the batch
        np.testing.assert_allclose(found, rowwise(keys, a), rtol=1e-6)
    one = tans.random.gamma(keys[0], tans.reshard(a, P("Y")))
    assert str(tans.typeof(one)) == "float32[8@Y,4]"
    np.testing.assert_allclose(one, tans.random.gamma(keys[0], a), rtol=1e-6)
    with pytest.raises(tans.errors.ShardingTypeError, match="keys sharded as the parameters"):
        random_gamma(
            tans.reshard(tans.random.key_data(keys), P("X")),
            tans.reshard(a, P("Y")),
            find_implementation(implementation),
            False,
        )
