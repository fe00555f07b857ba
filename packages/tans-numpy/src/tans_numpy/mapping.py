"""Functions of scalars, vectors or slices, applied to whole arrays: vectorize, piecewise, ..."""

import operator
import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any, Final

import numpy as np

import tans_batching
import tans_lax as lax
from tans_core import typeof
from tans_numpy.creation import asarray
from tans_numpy.manipulation import expand_dims, moveaxis, squeeze
from tans_numpy.operands import ArrayLike, canonicalize_axis, check_arraylike
from tans_numpy.ranges import arange
from tans_numpy.selection import where

type Array = Any

_NAME: Final = r"\w+"
_CORE: Final = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_LIST: Final = rf"{_CORE}(?:,{_CORE})*"
_SIGNATURE: Final = re.compile(rf"^{_LIST}->{_LIST}$")


def _parse(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(
            f"vectorize: given signature={signature!r}, expected the form '(m,n),(n)->(m)'."
        )
    inputs, outputs = (
        [tuple(re.findall(_NAME, core)) for core in re.findall(_CORE, side)]
        for side in text.split("->")
    )
    return inputs, outputs


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[Any] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Return a function that applies `pyfunc` to elements or trailing dimensions, and broadcasts.

    Args:
      pyfunc: function of scalars, or of arrays with the core dimensions in `signature`.
      excluded: positions and names of arguments that are passed as they are.
      signature: core dimensions, for example ``"(m,n),(n)->(m)"``; scalars if None.

    Returns:
      A function of arrays whose leading dimensions broadcast.

    Raises:
      TypeError: a wrong number of arguments for the signature.
      ValueError: a malformed signature, or core dimensions that do not fit.

    Example:
      >>> vectorize(lambda v: v.sum(), signature="(n)->()")(jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(k, int | str) for k in excluded):
        raise TypeError(f"vectorize: given excluded={excluded!r}, expected positions and names.")
    if any(isinstance(k, int) and k < 0 for k in excluded):
        raise ValueError(f"vectorize: given excluded={excluded!r}, expected positions from 0.")
    parsed = None if signature is None else _parse(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        kept = {k: v for k, v in kwargs.items() if k in excluded}
        named = {k: v for k, v in kwargs.items() if k not in excluded}
        positions = [i for i in range(len(args)) if i not in excluded]
        arrays = [args[i] for i in positions] + list(named.values())

        def core(*values: Any) -> Any:
            full = list(args)
            for i, v in zip(positions, values, strict=False):
                full[i] = v
            keywords = dict(zip(named, values[len(positions) :], strict=True))
            return pyfunc(*full, **keywords, **kept)

        return _broadcast_call(core, arrays, parsed, getattr(pyfunc, "__name__", "vectorize"))

    return vectorized


def _broadcast_call(core: Any, arrays: Sequence[Any], parsed: Any, name: str) -> Any:
    check_arraylike(name, *(a for a in arrays if a is not None))
    inputs = [()] * len(arrays) if parsed is None else parsed[0]
    if len(inputs) != len(arrays):
        raise TypeError(
            f"vectorize: given {len(arrays)} arguments for a signature with {len(inputs)}, "
            "expected as many. Pass others with excluded=."
        )
    values = [None if a is None else asarray(a) for a in arrays]
    sizes: dict[str, int] = {}
    leading = []
    for value, names in zip(values, inputs, strict=True):
        leading.append(() if value is None else _split_shape(value.shape, names, sizes))
    dims = lax.broadcast_shapes(*leading) if leading else ()
    checked = core if parsed is None else _checked(core, parsed[1], sizes)
    mapped = checked
    for k in range(len(dims)):  # the innermost map is that of the last leading dimension
        axes = tuple(
            0 if len(lead) > k and lead[len(lead) - 1 - k] != 1 else None for lead in leading
        )
        mapped = _mapped(mapped, axes, dims[len(dims) - 1 - k])
    squeezed = [
        v if v is None else _drop_ones(v, lead) for v, lead in zip(values, leading, strict=True)
    ]
    return mapped(*squeezed)


def _split_shape(
    shape: tuple[int, ...], names: tuple[str, ...], sizes: dict[str, int]
) -> tuple[int, ...]:
    if len(shape) < len(names):
        raise ValueError(
            f"vectorize: given an argument of shape {shape}, expected the core dimensions "
            f"({','.join(names)}) at its end."
        )
    count = len(shape) - len(names)
    for name, n in zip(names, shape[count:], strict=True):
        if sizes.setdefault(name, n) != n:
            raise ValueError(
                f"vectorize: given the sizes {sizes[name]} and {n} for the core dimension {name!r},"
                " expected one size."
            )
    return shape[:count]


def _checked(core: Any, outputs: list[tuple[str, ...]], sizes: dict[str, int]) -> Any:
    def call(*args: Any) -> Any:
        out = core(*args)
        results = out if isinstance(out, tuple) else (out,)
        if len(results) != len(outputs):
            raise TypeError(
                f"vectorize: the function returned {len(results)} arrays, the signature has "
                f"{len(outputs)}. Return as many."
            )
        for result, names in zip(results, outputs, strict=True):
            shape = typeof(result).shape
            if len(shape) != len(names):
                raise ValueError(
                    f"vectorize: the function returned an array of shape {shape}, the signature "
                    f"has ({','.join(names)})."
                )
            _split_shape(shape, names, sizes)
        return out

    return call


def _mapped(function: Any, axes: tuple, size: int) -> Any:
    return tans_batching.vmap(function, axes, 0, axis_size=size)


def _drop_ones(value: Array, lead: tuple[int, ...]) -> Array:
    """Remove leading dimensions of size 1, which are not mapped."""
    ones = tuple(i for i, n in enumerate(lead) if n == 1)
    return squeeze(value, ones) if ones else value


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """Apply a function of vectors along a dimension.

    Args:
      func1d: function of a vector and the further arguments; its result may have any shape.
      axis: the dimension.
      arr: at least one dimension.
      *args, **kwargs: further arguments of `func1d`.

    Returns:
      Array with `axis` replaced by the dimensions of the result of `func1d`.
    """
    check_arraylike("apply_along_axis", arr)
    ndim = typeof(arr).ndim
    axis = canonicalize_axis(axis, ndim, "apply_along_axis")

    def function(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    for _ in range(ndim - axis - 1):
        function = tans_batching.vmap(function, 1, -1)
    for _ in range(axis):
        function = tans_batching.vmap(function, 0, 0)
    return function(arr)


def apply_over_axes(
    func: Callable[[Any, int], Array], a: ArrayLike, axes: int | Sequence[int]
) -> Array:
    """Apply a reduction over several dimensions, one after another, keeping their number.

    Args:
      func: function of an array and an axis.
      a: any shape.
      axes: int or ints.

    Raises:
      ValueError: `func` returns an array of another number of dimensions.
    """
    check_arraylike("apply_over_axes", a)
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        out = func(a, axis)
        if typeof(out).ndim == typeof(a).ndim - 1:
            out = expand_dims(out, canonicalize_axis(axis, typeof(a).ndim, "apply_over_axes"))
        if typeof(out).ndim != typeof(a).ndim:
            raise ValueError(
                f"apply_over_axes: the function returned {typeof(out).ndim} dimensions for "
                f"{typeof(a).ndim}, expected as many or one less."
            )
        a = out
    return asarray(a)


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Evaluate the function or value whose condition holds, element by element.

    Args:
      x: any shape.
      condlist: boolean arrays of the shape of `x`.
      funclist: as many functions or scalars; one more for where no condition holds.
      *args, **kw: further arguments of the functions.

    Returns:
      Array of the shape and dtype of `x`. Where several conditions hold, the last one counts.

    Raises:
      ValueError: a wrong number of functions.
    """
    check_arraylike("piecewise", x)
    x = asarray(x)
    conditions = list(condlist) if not _is_single(condlist) else [condlist]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise: given {len(funclist)} functions for {len(conditions)} conditions, "
            f"expected {len(conditions)} or {len(conditions) + 1}."
        )
    # All branches run on all elements; the conditions choose among the results.
    out: Any = _branch(functions[-1], x, args, kw)
    for condition, function in zip(conditions, functions[:-1], strict=True):
        out = where(condition, _branch(function, x, args, kw), out)
    return out


def _is_single(condlist: Any) -> bool:
    return not isinstance(condlist, tuple | list) and typeof(condlist).ndim <= 1 and (
        typeof(condlist).dtype == np.bool_
    )  # fmt: skip


def _branch(function: Any, x: Array, args: tuple, kw: dict) -> Array:
    value = function(x, *args, **kw) if callable(function) else function
    value = asarray(value).astype(x.dtype)
    return value if value.ndim else lax.full_like(x, 0) + value


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Array:
    """Return the values of a function of coordinates.

    Args:
      function: function of one coordinate per dimension; it is mapped, so it sees scalars.
      shape: int or ints.
      dtype: dtype of the coordinates.
      **kwargs: further arguments of the function.
    """
    dims = tuple(
        operator.index(n) for n in (shape if isinstance(shape, tuple | list) else (shape,))
    )

    def mapped(*coordinates: Any) -> Any:
        return function(*coordinates, **kwargs)

    for i in range(len(dims)):
        axes = tuple(0 if j == i else None for j in range(len(dims)))
        mapped = tans_batching.vmap(mapped, axes, 0)
    out = mapped(*(arange(n, dtype=dtype) for n in dims))
    # Maps were nested from the first dimension inwards, so dimensions come out reversed.
    lead = len(dims)
    return moveaxis(out, tuple(range(lead)), tuple(range(lead))[::-1])
