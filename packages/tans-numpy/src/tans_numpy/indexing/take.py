"""`take` and `put`: elements of an axis, or of the flattened array."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Array, typeof
from tans_lax.gather_scatter import (
    GatherScatterMode,
)
from tans_lax.slicing.start_indices import wrap_negative
from tans_numpy.indexing import recorded
from tans_numpy.indexing.arguments import (
    as_jax,
    canonical_axis,
    check_arrays,
    check_not_inplace,
    fill_scalar,
    widened,
)
from tans_numpy.indexing.at import _IndexUpdateHelper
from tans_numpy.indexing.entries import Parsed, Span
from tans_numpy.indexing.get import FILL, Options, get_parsed
from tans_numpy.indexing.mapped import is_mapped_over_nothing
from tans_xla import composite

type Value = Any  # an array, a Python scalar or a tracer

_TAKE_MODES: Final = (None, "fill", "clip", "wrap")


@composite(
    static_argnames=("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value")
)
def take(
    a: Value,
    indices: Value,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Take elements of an array along an axis.

    Args:
      a: array of any shape.
      indices: integers of any shape.
      axis: the axis; None takes from the flattened array.
      out: must be None.
      mode: what happens out of bounds: None or ``'fill'`` fills (negative indices count from the
        end first), ``'clip'`` takes the nearest element, ``'wrap'`` counts modulo the size.
      unique_indices: promise that no element is taken twice.
      indices_are_sorted: promise that the indices ascend.
      fill_value: scalar to fill with; None is nan, the lowest signed or the highest unsigned
        integer, or True.

    Returns:
      Array of the shape of `a` with `axis` replaced by the shape of `indices`.

    Raises:
      IndexError: elements are taken from an axis of size 0.
      NotImplementedError: `out` is given, or the mode is ``'raise'``.
      TypeError: `a` or `indices` is a list.
      ValueError: unknown mode, axis out of range, or indices that are not integers.

    Example:
      >>> jnp.take(jnp.arange(3) * 10, jnp.array([2, 0])).tolist()
      [20, 0]
    """
    if out is not None:
        raise NotImplementedError(
            "take: given an array as out, expected None: arrays are immutable. Use the result."
        )
    check_arrays("take", a, indices)
    if mode == "raise":
        raise NotImplementedError(
            "take: given mode 'raise', expected one of 'fill', 'clip', 'wrap': compiled programs "
            "can't raise. Check the indices first, or use mode='fill'."
        )
    if mode not in _TAKE_MODES:
        raise ValueError(
            f"take: given mode {mode!r}, expected one of 'fill', 'clip', 'wrap'. Leave it out to "
            "fill."
        )
    indices = widened(indices)
    kind = np.dtype(typeof(indices).dtype).kind
    if kind not in "iub":
        raise ValueError(
            f"take: given indices of type {typeof(indices).str_short()}, expected integers. "
            "Convert them with astype(int)."
        )
    shape = typeof(a).shape
    if axis is None:
        axis, shape = 0, (typeof(a).size,)
    axis = canonical_axis("take", axis, len(shape))
    if not shape[axis] and typeof(indices).size and not is_mapped_over_nothing(indices):
        raise IndexError(
            f"take: given {typeof(indices).size} indices for an axis of size 0, expected none. "
            "Check the size first."
        )
    static = (shape, axis, mode, unique_indices, indices_are_sorted, fill_scalar(fill_value))
    if recorded.can_replay(a, indices):
        key = ("take", *static)
        return recorded.call(key, lambda a, i: _taken(a, i, *static), [a, indices])
    return _taken(a, indices, *static)


def _taken(
    a: Value,
    indices: Value,
    shape: tuple[int, ...],
    axis: int,
    mode: str | None,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Value:
    aval = typeof(indices)
    if aval.dtype == np.bool_:
        indices = lax.convert_element_type(indices, np.dtype(np.int32))
    if typeof(a).shape != shape:
        a = lax.reshape(a, shape)
    if mode == "wrap":
        indices = _modulo(indices, shape[axis])
    how = FILL if mode in (None, "fill") else GatherScatterMode.CLIP
    options = Options(how, fill_value, indices_are_sorted, unique_indices, how is FILL)
    entries = [Span(0, n, 1) for n in shape]
    entries[axis] = indices
    return get_parsed(_as_array(a), Parsed(entries), options)


def _as_array(a: Value) -> Value:
    return a if isinstance(a, Array) else np.asarray(a)


def _modulo(indices: Value, size: int) -> Value:
    """Return indices modulo the size, which is not 0 unless there are no indices."""
    aval = typeof(indices)
    n = lax.full_like(indices, max(size, 1))
    indices = lax.rem(indices, n)
    return indices if aval.dtype.kind == "u" else wrap_negative(indices, size, aval.dtype)


def put(a: Value, ind: Value, v: Value, mode: str | None = None, *, inplace: bool = True) -> Array:
    """Write elements of the flattened array.

    Args:
      a: array of any shape.
      ind: integers of any shape: places in the flattened array.
      v: values of any shape; repeated or cut to the number of places.
      mode: what happens out of bounds: None or ``'clip'`` writes to the nearest element, ``'wrap'``
        counts modulo the size.
      inplace: must be False: arrays are immutable.

    Returns:
      A new array of the shape of `a`.

    Raises:
      NotImplementedError: the mode is ``'raise'``.
      TypeError: a list is given, or indices that are not integers.
      ValueError: `inplace` is true, or unknown mode.

    Example:
      >>> jnp.put(jnp.zeros(3), jnp.array([0, 2]), 1.0, inplace=False).tolist()
      [1.0, 0.0, 1.0]
    """
    check_not_inplace("put", inplace)
    check_arrays("put", a, ind, v)
    if mode == "raise":
        raise NotImplementedError(
            "put: given mode 'raise', expected 'clip' or 'wrap': compiled programs can't raise. "
            "Check the indices first."
        )
    if mode not in (None, "clip", "wrap"):
        raise ValueError(
            f"put: given mode {mode!r}, expected 'clip' or 'wrap'. Leave it out to clip."
        )
    a = as_jax(a)
    count, given = typeof(ind).size, typeof(v).size
    if not given or not count:
        return a
    ind = lax.reshape(ind, (count,)) if typeof(ind).shape != (count,) else as_jax(ind)
    if given > 1:
        v = lax.reshape(v, (given,))
        v = _IndexUpdateHelper(v)[np.arange(count, dtype=np.int32) % given].get()
    elif typeof(v).shape:
        v = lax.reshape(v, ())
    if mode == "wrap":
        ind = _modulo(ind, typeof(a).size)
    flat = lax.reshape(a, (typeof(a).size,))
    clip = mode == "clip"
    out = _IndexUpdateHelper(flat)[ind].set(v, mode="clip", wrap_negative_indices=not clip)
    return lax.reshape(out, typeof(a).shape)
