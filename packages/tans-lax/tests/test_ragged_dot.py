"""Ragged products against loops over groups, with derivatives, maps and errors."""

import numpy as np
import pytest

import tans_lax as lax
from tans_xla import jit

SIZES = np.array([4, 0, 3], np.int32)


def sample(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def groups(sizes):
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def test_rows_meet_the_matrix_of_their_group():
    lhs, rhs = sample(9, 5), sample(3, 5, 2)
    expected = np.zeros((9, 2))
    for rows, matrix in zip(groups(SIZES), rhs, strict=True):
        expected[rows] = lhs[rows] @ matrix
    np.testing.assert_allclose(lax.ragged_dot(lhs, rhs, SIZES), expected, rtol=1e-4, atol=1e-5)


def test_contracted_groups_are_parts_of_the_result():
    lhs, rhs = sample(9, 5), sample(9, 2)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    out = lax.ragged_dot_general(lhs, rhs, SIZES, numbers)
    expected = np.stack([lhs[rows].T @ rhs[rows] for rows in groups(SIZES)])
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_batches_have_groups_of_their_own():
    lhs, rhs = sample(2, 9, 5), sample(2, 3, 5, 4)
    sizes = np.stack([SIZES, [1, 1, 7]]).astype(np.int32)
    numbers = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1])
    out = np.asarray(lax.ragged_dot_general(lhs, rhs, sizes, numbers))
    for i in range(2):
        part = lax.ragged_dot(lhs[i], rhs[i], sizes[i])
        np.testing.assert_allclose(out[i], part, rtol=1e-4, atol=1e-5)
    numbers = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), [0], [])
    out = lax.ragged_dot_general(lhs, rhs[:, 0], np.array([1, 1], np.int32), numbers)
    np.testing.assert_allclose(out, lhs @ rhs[:, 0], rtol=1e-4, atol=1e-5)


def test_derivatives(check_derivatives):
    lhs, rhs = sample(9, 5), sample(3, 5, 2)
    check_derivatives(lambda x, y: lax.ragged_dot(x, y, SIZES), lhs, rhs)
    numbers = lax.RaggedDotDimensionNumbers((((1,), (2,)), ((0,), (1,))), [2], [3])
    x, y = sample(2, 3, 7), sample(4, 2, 3, 3)
    fn = lambda x, y: lax.ragged_dot_general(x, y, SIZES, numbers)  # noqa: E731
    check_derivatives(fn, x, y)


def test_mapping_equals_a_loop():
    import tans_batching as batching

    lhs, rhs = sample(2, 9, 5), sample(2, 3, 5, 4)
    out = batching.vmap(lambda x, y: lax.ragged_dot(x, y, SIZES))(lhs, rhs)
    each = [lax.ragged_dot(x, y, SIZES) for x, y in zip(lhs, rhs, strict=True)]
    np.testing.assert_allclose(out, np.stack(each), rtol=1e-4, atol=1e-5)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    fn = lambda x, y: lax.ragged_dot_general(x, y, SIZES, numbers)  # noqa: E731
    out = batching.vmap(fn, in_axes=(0, None))(lhs, lhs[0])
    each = [fn(x, lhs[0]) for x in lhs]
    np.testing.assert_allclose(out, np.stack(each), rtol=1e-4, atol=1e-5)


def test_accelerators_get_one_operation():
    traced = jit(lax.ragged_dot).trace(sample(9, 5), sample(3, 5, 2), SIZES)
    assert "chlo.ragged_dot" in traced.lower(lowering_platforms=("tpu",)).as_text()


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: lax.ragged_dot(sample(9, 5), sample(3, 6, 2), SIZES), TypeError, ["5", "6"]),
        (lambda: lax.ragged_dot(sample(9, 5), sample(2, 5, 2), SIZES), TypeError, ["3 group"]),
        (
            lambda: lax.ragged_dot(sample(9, 5), sample(3, 5, 2), SIZES.astype(np.float32)),
            TypeError,
            ["float32[3]"],
        ),
        (
            lambda: lax.ragged_dot(sample(9, 5), sample(3, 5, 2), SIZES, group_offset=SIZES[:1]),
            NotImplementedError,
            ["group_offset"],
        ),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)
