"""Collectives over a mapped axis, against NumPy on the whole array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tans_lax as lax
from tans_batching import vmap
from tans_xla import jit


def array(*shape, dtype="float32"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def over(fun, x, **options):
    return np.asarray(vmap(fun, axis_name="i", **options)(x))


@pytest.mark.parametrize("in_axis", [0, 1, 2])
@pytest.mark.parametrize(
    ("collective", "oracle"),
    [
        (lax.psum, np.sum),
        (lax.pmean, np.mean),
        (lax.pmax, np.max),
        (lax.pmin, np.min),
    ],
)
def test_reductions(collective, oracle, in_axis):
    x = array(3, 2, 4)
    found = over(lambda v: collective(v, "i"), x, in_axes=in_axis, out_axes=in_axis)
    np.testing.assert_allclose(found, np.broadcast_to(oracle(x, in_axis, keepdims=True), x.shape))


def test_result_of_a_reduction_is_not_mapped():
    found = vmap(lambda v: lax.psum(v, "i"), axis_name="i", out_axes=None)(array(3))
    assert np.asarray(found) == 3


def test_constants_fold_to_python_numbers():
    seen = []

    def fun(x):
        seen.append((lax.psum(1, "i"), lax.psum(2.5, "i"), lax.pmean(3, "i"), lax.axis_size("i")))
        return x

    over(fun, array(4))
    assert seen == [(4, 10.0, 3.0, 4)]
    assert type(seen[0][0]) is int


def test_unmapped_operand_is_counted_once_per_element():
    np.testing.assert_array_equal(
        over(lambda v: lax.psum(np.float32(1) * np.ones(2), "i"), array(3)), np.full((3, 2), 3.0)
    )
    c = jit(lambda: np.float32(2))()
    np.testing.assert_array_equal(over(lambda v: lax.psum(c, "i"), array(3)), np.full(3, 6.0))


def test_bools_are_counted_and_integer_means_are_floats():
    found = over(lambda v: lax.psum(v, "i"), array(4) > 1)
    assert found.dtype == np.int32
    assert found.tolist() == [2, 2, 2, 2]
    assert over(lambda v: lax.pmean(v, "i"), np.arange(4)).dtype == np.float32


def test_two_axes_in_one_reduction():
    x = array(2, 3)
    found = vmap(vmap(lambda v: lax.psum(v, ("i", "j")), axis_name="j"), axis_name="i")(x)
    np.testing.assert_array_equal(found, np.full((2, 3), 15.0))


@pytest.mark.parametrize("name", ["i", "j"])
def test_one_of_two_axes(name):
    x = array(2, 3)
    found = vmap(vmap(lambda v: lax.psum(v, name), axis_name="j"), axis_name="i")(x)
    expected = x.sum(0 if name == "i" else 1, keepdims=True)
    np.testing.assert_array_equal(found, np.broadcast_to(expected, (2, 3)))


def test_positional_dimensions():
    x = array(2, 3)
    np.testing.assert_array_equal(lax.psum(x, 0), x.sum(0))
    np.testing.assert_array_equal(over(lambda v: lax.psum(v, (0, "i")), x), np.full(2, 15.0))


def test_groups():
    groups = [[0, 2], [1, 3]]
    found = over(lambda v: lax.psum(v, "i", axis_index_groups=groups), array(4))
    assert found.tolist() == [2, 4, 2, 4]
    found = over(lambda v: lax.pmax(v, "i", axis_index_groups=groups), array(4, 2))
    assert found.tolist() == [[4, 5], [6, 7], [4, 5], [6, 7]]


def test_axis_index():
    assert over(lambda v: lax.axis_index("i"), array(3)).tolist() == [0, 1, 2]
    both = vmap(vmap(lambda v: lax.axis_index(("i", "j")), axis_name="j"), axis_name="i")
    assert np.asarray(both(array(2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_all_gather(axis):
    x = array(3, 2, 4)
    found = vmap(lambda v: lax.all_gather(v, "i", axis=axis), axis_name="i", out_axes=None)(x)
    np.testing.assert_array_equal(found, np.moveaxis(x, 0, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_tiled_all_gather(axis):
    x = array(3, 2, 4)
    found = over(lambda v: lax.all_gather(v, "i", axis=axis, tiled=True), x)[0]
    np.testing.assert_array_equal(found, np.concatenate(list(x), axis))


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("concat", [0, 1])
def test_all_to_all(split, concat):
    x = array(3, 3, 3)
    found = over(lambda v: lax.all_to_all(v, "i", split, concat), x)
    expected = [np.stack([np.take(x[j], i, split) for j in range(3)], concat) for i in range(3)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("concat", [0, 1])
def test_tiled_all_to_all(split, concat):
    x = array(2, 4, 6)
    found = over(lambda v: lax.all_to_all(v, "i", split, concat, tiled=True), x)
    parts = [np.split(x[j], 2, split) for j in range(2)]
    expected = [np.concatenate([parts[j][i] for j in range(2)], concat) for i in range(2)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dimension", [0, 1])
def test_psum_scatter(dimension):
    x = array(3, 3, 3)
    found = over(lambda v: lax.psum_scatter(v, "i", scatter_dimension=dimension), x)
    np.testing.assert_array_equal(found, np.moveaxis(x.sum(0), dimension, 0))
    x = array(2, 4, 6)
    options = {"scatter_dimension": dimension, "tiled": True}
    found = over(lambda v: lax.psum_scatter(v, "i", **options), x)
    np.testing.assert_array_equal(found, np.split(x.sum(0), 2, dimension))


@given(st.permutations(range(4)), st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_ppermute_fills_with_zeros(perm, count):
    x = array(4, 2) + 1
    pairs = list(enumerate(perm))[:count]
    expected = np.zeros_like(x)
    for source, destination in pairs:
        expected[destination] = x[source]
    np.testing.assert_array_equal(over(lambda v: lax.ppermute(v, "i", pairs), x), expected)


def test_pshuffle_pswapaxes_and_pbroadcast():
    x = array(3, 3)
    np.testing.assert_array_equal(over(lambda v: lax.pshuffle(v, "i", [2, 0, 1]), x), x[[2, 0, 1]])
    np.testing.assert_array_equal(over(lambda v: lax.pswapaxes(v, "i", 0), x), x.T)
    expected = np.broadcast_to(x[1], (3, 3))
    np.testing.assert_array_equal(over(lambda v: lax.pbroadcast(v, "i", 1), x), expected)


def test_collectives_over_an_outer_axis_carry_the_inner_one():
    x = array(3, 2, 3)
    for fun in (
        lambda v: lax.all_gather(v, "i"),
        lambda v: lax.all_to_all(v, "i", 0, 0),
        lambda v: lax.psum_scatter(v, "i"),
        lambda v: lax.ppermute(v, "i", [(0, 1), (1, 0)]),
        lambda v: lax.pbroadcast(v, "i", 2),
        lambda v: lax.pmax(v, "i"),
    ):
        nested = vmap(vmap(fun, axis_name="j"), axis_name="i")(x)
        alone = np.stack([over(fun, x[:, j]) for j in range(2)], 1)
        np.testing.assert_array_equal(nested, alone)


def test_inside_a_jitted_function():
    inner = jit(lambda v: lax.psum(v, "i"))
    assert over(inner, array(3)).tolist() == [3, 3, 3]
    index = jit(lambda v: lax.axis_index("i"))
    assert over(lambda v: index(np.float32(1)), array(3)).tolist() == [0, 1, 2]
    assert np.asarray(jit(vmap(inner, axis_name="i"))(array(4))).tolist() == [6] * 4


def test_same_function_under_axes_of_different_size():
    size = jit(lambda v: lax.mul(v, np.float32(lax.axis_size("i"))))
    assert over(size, np.ones(2, "float32")).tolist() == [2, 2]
    assert over(size, np.ones(3, "float32")).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("fun", "error", "fact"),
    [
        (lambda v: lax.psum(v, "j"), NameError, r"'j'.*\['i'\]"),
        (lambda v: lax.axis_index("ii"), NameError, "did you mean 'i'"),
        (lambda v: lax.all_gather(v, "j"), NameError, "vmap"),
        (lambda v: lax.ppermute(v, "i", [(0, 1), (2, 1)]), ValueError, "destination"),
        (lambda v: lax.ppermute(v, "i", [(0, 1), (0, 2)]), ValueError, "source"),
        (lambda v: lax.ppermute(v, "i", [(0, 7)]), ValueError, "from 0 to 2"),
        (lambda v: lax.pshuffle(v, "i", [0, 1]), ValueError, "permutation"),
        (lambda v: lax.pbroadcast(v, "i", 3), ValueError, "source=3"),
        (lambda v: lax.psum_scatter(v, "i"), ValueError, "length 2"),
        (lambda v: lax.all_to_all(v, "i", 0, 0), ValueError, "3 entries"),
        (lambda v: lax.all_gather(v, "i", axis=5), ValueError, "dimension 5"),
        (lambda v: lax.psum(v, "i", axis_index_groups=[[0], [1]]), ValueError, "exactly once"),
        (lambda v: lax.psum(v, "i", axis_index_groups=[[0], [1, 2]]), ValueError, "equal size"),
    ],
)
def test_errors(fun, error, fact):
    with pytest.raises(error, match=fact):
        over(fun, array(3, 2))


def test_unbound_name_outside_any_map():
    with pytest.raises(NameError, match="axis_name='i'"):
        lax.psum(1, "i")
    with pytest.raises(NameError, match="axis_name='i'"):
        jit(lambda v: lax.axis_index("i"))(1.0)
