"""Batching of random bits."""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import AxisData, Primitive, typeof
from tans_core.dtypes import is_inexact
from tans_lax.random_bits import rng_bit_generator_p, rng_uniform_p, threefry2x32_p
from tans_lax.rows import align_batch, batch_to_front

type Value = Any


def _threefry_batch(
    axis: AxisData, args: tuple[Value, ...], dims: tuple[int | None, ...]
) -> tuple[list[Value], list[int]]:
    aligned, dim = align_batch(axis, args, dims)
    return threefry2x32_p.bind(*aligned), [dim, dim]


def _rng_bit_generator_batch(
    axis: AxisData, args: tuple[Value], dims: tuple[int], *, shape: tuple[int, ...], **params: Any
) -> tuple[list[Value], list[int]]:
    # One draw with the first key serves the whole batch: the backend's generator takes one state.
    # A batch of keys is therefore not the same as one draw for each key, on purpose (as in JAX).
    keys = batch_to_front(axis, args[0], dims[0])
    words = typeof(keys).shape[1]
    first = lax.squeeze(lax.slice(keys, (0, 0), (1, words)), (0,))
    state, bits = rng_bit_generator_p.bind(first, shape=(axis.size, *shape), **params)
    state = lax.broadcast_in_dim(state, (1, words), (1,))
    rest = lax.slice(keys, (1, 0), (axis.size, words))
    return [lax.concatenate((state, rest), 0), bits], [0, 0]


def _rng_uniform_batch(
    axis: AxisData,
    args: tuple[Value, Value],
    dims: tuple[int | None, int | None],
    *,
    shape: tuple[int, ...],
) -> tuple[Value, int]:
    a, b = (batch_to_front(axis, x, d) for x, d in zip(args, dims, strict=True))
    full = (axis.size, *shape)
    dtype = typeof(a).dtype
    if not is_inexact(dtype):
        raise NotImplementedError(
            f"rng_uniform: given bounds of dtype {dtype} that vary along a vmapped axis, expected "
            "floats. Use tans.random.randint, or bounds that are the same for all."
        )
    zero, one = (lax.convert_element_type(x, dtype) for x in (0, 1))
    unit = rng_uniform_p.bind(zero, one, shape=full)
    low, high = (lax.broadcast_in_dim(x, full, (0,)) for x in (a, b))
    return lax.add(low, lax.mul(unit, lax.sub(high, low))), 0


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    threefry2x32_p: _threefry_batch,
    rng_bit_generator_p: _rng_bit_generator_batch,
    rng_uniform_p: _rng_uniform_batch,
}
