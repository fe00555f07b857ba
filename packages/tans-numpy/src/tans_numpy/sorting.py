"""Order: sort, argsort, lexsort, partition and relatives."""

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_lax.mesh.specs import partitions_like
from tans_numpy.creation import requested_dtype
from tans_numpy.indexing import take_along_axis
from tans_numpy.manipulation import ravel
from tans_numpy.operands import ArrayLike, canonicalize_axis, check_arraylike
from tans_xla import composite

type Array = Any

_STATIC: Final = ("axis", "kind", "order", "stable", "descending")


def _check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"{name}: given kind={kind!r}, expected None. Use stable=False instead.")
    if order is not None:
        raise TypeError(f"{name}: given order=, expected None: arrays have no fields.")


def _on_axis(a: ArrayLike, axis: Any, name: str) -> tuple[ArrayLike, int]:
    check_arraylike(name, a)
    if axis is None:
        return ravel(a), 0
    return a, canonicalize_axis(axis, typeof(a).ndim, name)


@composite(static_argnames=_STATIC)
def sort(
    a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None,
    stable: bool = True, descending: bool = False,
) -> Array:  # fmt: skip
    """Return the elements in ascending order along a dimension; nan comes last.

    Args:
      a: at least one dimension. Complex numbers sort by real, then by imaginary part.
      axis: the dimension; None sorts the flattened array.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether to sort in descending order; nan then comes first.

    Raises:
      TypeError: `kind` or `order` is given.
      ValueError: the axis is out of range.

    Example:
      >>> sort(jnp.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    a, axis = _on_axis(a, axis, "sort")
    _check_options("sort", kind, order)
    out = lax.sort(a, dimension=axis, is_stable=bool(stable))
    return lax.rev(out, (axis,)) if descending else out


def _argsort(a: Array, *, axis: int, stable: bool, descending: bool, dtype: Any) -> Array:
    index = lax.broadcasted_iota(dtype, typeof(a).shape, axis, out_sharding=partitions_like(a))
    if not descending:
        return lax.sort((a, index), dimension=axis, is_stable=stable, num_keys=1)[1]
    # Sorted backwards before and after, equal elements keep their order.
    backwards = (lax.rev(a, (axis,)), lax.rev(index, (axis,)))
    out = lax.sort(backwards, dimension=axis, is_stable=stable, num_keys=1)[1]
    return lax.rev(out, (axis,))


@composite(static_argnames=(*_STATIC, "dtype"))
def argsort(
    a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None,
    stable: bool = True, descending: bool = False, dtype: Any = None,
) -> Array:  # fmt: skip
    """Return the indices that sort an array along a dimension; arguments as for `sort`.

    Args:
      a: at least one dimension.
      axis: the dimension; None sorts the flattened array.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether to sort in descending order.
      dtype: dtype of the indices; the default integer if None.
    """
    a, axis = _on_axis(a, axis, "argsort")
    _check_options("argsort", kind, order)
    index = dtypes.default_int() if dtype is None else requested_dtype(dtype, "argsort")
    return _argsort(a, axis=axis, stable=bool(stable), descending=bool(descending), dtype=index)


def _lexsort(keys: tuple[Array, ...], *, axis: int, batch: int) -> Array:
    index = lax.broadcasted_iota(dtypes.default_int(), typeof(keys[0]).shape, axis)
    order = index
    for start in range(0, len(keys), batch):
        group = keys[start : start + batch]
        if start:
            group = tuple(take_along_axis(k, order, axis) for k in group)
        operands = (*reversed(group), order)
        order = lax.sort(operands, dimension=axis, num_keys=len(group))[-1]
    return order


@composite(static_argnames=("axis", "batch_size"))
def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Array:
    """Return the indices that sort by several keys, the last one first.

    Args:
      keys: sequence of arrays of one shape, or an array whose first dimension counts keys.
      axis: the dimension.
      batch_size: how many keys one sort looks at; more are sorted in several passes.

    Raises:
      TypeError: no keys.
      ValueError: keys of different shapes.
    """
    items: Sequence[Any] = tuple(keys)
    if not items:
        raise TypeError("lexsort: given no keys, expected at least one.")
    check_arraylike("lexsort", *items)
    shapes = {typeof(k).shape for k in items}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: given keys of the shapes {sorted(shapes)}, expected one shape.")
    if not typeof(items[0]).ndim:
        return lax.full((), 0, dtypes.default_int())
    axis = canonicalize_axis(axis, typeof(items[0]).ndim, "lexsort")
    return _lexsort(items, axis=axis, batch=operator.index(batch_size))


def _check_kth(kth: int, a: ArrayLike, axis: int, name: str) -> None:
    n = typeof(a).shape[axis]
    if np.issubdtype(typeof(a).dtype, np.complexfloating):
        raise NotImplementedError(f"{name}: given complex numbers, expected real ones. Use sort.")
    if not -n <= operator.index(kth) < n:
        raise ValueError(f"{name}: given kth={kth} for {n} elements, expected {-n} to {n - 1}.")


@composite(static_argnames=("kth", "axis"))
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return elements so that the kth is in its sorted place, smaller ones before it.

    Args:
      a: at least one dimension, real.
      kth: static place along `axis`.
      axis: the dimension.

    Returns:
      The sorted array, which is one of the orders allowed.
    """
    a, axis = _on_axis(a, axis, "partition")
    _check_kth(kth, a, axis, "partition")
    return sort(a, axis)


@composite(static_argnames=("kth", "axis"))
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return the indices that partition an array; see `partition`."""
    a, axis = _on_axis(a, axis, "argpartition")
    _check_kth(kth, a, axis, "argpartition")
    return argsort(a, axis)


@composite
def sort_complex(a: ArrayLike) -> Array:
    """Return the elements sorted, as complex numbers.

    Args:
      a: at least one dimension.
    """
    out = sort(a)
    wide = np.promote_types(typeof(out).dtype, np.complex64)
    return out.astype(dtypes.canonicalize(wide))


def _largest(a: Array, *, k: int, axis: int) -> tuple[Array, Array]:
    values, index = lax.top_k(a, k, axis=axis)
    return values, lax.convert_element_type(index, np.dtype(np.int32))


def _smallest(a: Array, *, k: int, axis: int) -> tuple[Array, Array]:
    index = lax.broadcasted_iota(np.dtype(np.int32), typeof(a).shape, axis)
    values, index = lax.sort((a, index), dimension=axis, num_keys=1)
    return lax.slice_in_dim(values, 0, k, 1, axis), lax.slice_in_dim(index, 0, k, 1, axis)


@composite(static_argnames=("k", "axis", "mode", "sorted"))
def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Array, Array]:  # fmt: skip
    """Return the `k` largest or smallest elements along a dimension, and their indices.

    Args:
      a: at least one dimension, real.
      k: how many.
      axis: the dimension.
      mode: "largest" or "smallest".
      sorted: has no effect: results are sorted.

    Raises:
      ValueError: unknown mode, or `k` out of range.
    """
    del sorted
    check_arraylike("top_k", a)
    axis = canonicalize_axis(axis, typeof(a).ndim, "top_k")
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: given mode={mode!r}, expected 'largest' or 'smallest'.")
    n = typeof(a).shape[axis]
    if not 0 <= operator.index(k) <= n:
        raise ValueError(f"top_k: given k={k} for {n} elements, expected 0 to {n}.")
    return tuple((_largest if mode == "largest" else _smallest)(a, k=operator.index(k), axis=axis))
