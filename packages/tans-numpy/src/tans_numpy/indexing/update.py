"""Writing: from an index and a method of ``x.at[...]`` to an update of a window or a scatter.

Static indices and windows that are known to be in bounds are read, combined and put back with one
dynamic update; where integers may be out of bounds or repeat, a scatter decides.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_lax.gather_scatter import ScatterDimensionNumbers
from tans_lax.slicing import Slice
from tans_numpy.indexing.entries import Entry, Parsed, parse
from tans_numpy.indexing.get import FILL, Options, check_empty_axes, has_empty_axis
from tans_numpy.indexing.layout import (
    Layout,
    all_inside,
    in_program,
    index_vectors,
    is_array_entry,
    make_layout,
)
from tans_numpy.indexing.window import (
    Window,
    arrange_update,
    make_window,
    starts_of,
    take_kept,
    wraps_of,
)

type Value = Any  # an array, a Python scalar or a tracer
type Shape = tuple[int, ...]

# Method to the function of (old, new) in tans_lax that it applies where an element is written once.
_COMBINE: Final = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "min": "min",
    "max": "max",
}
# Method to the function in tans_lax that also combines repeated writes.
_SCATTER: Final = {
    "set": "scatter",
    "add": "scatter_add",
    "subtract": "scatter_sub",
    "multiply": "scatter_mul",
    "min": "scatter_min",
    "max": "scatter_max",
}


def _combine(method: str, old: Value, new: Value) -> Value:
    return jnp.power(old, new) if method == "power" else getattr(lax, _COMBINE[method])(old, new)


def update(x: Value, index: Any, method: str, values: Value, options: Options) -> Value:
    """Return `x` with `values` combined into the indexed places, under the current trace.

    Args:
      x: array or tracer of any shape; already of the dtype to compute in.
      index: NumPy index.
      method: name of the method of ``x.at[...]``.
      values: array or scalar of the dtype of `x` that broadcasts to the indexed shape.
      options: keywords of the method.
    """
    return update_parsed(x, parse(index, x.shape), method, values, options)


def update_parsed(x: Value, parsed: Parsed, method: str, values: Value, options: Options) -> Value:
    """Update by a canonical index."""
    if not parsed.new_dims:
        return _update(x, parsed, method, values, options)
    x = lax.expand_dims(x, parsed.new_dims)
    return lax.squeeze(_update(x, parsed, method, values, options), parsed.new_dims)


def _update(x: Value, parsed: Parsed, method: str, values: Value, options: Options) -> Value:
    entries, shape = parsed.entries, x.shape
    if has_empty_axis(entries, shape):
        if not _has_only_vectors(entries, shape):
            check_empty_axes(entries, shape)
        _broadcast(values, make_layout(shape, entries).full_shape)
        return x
    inside = all_inside(entries, shape, options.wrap) if options.mode is FILL else True
    if inside is None:
        entries = in_program(entries)
    elif not inside:
        _broadcast(values, make_layout(shape, entries).full_shape)
        return x
    if _is_one_window(entries, options):
        return _update_window(x, entries, method, values, options)
    if parsed.from_mask or not any(is_array_entry(e) and np.ndim(e) for e in entries):
        options = options._replace(indices_are_sorted=True, unique_indices=True)
    if method in ("divide", "power"):
        # Repeated writes combine by multiplication of the divisors, or of the exponents.
        factors = lax.full_like(x, 1)
        factors = _scatter(factors, entries, "multiply", values, options)
        return _combine(method, x, factors)
    return _scatter(x, entries, method, values, options)


def _has_only_vectors(entries: Sequence[Entry], shape: Shape) -> bool:
    """Whether axes without elements are indexed by arrays, all of whose places are outside."""
    covering = [e for e in entries if e is not None and e is not Ellipsis]
    at_empty = [e for e, n in zip(covering, shape, strict=True) if n == 0 and is_array_entry(e)]
    return all(type(e) is not int and np.ndim(e) for e in at_empty)


def _is_one_window(entries: Sequence[Entry], options: Options) -> bool:
    """Whether the index is a window that is in bounds, or is moved or promised to be."""
    dynamic = options.mode is not FILL
    for e in entries:
        if type(e) is Slice:
            if not dynamic or e.stride != 1:
                return False
        elif is_array_entry(e) and type(e) is not int and (not dynamic or e.shape):
            return False
    return True


def _broadcast(values: Value, shape: Shape) -> Value:
    """Broadcast values to the indexed shape.

    Raises:
      ValueError: they don't fit.
    """
    given = typeof(values).shape
    if given == shape:
        return values
    if len(given) > len(shape) or any(
        n not in (1, m) for n, m in zip(reversed(given), reversed(shape), strict=False)
    ):
        raise ValueError(
            f"x.at[...]: given values of shape {given}, expected a shape that broadcasts to the "
            f"indexed shape {shape}. Remove or reshape dimensions of the values."
        )
    kept = [d for d, n in enumerate(given, len(shape) - len(given)) if n == shape[d]]
    if len(kept) != len(given):
        values = lax.reshape(values, [shape[d] for d in kept])
    return lax.broadcast_in_dim(values, shape, kept)


def _update_window(
    x: Value, entries: Sequence[Entry], method: str, values: Value, options: Options
) -> Value:
    window = make_window(x.shape, entries, options.wrap)
    is_scalar = not typeof(values).shape
    if not is_scalar:
        values = arrange_update(_broadcast(values, window.shape), window)
    if window.strides is not None and is_scalar:
        old = take_kept(x, entries, window, options.wrap, strided=False)
        values = _update_where(_written(window), method, old, values)
    else:
        if method != "set":
            old = take_kept(x, entries, window, options.wrap)
            values = _combine(method, old, values)
        elif is_scalar:
            values = lax.broadcast_in_dim(values, window.kept, (), out_sharding=_lies(x, window))
        if window.strides is not None:
            old = take_kept(x, entries, window, options.wrap, strided=False)
            values = lax.pad(values, typeof(x).dtype.type(0), _gaps(window))
            values = lax.select(_written(window), values, old)
    if window.covers(x.shape):
        return values
    starts, wraps = starts_of(entries, window), wraps_of(entries, options.wrap)
    return lax.dynamic_update_slice(x, values, starts, allow_negative_indices=wraps)


def _lies(x: Value, window: Window) -> Any:
    """Return the sharding of what is written to a window of `x`, or None."""
    aval = typeof(x)
    if not aval.is_sharded or all(n == 1 for n in window.kept):
        return None
    return aval.sharding


def _gaps(window: Window) -> list[tuple[int, int, int]]:
    assert window.strides is not None
    return [(0, 0, stride - 1) for stride in window.strides]


def _written(window: Window) -> Value:
    """Return which elements within the window its strides reach."""
    return lax.pad(lax.full(window.kept, True, np.dtype(bool)), np.False_, _gaps(window))


def _update_where(mask: Value, method: str, old: Value, value: Value) -> Value:
    """Update where a mask of the array's shape is true, with a scalar.

    Factors and exponents are 1 elsewhere, rather than results discarded there: a select between
    results would turn an infinite derivative elsewhere into nan.
    """
    shape = typeof(old).shape
    if method in ("multiply", "divide", "power"):
        one = lax.full(shape, 1, typeof(old).dtype)
        value = lax.select(mask, lax.broadcast_in_dim(value, shape, ()), one)
        return _combine(method, old, value)
    new = value if method == "set" else _combine(method, old, value)
    return lax.select(mask, _broadcast(new, shape), old)


def _scatter(
    x: Value, entries: Sequence[Entry], method: str, values: Value, options: Options
) -> Value:
    entries = [_without_stride(e) for e in entries]
    layout = make_layout(x.shape, entries)
    return getattr(lax, _SCATTER[method])(
        x,
        index_vectors(layout, x.shape, options.wrap),
        _updates(values, layout),
        _scatter_numbers(layout),
        indices_are_sorted=options.indices_are_sorted,
        unique_indices=options.unique_indices,
        mode=options.mode,
    )


def _scatter_numbers(layout: Layout) -> ScatterDimensionNumbers:
    return ScatterDimensionNumbers(
        update_window_dims=layout.window_dims,
        inserted_window_dims=layout.collapsed,
        scatter_dims_to_operand_dims=layout.mapped,
    )


def _updates(values: Value, layout: Layout) -> Value:
    if not typeof(values).shape:
        return _broadcast(values, layout.shape)
    values = _broadcast(values, layout.full_shape)
    if layout.added:
        values = lax.reshape(values, layout.shape)
    return lax.rev(values, layout.reversed_dims) if layout.reversed_dims else values


def _without_stride(entry: Entry) -> Entry:
    if type(entry) is not Slice or entry.stride == 1:
        return entry
    steps = np.arange(entry.size, dtype=np.int32) * np.int32(entry.stride)
    return lax.add(lax.convert_element_type(entry.start, np.dtype(np.int32)), steps)


# ---- special cases ----------------------------------------------------------------------------


def update_masked(x: Value, mask: Value, method: str, value: Value) -> Value:
    """Update where a mask over leading dimensions is true, with a scalar: a select, no scatter."""
    if typeof(mask).ndim < x.ndim:
        mask = lax.broadcast_in_dim(mask, x.shape, range(typeof(mask).ndim))
    return _update_where(mask, method, x, value)


def is_unrepeated(parsed: Parsed, options: Options) -> bool:
    """Whether no place is named twice, as far as the index or the caller tells."""
    if options.unique_indices or parsed.from_mask:
        return True
    return not any(is_array_entry(e) and np.ndim(e) for e in parsed.entries)


def apply_repeated(
    x: Value, parsed: Parsed, func: Callable[[Value], Value], options: Options
) -> Value:
    """Apply a function to the elements at the places, once for each time a place is named."""
    if parsed.new_dims:
        x = lax.expand_dims(x, parsed.new_dims)
    layout = make_layout(x.shape, [_without_stride(e) for e in parsed.entries])
    out = lax.scatter_apply(
        x,
        index_vectors(layout, x.shape, options.wrap),
        func,
        _scatter_numbers(layout),
        update_shape=layout.shape,
        indices_are_sorted=options.indices_are_sorted,
        unique_indices=options.unique_indices,
        mode=options.mode,
    )
    return lax.squeeze(out, parsed.new_dims) if parsed.new_dims else out
