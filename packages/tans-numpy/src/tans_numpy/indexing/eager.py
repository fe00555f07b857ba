"""Indexing of concrete arrays: one compiled entry per plan of an index."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from tans_core import ArrayImpl, eval_trace
from tans_core.state import state
from tans_lax.slicing import Slice
from tans_numpy.indexing import recorded
from tans_numpy.indexing.get import DEFAULT, PROMISE, Options, get, get_parsed
from tans_numpy.indexing.plans import FAR, Plan, split_index
from tans_numpy.indexing.strategies import with_known_windows
from tans_xla import jit

type Value = Any  # an array or a tracer


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
    if kind is Slice or (kind is tuple and Slice in map(type, index)):
        index = with_known_windows(index)
    if state.trace is not eval_trace or type(x) is not ArrayImpl:
        return _getitem_traced(x, index)
    near = kind is int and -FAR <= index < FAR
    if near or (kind is ArrayImpl and index.dtype.kind != "b"):
        return _element(x, index)
    plan, numbers, is_whole = split_index(index, x.shape)
    return x if is_whole else _reader(plan, DEFAULT)(x, *numbers)


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


def get_eager(x: Value, index: Any, options: Options) -> Value:
    """Index a concrete array."""
    plan, numbers, is_whole = split_index(index, x.shape, clamps=options.mode is not PROMISE)
    return x if is_whole else _reader(plan, options)(x, *numbers)


@lru_cache(maxsize=4096)
def _reader(plan: Plan, options: Options) -> Callable[..., Value]:
    def index_array(x: Value, *numbers: Value) -> Value:
        return get_parsed(x, plan.parsed(numbers), options)

    return jit(index_array)
