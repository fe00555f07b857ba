"""Plans of indices: what is compiled of an index, apart from the numbers in it.

Integers, starts of slices and index arrays are arguments of the compiled entry, so that x[3] and
x[4], or x[2:5] and x[3:6], are one program. Sizes and steps of slices are part of the plan, since
the shape of the result depends on them; so are slices up to an end of the array, which the size
places. An index of a form that is known is not parsed again.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from tans_core import ArrayImpl, dtypes
from tans_lax.slicing import Slice
from tans_numpy.indexing.entries import Entry, Parsed, Span, parse

type Value = Any  # an array or a tracer
type Form = tuple[Any, ...]
type Split = tuple["Plan", list[Value], bool]

# What stands in a plan for an integer or an array.
_ARGUMENT: Final = "argument"
_BOUNDS: Final = frozenset((int, type(None)))
FAR: Final = 1 << 31  # indices beyond are no operands of 32 bits


class Plan:
    """A canonical index without its numbers; there is one object for each.

    Attributes:
      entries: the entries, in which numbers are left out.
      new_dims, from_mask: as in `Parsed`.
    """

    __slots__ = ("entries", "from_mask", "new_dims")

    def __init__(self, entries: Form, new_dims: tuple[int, ...], from_mask: bool) -> None:
        self.entries = entries
        self.new_dims = new_dims
        self.from_mask = from_mask

    def parsed(self, numbers: Sequence[Value]) -> Parsed:
        """Return the canonical index with these numbers."""
        rest = iter(numbers)
        return Parsed([_with_number(e, rest) for e in self.entries], self.new_dims, self.from_mask)


_plan: Final = lru_cache(maxsize=4096)(Plan)


def split_index(index: Any, shape: tuple[int, ...], clamps: bool = False) -> Split:
    """Return the plan of an index for an array of this shape, and its numbers.

    The third result is whether the index takes all elements as they are. Where a mode says what
    becomes of integers out of bounds (`clamps`), near ones stand for those that no operand holds.

    Raises:
      OverflowError: there is such an integer, and no such mode.
      IndexError, NonConcreteBooleanIndexError, TypeError: as `parse`.
    """
    form: list[Any] = []
    values: list[Value] = []
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is int:
            form.append(int)
            values.append(item if -FAR <= item < FAR else _nearest(item, clamps))
        elif kind is slice:
            bounds = (type(item.start), type(item.stop), type(item.step))
            if not _BOUNDS.issuperset(bounds):
                return _split(parse(index, shape), shape, clamps)
            form.append(item)
        elif item is None or item is Ellipsis:
            form.append(item)
        elif kind is ArrayImpl and item.dtype.kind in "iu":
            form.append(item.shape)
            values.append(item)
        else:
            return _split(parse(index, shape), shape, clamps)
    found = _split_form(tuple(form), shape)
    if not values:
        return found
    plan, numbers, is_whole = found
    rest = iter(values)
    return plan, [next(rest) if n is None else n for n in numbers], is_whole


@lru_cache(maxsize=4096)
def _split_form(form: Form, shape: tuple[int, ...]) -> Split:
    """Split all indices of a form at once: None stands for the numbers that each one holds."""
    plan, numbers, is_whole = _split(parse(tuple(map(_stand_in, form)), shape), shape)
    held = [e is _ARGUMENT for e in plan.entries if _takes_number(e)]
    numbers = [None if h else n for h, n in zip(held, numbers, strict=True)]
    return plan, numbers, is_whole


def _stand_in(item: Any) -> Any:
    """Return an index that is parsed as those of its form are."""
    if item is int:
        return 0
    return np.broadcast_to(np.int32(0), item) if type(item) is tuple else item


def _split(parsed: Parsed, shape: Sequence[int], clamps: bool = False) -> Split:
    entries: list[Any] = []
    numbers: list[Value] = []
    is_whole = not parsed.new_dims
    dims = iter(parsed.expanded(shape))
    for entry in parsed.entries:
        if entry is Ellipsis:
            entries.append(entry)
            continue
        n = None if entry is None else next(dims)
        is_whole = is_whole and type(entry) is Span and entry.is_whole(n)
        planned, number = _without_number(entry, n, clamps)
        entries.append(planned)
        numbers += number
    return _plan(tuple(entries), parsed.new_dims, parsed.from_mask), numbers, is_whole


def _without_number(entry: Entry, dim: int | None, clamps: bool) -> tuple[Entry, list[Value]]:
    if entry is None:
        return None, []
    if type(entry) is Span:
        if entry.low == 0 or entry.low + entry.extent == dim:
            return entry, []
        return entry._replace(low=None), [entry.low]
    if type(entry) is Slice:
        return Slice(None, entry.size, entry.stride), [entry.start]
    return _ARGUMENT, [_nearest(entry, clamps) if type(entry) is int else entry]


def _nearest(index: int, clamps: bool) -> int:
    info = np.iinfo(dtypes.default_int())
    near = max(int(info.min), min(index, int(info.max)))
    if near == index or clamps:
        return near
    raise OverflowError(
        f"given the index {index}, expected {info.min} to {info.max}, the range of {info.dtype}. "
        "Indices of existing elements are in it; to say what becomes of others, pass a mode: "
        "x.at[i].get(mode='fill')."
    )


def _takes_number(entry: Entry) -> bool:
    if type(entry) is Span:
        return entry.low is None
    return entry is _ARGUMENT or type(entry) is Slice


def _with_number(entry: Entry, rest: Any) -> Entry:
    if not _takes_number(entry):
        return entry
    if type(entry) is Span:
        return entry._replace(low=next(rest))
    if type(entry) is Slice:
        return Slice(next(rest), entry.size, entry.stride)
    return next(rest)
