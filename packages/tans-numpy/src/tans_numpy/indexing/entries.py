"""An index in canonical form: one entry per dimension, plus marks for new dimensions.

Entries are

* `Span`: a slice; elements ``low, low + |step|, ...``, reversed when the step is negative;
* `tans_lax.slicing.Slice`: a window of static size at a start that may be traced (``ds``);
* an int, not yet wrapped or clamped;
* an integer array or tracer of any rank;
* `ONLY`: the only element of a dimension of size 1;
* None, a new dimension; ``...``, a mark that separates advanced indices and covers nothing.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core import Array, Tracer, errors, typeof
from tans_lax.slicing import Slice
from tans_lax.windows.padding import dilated_size
from tans_numpy.indexing.arguments import widened
from tans_xla.sizes import Size, has_symbolic, is_symbolic, max_size, min_size

type Value = Any  # an array or a tracer
type Entry = Any  # see the module's docstring


class _Only:
    """Class of `ONLY`."""

    def __repr__(self) -> str:
        return "ONLY"


ONLY: Final = _Only()
_BOUNDS: Final = (int, type(None))
_LONGEST_STEP: Final = (1 << 63) - 1  # that a program holds
_REMEDY: Final = "Use ints, slices, None, ..., and integer or boolean arrays."


class Span(NamedTuple):
    """The elements of a slice.

    Attributes:
      low: lowest index; a tracer in compiled eager indexing, where it is known to be in bounds.
      size: number of elements.
      step: distance between elements, negative when they are taken backwards.
    """

    low: Any
    size: Size
    step: int

    @property
    def extent(self) -> Size:
        """Distance from the lowest to the highest element, plus one."""
        return dilated_size(self.size, abs(self.step))

    @property
    def is_static(self) -> bool:
        """Whether the lowest index is no value of the program."""
        return type(self.low) is int or is_symbolic(self.low)

    def is_whole(self, dim: Size) -> bool:
        """Whether these are all elements of a dimension, in order."""
        return self.size == dim and self.step == 1


class Parsed(NamedTuple):
    """A canonical index.

    Attributes:
      entries: the entries, in order.
      new_dims: dimensions of size 1 to insert in the indexed array first (boolean scalars).
      from_mask: whether the only index array is that of one boolean mask: sorted and unique.
    """

    entries: list[Entry]
    new_dims: tuple[int, ...] = ()
    from_mask: bool = False

    def expanded(self, shape: Sequence[int]) -> list[int]:
        """Return the shape of the indexed array with the new dimensions."""
        full = list(shape)
        for d in self.new_dims:
            full.insert(d, 1)
        return full


def span_of(index: slice, dim: Size) -> Span:
    """Return the elements of a dimension of size `dim` that a slice selects."""
    start, stop, step = index.start, index.stop, index.step
    if has_symbolic((dim, start, stop)):
        return _symbolic_span(index, dim)
    if not (type(start) in _BOUNDS and type(stop) in _BOUNDS and type(step) in _BOUNDS):
        start, stop, step = (_static_bound(index, b) for b in (start, stop, step))
        index = slice(start, stop, step)
    start, stop, step = index.indices(dim)
    size = len(range(start, stop, step))
    if not size:
        return Span(0, 0, 1)
    if size == 1 and abs(step) > _LONGEST_STEP:
        return Span(start, 1, 1)
    return Span(start if step > 0 else start + (size - 1) * step, size, step)


def _symbolic_span(index: slice, dim: Size) -> Span:
    """Return the span of a slice where a bound or the size is symbolic."""
    start, stop, step = (_static_bound(index, b) for b in (index.start, index.stop, index.step))
    step = 1 if step is None else step
    if is_symbolic(step) or step == 0:
        raise ValueError(
            f"given the slice {index}, expected a step that is an int other than 0. Leave it out "
            "for 1."
        )
    if step > 0:
        start = 0 if start is None else _moved_inside(start, dim, 0, dim)
        stop = dim if stop is None else _moved_inside(stop, dim, 0, dim)
        return Span(start, max_size((stop - start + step - 1) // step, 0), step)
    start = dim - 1 if start is None else _moved_inside(start, dim, -1, dim - 1)
    stop = -1 if stop is None else _moved_inside(stop, dim, -1, dim - 1)
    span = Span(0, max_size((start - stop - step - 1) // -step, 0), step)
    return span._replace(low=min_size(start + (span.size - 1) * step, dim - span.extent))


def _moved_inside(bound: Size, dim: Size, low: Size, high: Size) -> Size:
    """Return a bound, counted from the end where it is negative, between two others."""
    return min_size(max_size(bound + dim if bound < 0 else bound, low), high)


def _static_bound(index: slice, bound: Any) -> Any:
    if bound is None or is_symbolic(bound):
        return bound
    value = bound.concrete() if isinstance(bound, Tracer) else bound
    if value is None:
        raise IndexError(
            f"given the slice {index}, expected bounds that are known while tracing: the size of "
            "the result depends on them. For a window of fixed size at a traced start, write "
            "x[jax.ds(start, size)] or use lax.dynamic_slice."
        )
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"given slice bound {bound!r} of type {type(bound).__name__}, expected an int or None. "
            "Convert it with int()."
        ) from None


def parse(index: Any, shape: Sequence[int]) -> Parsed:
    """Bring an index for an array of this shape into canonical form.

    Raises:
      IndexError: too many indices, two ellipses, a mask of the wrong shape, a traced slice bound,
        or an integer index of a dimension of size 0.
      NonConcreteBooleanIndexError: a traced mask.
      TypeError: an index of a wrong type.
    """
    given = index if type(index) is tuple else (_not_sequence(index),)
    items = [item if type(item) in _PLAIN else _item(item) for item in given]
    consumed = sum(map(_dims_of, items))
    if consumed > len(shape):
        raise IndexError(
            f"given {consumed} indices for an array with {len(shape)} dimensions, of shape "
            f"{tuple(shape)}; expected at most {len(shape)}. Remove indices, or add dimensions."
        )
    ellipses = sum(item is Ellipsis for item in items)
    if ellipses > 1:
        raise IndexError(
            f"given {ellipses} ellipses ('...'), expected at most one. Write ':' for the "
            "dimensions of the others."
        )
    rest = len(shape) - consumed
    if not ellipses:
        items.append(Ellipsis)
    entries: list[Entry] = []
    new_dims: list[int] = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            spans = [Span(0, n, 1) for n in shape[axis : axis + rest]]
            entries += spans or ([Ellipsis] if ellipses else [])
            axis += rest
        elif item is None:
            entries.append(None)
        elif type(item) is slice:
            entries.append(span_of(item, shape[axis]))
            axis += 1
        elif isinstance(item, bool):
            # A boolean scalar is a mask over no dimensions: an index into a new one of size 1.
            entries.append(np.zeros(int(item), np.int32))
            new_dims.append(axis + len(new_dims))
        elif isinstance(item, np.ndarray) and item.dtype == np.bool_:
            entries += _mask_indices(item, shape, axis)
            axis += item.ndim
        else:
            entries.append(_checked(item, shape, axis))
            axis += 1
    masks = sum(isinstance(i, np.ndarray) and i.dtype == np.bool_ for i in items)
    arrays = sum(not isinstance(i, int) and hasattr(i, "shape") for i in items)
    return Parsed(entries, tuple(new_dims), masks == 1 and arrays == 1 and not new_dims)


_PLAIN: Final = frozenset((int, slice, type(None), type(Ellipsis), bool, Slice))


def _not_sequence(index: Any) -> Any:
    if isinstance(index, Sequence) and not isinstance(index, tuple | str | bytes):
        raise TypeError(
            f"given a {type(index).__name__} as index, expected an array or a tuple: lists as "
            "indices are ambiguous and slow. Write x[jnp.array(index)] for elements, "
            "x[tuple(index)] for one index per dimension."
        )
    return index


def _item(item: Any) -> Any:
    """Return an int, bool, slice, None, Ellipsis, Slice or an array of an index dtype."""
    if isinstance(item, slice):
        return item
    if isinstance(item, bool | np.bool_):
        return bool(item)
    if isinstance(item, int | np.integer):
        return int(item)
    if isinstance(item, list | tuple | range):
        item = np.asarray(item)
        item = item.astype(np.int32) if not item.size else item
    elif hasattr(item, "__jax_array__"):
        item = item.__jax_array__()
    if not isinstance(item, Array | np.ndarray):
        return _scalar_item(item)
    if hasattr(item, "filled"):
        typeof(item)  # refuses masked arrays
    item = widened(item)
    kind = item.dtype.kind if isinstance(item.dtype, np.dtype) else "V"
    if kind == "b":
        return _concrete_mask(item)
    if kind not in "iu":
        raise TypeError(
            f"given an index array of dtype {item.dtype}, expected integers or booleans. Convert "
            "it with astype(int)."
        )
    return int(item) if isinstance(item, np.ndarray) and not item.ndim else item


def _scalar_item(item: Any) -> int:
    if isinstance(item, float | complex | str | bytes | np.generic):
        raise TypeError(
            f"given index {item!r} of type {type(item).__name__}, expected an integer or boolean "
            f"type. {_REMEDY}"
        )
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(
            f"given index {item!r} of type {type(item).__name__}, expected another kind. {_REMEDY}"
        ) from None


def _concrete_mask(mask: Value) -> np.ndarray | bool:
    value = mask.concrete() if isinstance(mask, Tracer) else mask
    if value is None:
        raise errors.NonConcreteBooleanIndexError(mask)
    value = np.asarray(value)
    return value if value.ndim else bool(value)


def _dims_of(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, np.ndarray) and item.dtype == np.bool_:
        return item.ndim
    return 1


def _mask_indices(mask: np.ndarray, shape: Sequence[int], axis: int) -> list[np.ndarray]:
    for d, (n, dim) in enumerate(zip(mask.shape, shape[axis:], strict=False)):
        if n != dim:
            raise IndexError(
                f"given a boolean mask of shape {mask.shape}, expected size {dim} in its dimension "
                f"{d}: that of dimension {axis + d} of the array of shape {tuple(shape)}. Make the "
                "mask from the array itself, as in x > 0."
            )
    return [i.astype(np.int32) for i in np.nonzero(mask)]


def _checked(item: Entry, shape: Sequence[int], axis: int) -> Entry:
    if shape[axis] or isinstance(item, Slice | Tracer) or getattr(item, "ndim", 0):
        return item  # whether arrays may index an empty axis, those who read or write know
    raise empty_axis_error(shape, axis)


def empty_axis_error(shape: Sequence[int], axis: int) -> IndexError:
    """Return the error for an integer index of an axis without elements."""
    return IndexError(
        f"given an index for axis {axis} of an array of shape {tuple(shape)}, expected none: the "
        "axis has size 0. Take a slice, or check the size first."
    )
