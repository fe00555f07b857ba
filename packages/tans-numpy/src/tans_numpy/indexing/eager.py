"""Indexing of concrete arrays: one compiled entry per index pattern.

A pattern is the index without its numbers: integers, starts of slices and index arrays are
arguments of the entry, so that x[3] and x[4], or x[2:5] and x[3:6], are one program. Sizes and
steps of slices are part of the pattern, since the shape of the result depends on them.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from tans_core import ArrayImpl, eval_trace
from tans_core.state import state
from tans_lax.slicing import Slice
from tans_numpy.indexing import recorded
from tans_numpy.indexing.entries import Entry, Parsed, Span, parse, span_of
from tans_numpy.indexing.get import DEFAULT, Options, get, get_parsed
from tans_numpy.indexing.strategies import with_known_windows
from tans_xla import jit

type Value = Any  # an array or a tracer
type Pattern = tuple[Any, ...]

# What stands in a pattern for an integer or an array.
ARGUMENT: Final = "argument"


def getitem(x: Value, index: Any) -> Value:
    """Index an array: the operator ``x[index]``.

    Args:
      x: array or tracer of any shape and dtype.
      index: ints, slices, `None`, ``...``, integer arrays, concrete boolean arrays, windows made by
        `ds`, or a tuple of these. Integers out of bounds are clamped; negative ones count from the
        end. A window moves to fit in the array, unless all of the index is known while tracing:
        then it is a slice.

    Returns:
      Array of the shape that NumPy's rules give.

    Raises:
      IndexError: too many indices, a mask of the wrong shape, traced slice bounds, or an integer
        index of an axis of size 0.
      NonConcreteBooleanIndexError: a traced mask.
      TypeError: an index of another type, such as a list.

    Example:
      >>> x = jnp.arange(6).reshape(2, 3)
      >>> x[1, ::-1].tolist()
      [5, 4, 3]
    """
    kind = type(index)
    if kind is tuple or kind is Slice:
        index = with_known_windows(index)
    if state.trace is not eval_trace or type(x) is not ArrayImpl:
        return _getitem_traced(x, index)
    if kind is int:
        return _element(x, index)
    if kind is slice and x.ndim:
        return _eager_span(x, index)
    if kind is ArrayImpl and index.dtype.kind != "b":
        return _at_array(x, index)
    return get_eager(x, parse(index, x.shape), DEFAULT)


def _getitem_traced(x: Value, index: Any) -> Value:
    key = recorded.key_of(index) if recorded.can_replay(x) else None
    if key is None:
        return get(x, index)
    pattern, arrays = key

    def index_array(x: Value, *arrays: Value) -> Value:
        return get(x, recorded.index_of(pattern, arrays))

    return recorded.call(("get", *pattern), index_array, [x, *arrays])


def is_eager(x: Value) -> bool:
    """Whether `x` is indexed by a compiled entry."""
    return state.trace is eval_trace and type(x) is ArrayImpl


def _index_array(x: Value, index: Value) -> Value:
    return get(x, (index,))


_element: Final = jit(_index_array)
_at_array: Final = _element


def _eager_span(x: Value, index: slice) -> Value:
    shape = x.shape
    span = span_of(index, shape[0])
    if span.is_whole(shape[0]):
        return x
    return _span_entry(span.size, span.step)(x, span.low)


@lru_cache(maxsize=4096)
def _span_entry(size: int, step: int) -> Callable[[Value, int], Value]:
    def slice_array(x: Value, low: Value) -> Value:
        rest = [Span(0, n, 1) for n in x.shape[1:]]
        return get_parsed(x, Parsed([Span(low, size, step), *rest]))

    return jit(slice_array)


def get_eager(x: Value, parsed: Parsed, options: Options) -> Value:
    """Index a concrete array by a canonical index."""
    pattern, numbers = split(parsed.entries, parsed.expanded(x.shape))
    if not numbers and not parsed.new_dims and _is_everything(pattern):
        return x
    entry = _get_entry(pattern, parsed.new_dims, parsed.from_mask, options)
    return entry(x, *numbers)


def _is_everything(pattern: Pattern) -> bool:
    return all(type(e) is Span or e is Ellipsis for e in pattern)


@lru_cache(maxsize=4096)
def _get_entry(
    pattern: Pattern, new_dims: tuple[int, ...], from_mask: bool, options: Options
) -> Callable[..., Value]:
    def index_array(x: Value, *numbers: Value) -> Value:
        return get_parsed(x, Parsed(join(pattern, numbers), new_dims, from_mask), options)

    return jit(index_array)


def split(entries: Sequence[Entry], shape: Sequence[int]) -> tuple[Pattern, list[Value]]:
    """Split a canonical index into its pattern and the numbers in it."""
    pattern: list[Any] = []
    numbers: list[Value] = []
    d = 0
    for entry in entries:
        if entry is None or entry is Ellipsis:
            pattern.append(entry)
            continue
        if type(entry) is Span:
            if entry.is_whole(shape[d]):
                pattern.append(entry)
            else:
                pattern.append(Span(None, entry.size, entry.step))
                numbers.append(entry.low)
        elif type(entry) is Slice:
            pattern.append(Slice(None, entry.size, entry.stride))
            numbers.append(entry.start)
        else:
            pattern.append(ARGUMENT)
            numbers.append(entry)
        d += 1
    return tuple(pattern), numbers


def join(pattern: Pattern, numbers: Sequence[Value]) -> list[Entry]:
    """Put numbers back into a pattern."""
    rest = iter(numbers)
    entries: list[Entry] = []
    for entry in pattern:
        if entry is ARGUMENT:
            entries.append(next(rest))
        elif type(entry) is Span and entry.low is None:
            entries.append(entry._replace(low=next(rest)))
        elif type(entry) is Slice:
            entries.append(Slice(next(rest), entry.size, entry.stride))
        else:
            entries.append(entry)
    return entries
