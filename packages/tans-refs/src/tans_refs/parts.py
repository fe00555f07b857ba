"""Types of parts of a ref: what a chain of transforms selects."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core.dtypes import itemsize_bits
from tans_core.hi_types import is_hi_type
from tans_core.refs import Bitcast, Index, Pick, Reshape, Transform, Transforms, Transpose

type Shape = tuple[int, ...]


def split_leaves(transforms: Transforms, leaves: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the dynamic indices of each transform of a chain."""
    parts: list[Sequence[Any]] = []
    first = 0
    for t in transforms:
        count = t.num_dynamic if isinstance(t, Index) else 0
        parts.append(leaves[first : first + count])
        first += count
    return parts


def part_type(aval: Any, transforms: Transforms, index_avals: Sequence[Any]) -> Any:
    """Return the type of what a chain of transforms selects of a value of type `aval`.

    Raises:
      ValueError: a transform does not fit.
    """
    if transforms and is_hi_type(aval):
        raise TypeError(
            f"given a part of a ref to a value of type {aval.str_short()}, expected the whole: "
            "values of user types have no parts here. Write ref[...]."
        )
    for t, own in zip(transforms, split_leaves(transforms, index_avals), strict=True):
        aval = _step(aval, t, own)
    return aval


def _step(aval: Any, t: Transform, index_avals: Sequence[Any]) -> Any:
    if isinstance(t, Index):
        return _indexed(aval, t, index_avals)
    if isinstance(t, Reshape):
        if math.prod(t.shape) != aval.size:
            raise ValueError(
                f"reshape: given the shape {t.shape} for a ref of type {aval.str_short()}; "
                f"expected a shape with {aval.size} elements. Choose sizes with that product."
            )
        return aval.update(shape=t.shape)
    if isinstance(t, Transpose):
        if sorted(t.permutation) != list(range(aval.ndim)):
            raise ValueError(
                f"transpose: given the permutation {t.permutation} for a ref of type "
                f"{aval.str_short()}; expected each of 0 to {aval.ndim - 1} once."
            )
        return aval.update(shape=tuple(aval.shape[d] for d in t.permutation))
    assert isinstance(t, Bitcast)
    if itemsize_bits(t.dtype) != itemsize_bits(aval.dtype):
        raise ValueError(
            f"bitcast: given the dtype {t.dtype} for a ref of type {aval.str_short()}; expected a "
            "dtype of the same width. Read the value and use lax.bitcast_convert_type."
        )
    return aval.update(dtype=t.dtype)


def pick_shape(index: Index, index_avals: Sequence[Any]) -> Shape:
    """Return the common shape of the integers of an index."""
    found = iter(index_avals)
    shapes: list[Shape] = []
    for e in index.entries:
        aval = next(found) if e[0] is None else None
        if isinstance(e, Pick):
            shapes.append(() if aval is None else aval.shape)
        elif aval is not None and aval.shape:
            raise ValueError(
                f"a slice of a ref was given a start of type {aval.str_short()}; expected a "
                "scalar. Use an array of indices instead of a slice."
            )
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"index of a ref: given arrays of indices of shapes {', '.join(map(str, shapes))}; "
            "expected shapes that broadcast together. Reshape them, such as i[:, None] and j."
        ) from None


def pick_position(index: Index) -> int | None:
    """Return where the dimensions of the integers stand among those of the spans.

    NumPy's rule: together, they stand where the first was; apart, they come first. None stands for
    an index without integers.
    """
    at = [d for d, e in enumerate(index.entries) if isinstance(e, Pick)]
    if not at:
        return None
    together = at[-1] - at[0] + 1 == len(at)
    return at[0] if together else 0


def _indexed(aval: Any, index: Index, index_avals: Sequence[Any]) -> Any:
    if len(index.entries) != aval.ndim:
        raise ValueError(
            f"given an index of {len(index.entries)} entries for a ref of type "
            f"{aval.str_short()}; expected one entry per dimension."
        )
    position = pick_position(index)
    spans = [e.size for e in index.entries if not isinstance(e, Pick)]
    if position is None:
        sharding = aval.sharding if getattr(aval, "is_sharded", False) else None
        return aval.update(shape=tuple(spans), sharding=sharding)
    if getattr(aval, "is_sharded", False):
        raise TypeError(
            f"given an integer as an index of a ref of type {aval.str_short()}, which is sharded; "
            "expected slices. Write r[i:i+1], or read the whole value and index that."
        )
    picked = pick_shape(index, index_avals)
    return aval.update(shape=(*spans[:position], *picked, *spans[position:]))
