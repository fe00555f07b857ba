"""`pad`: elements added around an array, constant or made from those inside."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.creation import asarray
from tans_numpy.indexing import take
from tans_numpy.joining import concatenate
from tans_numpy.mapping import apply_along_axis
from tans_numpy.operands import ArrayLike, check_arraylike, scalar_of, weak_as
from tans_numpy.quantiles import median
from tans_numpy.ranges import linspace
from tans_numpy.rearrangement import concrete_ints
from tans_numpy.reductions import max as max_
from tans_numpy.reductions import mean as mean_
from tans_numpy.reductions import min as min_
from tans_numpy.refusals import check_numbers
from tans_numpy.rounding import round as round_
from tans_xla import composite
from tans_xla.sizes import Size, as_size, is_symbolic, min_size

type Array = Any
type Widths = tuple[tuple[int, int], ...]

# Options that each mode takes.
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}
_PIECES: Final = 8


def pad(
    array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """Add elements around an array.

    Args:
      array: any shape.
      pad_width: static numbers of elements in front and behind: one int, one pair, or one pair per
        dimension; or a dict from dimension to int or pair.
      mode: "constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum",
        "reflect", "symmetric", "wrap", or a function of (vector, widths, axis, options).
      **kwargs: `constant_values`, `end_values`, `stat_length` or `reflect_type`, as in NumPy.

    Raises:
      NotImplementedError: unknown mode.
      ValueError: an option that the mode does not take, or negative widths.

    Example:
      >>> pad(jnp.array([1, 2]), 1)
      Array([0, 1, 2, 0], dtype=int32)
    """
    if callable(mode):
        check_arraylike("pad", array)
        widths = _widths(pad_width, typeof(array).ndim)
        return _pad_by_function(asarray(array), widths, mode, kwargs)
    if type(pad_width) is list:
        pad_width = tuple(tuple(w) if type(w) is list else w for w in pad_width)
    return _pad(array, pad_width, mode, **kwargs)


@composite(static_argnames=("pad_width", "mode", "stat_length", "reflect_type"))
def _pad(array: ArrayLike, pad_width: Any, mode: str, **kwargs: Any) -> Array:
    check_arraylike("pad", array)
    return weak_as(_padded(array, pad_width, mode, kwargs), array)


def _padded(array: ArrayLike, pad_width: Any, mode: str, kwargs: dict[str, Any]) -> Array:
    widths = _widths(pad_width, typeof(array).ndim)
    if mode not in _OPTIONS:
        raise NotImplementedError(
            f"pad: given mode {mode!r}, expected one of {', '.join(map(repr, _OPTIONS))}."
        )
    unknown = sorted(set(kwargs) - set(_OPTIONS[mode]))
    if unknown:
        raise ValueError(
            f"pad: given {', '.join(unknown)} with mode {mode!r}, expected "
            f"{', '.join(_OPTIONS[mode]) or 'no options'}. Leave the others out."
        )
    if mode == "constant":
        return _pad_constant(array, kwargs.get("constant_values", 0), widths)
    if mode in ("linear_ramp", "maximum", "mean", "median", "minimum"):
        check_numbers(f"pad with mode {mode!r}", array)
    if mode == "linear_ramp":
        return _pad_ramp(array, kwargs.get("end_values", 0), widths=widths)
    if mode in ("maximum", "mean", "median", "minimum"):
        lengths = kwargs.get("stat_length")
        if lengths is not None:
            lengths = _pairs(concrete_ints(lengths, "pad", "stat_length"), len(widths))
        return _pad_statistic(array, widths=widths, mode=mode, lengths=lengths)
    if mode == "empty":
        return _pad_constant(array, scalar_of(0, typeof(array).dtype), widths)
    odd = kwargs.get("reflect_type", "even")
    if odd not in ("even", "odd"):
        raise ValueError(f"pad: given reflect_type={odd!r}, expected 'even' or 'odd'.")
    return _pad_from_inside(array, widths=widths, mode=mode, odd=odd == "odd")


def _widths(pad_width: Any, ndim: int) -> Widths:
    if isinstance(pad_width, dict):
        full: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            full[axis] = tuple(np.broadcast_to(concrete_ints(width, "pad", "pad_width"), (2,)))
        pad_width = full
    widths = _pairs(concrete_ints(pad_width, "pad", "pad_width"), ndim)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: given the widths {widths}, expected at least 0. Slice to cut off.")
    return widths


def _pairs(values: np.ndarray, ndim: int) -> Widths:
    try:
        pairs = np.broadcast_to(values, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"pad: given widths or lengths of shape {values.shape} for {ndim} dimensions, expected "
            "one number, one pair, or one pair per dimension."
        ) from None
    return tuple((as_size(a), as_size(b)) for a, b in pairs)


def _pad_constant(a: Any, values: Any, widths: Widths) -> Array:
    sides = _sides(values, len(widths))
    first = sides[0][0] if sides else 0
    if all(v is first for pair in sides for v in pair):
        return _pad_all(a, first, widths=widths)
    return _pad_sides(a, sides, widths=widths)


def _sides(values: Any, ndim: int) -> tuple[tuple[Any, Any], ...]:
    """Return one pair of values per dimension from a scalar, a pair, or pairs."""
    if not isinstance(values, tuple | list):
        if not np.ndim(values):
            return ((values, values),) * ndim
        values = list(values)
    nested = [v for v in values if isinstance(v, tuple | list) or np.ndim(v)]
    if not nested:
        pair = tuple(values) * (2 if len(values) == 1 else 1)
        return (pair,) * ndim  # pyright: ignore[reportReturnType]
    pairs = [tuple(v) * (2 if len(v) == 1 else 1) for v in values]
    return tuple(pairs * (ndim if len(pairs) == 1 else 1))  # pyright: ignore[reportReturnType]


def _as(value: Any, dtype: Any) -> Any:
    if dtypes.is_extended(dtype) and getattr(value, "dtype", None) != dtype:
        raise ValueError(
            f"pad: given an array of dtype {dtype} and the value {value!r} to pad with, expected "
            "a value of that dtype. Pass constant_values=key, or use a mode such as 'edge' or "
            "'empty'."
        )
    if type(value) in (bool, int, float, complex):
        return np.asarray(value).astype(dtype)[()]
    return lax.convert_element_type(value, dtype)


def _pad_all(a: Any, value: Any, *, widths: Widths) -> Array:
    return lax.pad(a, _as(value, typeof(a).dtype), tuple((lo, hi, 0) for lo, hi in widths))


def _pad_sides(a: Any, sides: Any, *, widths: Widths) -> Array:
    dtype = typeof(a).dtype
    for axis, (lo, hi) in enumerate(widths):
        for side, amount in ((0, (lo, 0, 0)), (1, (0, hi, 0))):
            config = [(0, 0, 0)] * len(widths)
            config[axis] = amount
            if any(amount):
                a = lax.pad(a, _as(sides[axis][side], dtype), tuple(config))
    return asarray(a)


def _pad_ramp(a: Any, values: Any, *, widths: Widths) -> Array:
    return _pad_ramps(a, _sides(values, len(widths)), widths=widths)


def _pad_ramps(a: Any, sides: Any, *, widths: Widths) -> Array:
    dtype = typeof(a).dtype
    for axis, (lo, hi) in enumerate(widths):
        n = typeof(a).shape[axis]
        first, last = _edge(a, axis, 0, 1), _edge(a, axis, n - 1, n)
        ramps = []
        for edge, end, count in ((first, sides[axis][0], lo), (last, sides[axis][1], hi)):
            start = lax.full_like(edge, 0) + _as(end, dtype)
            ramp = linspace(start, edge, count, endpoint=False, dtype=dtype, axis=axis)
            ramps.append(lax.squeeze(ramp, (axis + 1,)))
        a = concatenate([ramps[0], a, lax.rev(ramps[1], (axis,))], axis)
    return asarray(a)


def _edge(a: Any, axis: int, start: Size, stop: Size) -> Array:
    return lax.slice_in_dim(a, start, stop, 1, axis)


def _pad_statistic(a: Any, *, widths: Widths, mode: str, lengths: Widths | None) -> Array:
    for axis, (lo, hi) in enumerate(widths):
        n = typeof(a).shape[axis]
        counts = (n, n) if lengths is None else tuple(min_size(k, n) for k in lengths[axis])
        front = _statistic(_edge(a, axis, 0, counts[0]), axis, mode)
        back = _statistic(_edge(a, axis, n - counts[1], n), axis, mode)
        a = lax.concatenate([_repeated(front, axis, lo), a, _repeated(back, axis, hi)], axis)
    return asarray(a)


def _statistic(part: Any, axis: int, mode: str) -> Array:
    function: Any = {"maximum": max_, "mean": mean_, "median": median, "minimum": min_}[mode]
    out, dtype = function(part, axis, keepdims=True), typeof(part).dtype
    if issubdtype(dtype, np.integer) and mode in ("mean", "median"):
        out = round_(out)
    return out if typeof(out).dtype == dtype else lax.convert_element_type(out, dtype)


def _repeated(x: Any, axis: int, count: Size) -> Array:
    dims = list(typeof(x).shape)
    dims[axis] = count
    return lax.broadcast_in_dim(x, tuple(dims), tuple(range(len(dims))))


def _pad_from_inside(a: Any, *, widths: Widths, mode: str, odd: bool) -> Array:
    for axis, (lo, hi) in enumerate(widths):
        n = typeof(a).shape[axis]
        if lo == hi == 0:
            continue
        if n == 0:
            raise ValueError(
                f"pad: given dimension {axis} of size 0 and mode {mode!r}, expected at least one "
                "element. Use mode='constant'."
            )
        if is_symbolic(n):
            a = _pad_symbolic(a, axis, lo, hi, mode, odd)
        elif odd and n > 1:
            a = _pad_mirrored(a, axis, lo, hi, mode, odd)
        else:
            places = np.pad(np.arange(n), (lo, hi), mode=mode)  # pyright: ignore
            a = _by_runs(a, places, axis)
    return asarray(a)


def _pad_symbolic(a: Any, axis: int, lo: Size, hi: Size, mode: str, odd: bool) -> Array:
    """Continue an array of a symbolic size.

    Raises:
      InconclusiveDimensionOperation: the constraints don't say that the array is long enough.
    """
    n = typeof(a).shape[axis]
    if mode == "edge":
        front, back = _edge(a, axis, 0, 1), _edge(a, axis, n - 1, n)
        return lax.concatenate([_repeated(front, axis, lo), a, _repeated(back, axis, hi)], axis)
    if mode == "wrap":
        while lo or hi:
            front, back = min(lo, n), min(hi, n)
            ends = [_edge(a, axis, n - front, n), a, _edge(a, axis, 0, back)]
            a, lo, hi = lax.concatenate(ends, axis), lo - front, hi - back
        return a
    return _pad_mirrored(a, axis, lo, hi, mode, odd)


def _pad_mirrored(a: Any, axis: int, lo: Size, hi: Size, mode: str, odd: bool) -> Array:
    """Continue an array so that it is symmetric about its edges; odd: about those points."""
    skip = 1 if mode == "reflect" else 0
    step = typeof(a).shape[axis] - skip
    while lo or hi:
        n = typeof(a).shape[axis]
        front, back = min(lo, step), min(hi, step)
        parts = [a]
        if front:
            mirrored = lax.rev(_edge(a, axis, skip, skip + front), (axis,))
            parts.insert(0, 2 * _edge(a, axis, 0, 1) - mirrored if odd else mirrored)
        if back:
            mirrored = lax.rev(_edge(a, axis, n - skip - back, n - skip), (axis,))
            parts.append(2 * _edge(a, axis, n - 1, n) - mirrored if odd else mirrored)
        a = lax.concatenate(parts, axis)
        lo, hi = lo - front, hi - back
    return a


def _by_runs(a: Any, places: np.ndarray, axis: int) -> Array:
    """Take elements by copying runs of neighbours, which compiles better than a gather."""
    runs = _runs(places)
    if len(runs) > _PIECES:
        return take(a, places.astype(np.int32), axis, mode="clip")
    parts = []
    for first, step, count in runs:
        if step == 0:
            parts.append(_repeated(_edge(a, axis, first, first + 1), axis, count))
        elif step > 0:
            parts.append(_edge(a, axis, first, first + count))
        else:
            part = _edge(a, axis, first - count + 1, first + 1)
            parts.append(lax.rev(part, (axis,)))
    return lax.concatenate(parts, axis)


def _runs(places: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (first, step, count) of maximal runs with a step of -1, 0 or 1."""
    out: list[tuple[int, int, int]] = []
    i, total = 0, len(places)
    while i < total:
        step = int(places[i + 1] - places[i]) if i + 1 < total else 1
        step = step if step in (-1, 0, 1) else 1
        count = 1
        while i + count < total and places[i + count] - places[i + count - 1] == step:
            count += 1
        out.append((int(places[i]), step, count))
        i += count
    return out


def _pad_by_function(a: Any, widths: Widths, function: Callable[..., Any], options: Any) -> Array:
    a = _pad_constant(a, 0, widths)
    for axis in range(len(widths)):
        a = apply_along_axis(function, axis, a, widths[axis], axis, options)
    return a
