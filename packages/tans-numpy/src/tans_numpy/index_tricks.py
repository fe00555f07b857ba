"""Indices by name or by slices: tril_indices, ix_, mgrid, ogrid, r_, c_, s_, unravel_index, ..."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Tracer, dtypes, typeof
from tans_lax.sizes import size_value
from tans_numpy.creation import asarray, requested_dtype
from tans_numpy.diagonals import tri
from tans_numpy.joining import atleast_1d, concatenate, stack
from tans_numpy.manipulation import expand_dims, reshape, transpose
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes
from tans_numpy.ranges import arange, linspace, meshgrid
from tans_numpy.rearrangement import concrete_ints
from tans_numpy.searching import nonzero
from tans_xla import composite
from tans_xla.sizes import as_size, is_symbolic, max_size

type Array = Any


def _host_indices(found: Sequence[np.ndarray]) -> tuple[Array, ...]:
    return tuple(asarray(i.astype(dtypes.default_int())) for i in found)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Return the indices of the lower triangle of an [n, m] matrix.

    Args:
      n: static number of rows.
      k: diagonal; positive is above the main one.
      m: number of columns; n if None.
    """
    mask = np.tri(operator.index(n), None if m is None else operator.index(m), operator.index(k))
    return _host_indices(np.nonzero(mask))  # pyright: ignore[reportReturnType]


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Return the indices of the upper triangle of an [n, m] matrix; arguments as `tril_indices`."""
    mask = np.tri(
        operator.index(n), None if m is None else operator.index(m), operator.index(k) - 1
    )
    return _host_indices(np.nonzero(mask == 0))  # pyright: ignore[reportReturnType]


def _matrix_shape(arr: Any, name: str) -> tuple[int, int]:
    if len(arr.shape) != 2:
        raise ValueError(f"{name}: given {len(arr.shape)} dimensions, expected a matrix.")
    return arr.shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Return the indices of the lower triangle of a matrix; see `tril_indices`."""
    n, m = _matrix_shape(arr, "tril_indices_from")
    return tril_indices(n, k, m)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Return the indices of the upper triangle of a matrix; see `tril_indices`."""
    n, m = _matrix_shape(arr, "triu_indices_from")
    return triu_indices(n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array with `ndim` dimensions of size `n`.

    Raises:
      ValueError: a negative number.
    """
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: given n={n} and ndim={ndim}, expected at least 0.")
    return (arange(n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array.

    Args:
      arr: at least two dimensions, all of one size.

    Raises:
      ValueError: fewer or unequal dimensions.
    """
    check_arraylike("diag_indices_from", arr)
    dims = typeof(arr).shape
    if len(dims) < 2 or len(set(dims)) > 1:
        raise ValueError(
            f"diag_indices_from: given the shape {dims}, expected at least two equal dimensions."
        )
    return diag_indices(dims[0], len(dims))


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Array], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Return the indices that a function such as `triu` keeps in an [n, n] matrix.

    Args:
      n: static number of rows.
      mask_func: function of a matrix and `k`.
      k: passed on.
      size: static number of indices, needed while the function is traced.
    """
    ones = tri(n, n, n)
    return nonzero(mask_func(ones, k), size=size)  # pyright: ignore[reportReturnType]


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Return vectors shaped so that indexing with them selects their product.

    Args:
      *args: vectors of integers.

    Raises:
      NotImplementedError: booleans.
      ValueError: not a vector.
    """
    check_arraylike("ix_", *args)
    out = []
    for i, a in enumerate(args):
        aval = typeof(a)
        if aval.ndim != 1:
            raise ValueError(f"ix_: given {aval.ndim} dimensions, expected vectors.")
        if aval.dtype == np.bool_:
            raise NotImplementedError(
                "ix_: given booleans, expected integers. Convert them with jnp.nonzero."
            )
        values = a if aval.size else asarray(a).astype(int)
        out.append(reshape(values, (1,) * i + (aval.size,) + (1,) * (len(args) - i - 1)))
    return tuple(out)


def unravel_index(indices: ArrayLike, shape: Any) -> tuple[Array, ...]:
    """Return the coordinates of places in the flattened array.

    Args:
      indices: integers, any shape; negative ones count from the end. Out of range they are clamped.
      shape: int or ints, static.

    Returns:
      One array of integers per dimension.
    """
    check_arraylike("unravel_index", indices)
    if not np.issubdtype(typeof(indices).dtype, np.integer):
        raise TypeError(f"unravel_index: given {typeof(indices).dtype}, expected integers.")
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(_unravel(indices, dims=tuple(map(as_size, sizes))))


@composite(static_argnames=("dims",))
def _unravel(indices: Any, *, dims: tuple[int, ...]) -> tuple[Array, ...]:
    total: Any = math.prod(dims)
    dtype = typeof(indices).dtype
    place = indices
    if dtype.kind == "i":
        place = asarray(place)
        place = lax.select(place < 0, place + total, place) if typeof(place).ndim else (
            lax.select_n(place < 0, place, place + total)
        )  # fmt: skip
    place = asarray(place).clip(0, max_size(total - 1, 0))
    out = []
    stride = total
    for n in dims:
        stride = stride // n if n else 1
        size = max_size(stride, 1)  # an int keeps a weak type
        step = lax.full_like(place, size_value(size, dtype) if is_symbolic(size) else size)
        out.append(lax.div(place, step))
        place = lax.rem(place, step)
    return tuple(out)


def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: Sequence[int], mode: str = "raise", order: str = "C", *,
    dtype: Any = None,
) -> Array:  # fmt: skip
    """Return the places in the flattened array of coordinates.

    Args:
      multi_index: one array of integers per dimension; they broadcast.
      dims: sizes of the dimensions, static.
      mode: "clip" or "wrap" for coordinates out of range; "raise" needs concrete ones.
      order: "C" or "F".
      dtype: dtype of the result; the default integer if None.

    Raises:
      ConcretizationTypeError: mode "raise" and traced coordinates.
      ValueError: coordinates out of range, or unknown mode or order.
    """
    sizes = tuple(map(as_size, dims))
    coordinates = list(multi_index)
    check_arraylike("ravel_multi_index", *coordinates)
    if len(sizes) != len(coordinates):
        raise ValueError(
            f"ravel_multi_index: given {len(coordinates)} coordinates for {len(sizes)} dimensions, "
            "expected as many."
        )
    if any(not np.issubdtype(typeof(c).dtype, np.integer) for c in coordinates):
        raise TypeError("ravel_multi_index: given coordinates of other types, expected integers.")
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(
            f"ravel_multi_index: given mode={mode!r}, expected 'raise', 'clip' or 'wrap'."
        )
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: given order={order!r}, expected 'C' or 'F'.")
    if mode == "raise":
        for c, n in zip(coordinates, sizes, strict=True):
            values = concrete_ints(c, "ravel_multi_index", "multi_index (with mode='raise')")
            if values.size and (values.min() < 0 or values.max() >= n):
                raise ValueError(
                    f"ravel_multi_index: given a coordinate out of range for size {n}, expected 0 "
                    f"to {n - 1}. Use mode='clip' or 'wrap'."
                )
    target = dtypes.default_int() if dtype is None else requested_dtype(dtype, "ravel_multi_index")
    return _ravel_multi(tuple(coordinates), dims=sizes, mode=mode, order=order, dtype=target)


@composite(static_argnames=("dims", "mode", "order", "dtype"))
def _ravel_multi(
    coordinates: tuple, *, dims: tuple[int, ...], mode: str, order: str, dtype: Any
) -> Array:
    out: Any = 0
    pairs = list(zip(coordinates, dims, strict=True))
    for given, n in pairs if order == "C" else pairs[::-1]:
        place = asarray(lax.convert_element_type(given, dtype))
        if mode == "wrap":
            place = place % n
        elif mode == "clip":
            place = place.clip(0, n - 1)
        out = place if type(out) is int else out * n + place
    return asarray(out)


# ---- objects that are indexed with slices -----------------------------------------------------


class IndexExpression:
    """Returns the index it is given; `index_exp` always as a tuple."""

    def __init__(self, maketuple: bool) -> None:
        """Choose whether a single index becomes a tuple."""
        self.maketuple = maketuple

    def __getitem__(self, item: Any) -> Any:
        """Return the index."""
        return (item,) if self.maketuple and not isinstance(item, tuple) else item


def _range(key: slice) -> Array:
    """Return the numbers of a slice; an imaginary step is a number of samples."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex):
        return linspace(start, key.stop, int(abs(step)))
    for option in (start, key.stop, step):
        concrete = option.concrete() if isinstance(option, Tracer) else option
        if concrete is None:
            concrete_ints(option, "mgrid", "slice")
    return arange(start, key.stop, step)


class Grid:
    """Coordinate arrays of a grid, from slices."""

    def __init__(self, sparse: bool) -> None:
        """Choose between full arrays and arrays with size 1 in all dimensions but their own."""
        self.sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        """Return the coordinates: ``mgrid[0:3, 0:1:5j]``."""
        if isinstance(key, slice):
            return _range(key)
        ranges = promote_dtypes("ogrid" if self.sparse else "mgrid", *map(_range, key))
        grids = meshgrid(*ranges, indexing="ij", sparse=self.sparse)
        return list(grids) if self.sparse else stack(grids)


class AxisConcatenator:
    """Arrays, scalars and slices joined by indexing: ``r_[1, 2:5, x]``."""

    def __init__(self, axis: int, ndmin: int, trans1d: int) -> None:
        """Set the dimension to join along, the least rank, and where old dimensions go."""
        self.defaults = (axis, ndmin, trans1d)

    def __getitem__(self, key: Any) -> Array:
        """Join the parts; a leading string ``"axis,ndmin,place"`` overrides the defaults."""
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self.defaults
        as_matrix = None
        if items and isinstance(items[0], str):
            directive = items.pop(0)
            if directive in ("r", "c"):
                as_matrix = directive
            else:
                axis, ndmin, place = self._options(directive)
        parts = [self._part(item, ndmin, place) for item in items]
        out = concatenate(parts, axis)
        if as_matrix and out.ndim == 1:
            return expand_dims(out, 0 if as_matrix == "r" else 1)
        return out

    def _options(self, directive: str) -> tuple[int, int, int]:
        try:
            given = [int(v) for v in directive.split(",")]
        except ValueError:
            raise ValueError(
                f"r_: given the directive {directive!r}, expected 'r', 'c' or up to three integers."
            ) from None
        return tuple([*given, *self.defaults[len(given) :]][:3])  # pyright: ignore

    def _part(self, item: Any, ndmin: int, place: int) -> Array:
        value = _range(item) if isinstance(item, slice) else asarray(item)
        missing = ndmin - value.ndim
        if value.ndim == 0:
            return reshape(atleast_1d(value), (1,) * max(ndmin, 1))
        if missing <= 0:
            return value
        old = value.ndim
        value = expand_dims(value, tuple(range(missing)))
        if place >= 0:
            axes = list(range(missing))
            order = axes[:place] + list(range(missing, missing + old)) + axes[place:]
            value = transpose(value, order)
        return value


s_: Final = IndexExpression(maketuple=False)
index_exp: Final = IndexExpression(maketuple=True)
mgrid: Final = Grid(sparse=False)
ogrid: Final = Grid(sparse=True)
r_: Final = AxisConcatenator(0, 1, -1)
c_: Final = AxisConcatenator(-1, 2, 0)
