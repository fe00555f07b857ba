"""Products of arrays: dot, matmul, einsum and relatives."""

import operator
from typing import Any

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_lax.mesh.specs import before_transpose, insert_entry
from tans_numpy.creation import requested_dtype
from tans_numpy.manipulation import ravel
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    canonicalize_axes,
    check_arraylike,
    promote_dtypes,
)
from tans_numpy.ufuncs.arithmetic import multiply
from tans_xla import composite

type Array = Any

_OPTIONS = ("precision", "preferred_element_type", "out_sharding")


def _preferred(dtype: Any, where: str) -> Any:
    return None if dtype is None else requested_dtype(dtype, where)


def _product(
    a: Array, b: Array, contracting: Any, batch: Any, precision: Any, preferred: Any,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    weak = typeof(a).weak_type and typeof(b).weak_type
    if preferred is None and not weak:  # a dtype that is asked for is strong
        preferred = typeof(a).dtype
    return lax.dot_general(
        a, b, (contracting, batch), precision=precision, preferred_element_type=preferred,
        out_sharding=out_sharding,
    )  # fmt: skip


def _dot(
    a: Array, b: Array, *, precision: Any, preferred_element_type: Any, out_sharding: Any
) -> Array:
    a, b = promote_dtypes("dot", a, b)
    rank_a, rank_b = typeof(a).ndim, typeof(b).ndim
    if not rank_a or not rank_b:
        contracting: Any = ((), ())
    elif rank_b == 1:
        contracting = ((rank_a - 1,), (0,))
    else:
        contracting = ((rank_a - 1,), (rank_b - 2,))
    return _product(a, b, contracting, ((), ()), precision, preferred_element_type, out_sharding)


@composite(static_argnames=_OPTIONS)
def dot(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Contract the last dimension of `a` with the last but one of `b`.

    Args:
      a: [..., n], or a scalar.
      b: [..., n, m] or [n], or a scalar.
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: the contracted sizes differ.
    """
    check_arraylike("dot", a, b)
    preferred = _preferred(preferred_element_type, "dot")
    return _dot(
        a, b, precision=precision, preferred_element_type=preferred, out_sharding=out_sharding
    )


def _matmul(
    a: Array, b: Array, *, precision: Any, preferred_element_type: Any, out_sharding: Any = None
) -> Array:
    a, b = promote_dtypes("matmul", a, b)
    shape_a, shape_b = typeof(a).shape, typeof(b).shape
    if not shape_a or not shape_b:
        raise ValueError(
            f"matmul: given shapes {shape_a} and {shape_b}, expected at least one dimension each. "
            "Multiply by a scalar with *."
        )
    inner_b = shape_b[0] if len(shape_b) == 1 else shape_b[-2]
    if shape_a[-1] != inner_b:
        raise TypeError(
            f"matmul: given shapes {shape_a} and {shape_b}, whose contracted sizes {shape_a[-1]} "
            f"and {inner_b} differ; expected equal sizes. Transpose an operand with .mT."
        )
    batch_b = shape_b[:-2]
    if not batch_b:
        contracting = ((len(shape_a) - 1,), (max(len(shape_b) - 2, 0),))
        return _product(
            a, b, contracting, ((), ()), precision, preferred_element_type, out_sharding
        )
    return _batched(a, b, precision, preferred_element_type, out_sharding)


def _batched(a: Array, b: Array, precision: Any, preferred: Any, out_sharding: Any) -> Array:
    """Multiply stacks of matrices; batch dimensions of size 1 are contracted away, not repeated."""
    shape_a, shape_b = typeof(a).shape, typeof(b).shape
    rank = max(len(shape_a), len(shape_b)) - 2
    broadcast_shapes("matmul", shape_a[:-2], shape_b[:-2])
    if len(shape_a) == 1:
        a = lax.expand_dims(a, (0,))
    if len(shape_b) == 1:
        b = lax.expand_dims(b, (1,))
    core_a, core_b = typeof(a).shape[-2:], typeof(b).shape[-2:]
    batch_a = (1,) * (rank - len(typeof(a).shape[:-2])) + typeof(a).shape[:-2]
    batch_b = (1,) * (rank - len(typeof(b).shape[:-2])) + typeof(b).shape[:-2]
    shared = [i for i in range(rank) if batch_a[i] == batch_b[i]]
    only_a = [i for i in range(rank) if i not in shared and batch_a[i] != 1]
    only_b = [i for i in range(rank) if i not in shared and batch_b[i] != 1]
    a = lax.reshape(a, tuple(batch_a[i] for i in sorted(shared + only_a)) + core_a)
    b = lax.reshape(b, tuple(batch_b[i] for i in sorted(shared + only_b)) + core_b)
    at_a = {axis: k for k, axis in enumerate(sorted(shared + only_a))}
    at_b = {axis: k for k, axis in enumerate(sorted(shared + only_b))}
    batch = (tuple(at_a[i] for i in shared), tuple(at_b[i] for i in shared))
    contracting = ((len(at_a) + 1,), (len(at_b),))
    # dot_general orders its result: shared, rest of a (only_a, rows), rest of b (only_b, columns).
    names = [*shared, *only_a, "rows", *only_b, "columns"]
    order = [names.index(i) for i in [*range(rank), "rows", "columns"]]
    drop = ([rank] if len(shape_a) == 1 else []) + ([rank + 1] if len(shape_b) == 1 else [])
    for dim in drop:
        out_sharding = insert_entry(out_sharding, dim, None)
    wanted = before_transpose(out_sharding, order)
    out = _product(a, b, contracting, batch, precision, preferred, wanted)
    out = lax.transpose(out, tuple(order)) if order != sorted(order) else out
    return lax.squeeze(out, tuple(drop)) if drop else out


@composite(static_argnames=_OPTIONS)
def matmul(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Multiply matrices, or stacks of matrices whose leading dimensions broadcast.

    Args:
      a: [..., m, n] or [n].
      b: [..., n, k] or [n].
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: an operand is a scalar, or leading dimensions do not broadcast.
      TypeError: the contracted sizes differ.
    """
    check_arraylike("matmul", a, b)
    preferred = _preferred(preferred_element_type, "matmul")
    return _matmul(
        a, b, precision=precision, preferred_element_type=preferred, out_sharding=out_sharding
    )


@composite
def matmul_operator(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Compute ``a @ b``."""
    check_arraylike("matmul", a, b)
    return _matmul(a, b, precision=None, preferred_element_type=None)


@composite(static_argnames=_OPTIONS)
def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Multiply the flattened arrays, the first one conjugated."""
    check_arraylike("vdot", a, b)
    if dtypes.is_complex(typeof(a).dtype):
        a = lax.conj(a)
    return dot(
        ravel(a), ravel(b), precision=precision, preferred_element_type=preferred_element_type
    )


@composite(static_argnames=("axes", "precision", "preferred_element_type", "out_sharding"))
def _tensordot(
    a: Array, b: Array, *, axes: Any, precision: Any, preferred_element_type: Any,
    out_sharding: Any,
) -> Array:  # fmt: skip
    a, b = promote_dtypes("tensordot", a, b)
    return _product(a, b, axes, ((), ()), precision, preferred_element_type, out_sharding)


def tensordot(
    a: ArrayLike, b: ArrayLike, axes: Any = 2, *, precision: Any = None,
    preferred_element_type: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Contract several dimensions of two arrays.

    Args:
      a, b: any shapes.
      axes: number of last dimensions of `a` and first of `b`, or a pair of axes of each.
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: the axes do not pair up.
    """
    check_arraylike("tensordot", a, b)
    rank_a, rank_b = typeof(a).ndim, typeof(b).ndim
    if isinstance(axes, tuple | list):
        if len(axes) != 2:
            raise TypeError(f"tensordot: given axes={axes!r}, expected an int or a pair.")
        pair = (
            canonicalize_axes(axes[0], rank_a, "tensordot"),
            canonicalize_axes(axes[1], rank_b, "tensordot"),
        )
        if len(pair[0]) != len(pair[1]):
            raise TypeError(f"tensordot: given axes={axes!r}, expected as many of each operand.")
    else:
        n = operator.index(axes) if hasattr(axes, "__index__") else -1
        if n < 0:
            raise TypeError(f"tensordot: given axes={axes!r}, expected an int >= 0 or a pair.")
        if n > min(rank_a, rank_b):
            raise TypeError(
                f"tensordot: given axes={n} for operands with {rank_a} and {rank_b} dimensions, "
                "expected at most the smaller number."
            )
        pair = (tuple(range(rank_a - n, rank_a)), tuple(range(n)))
    preferred = _preferred(preferred_element_type, "tensordot")
    return _tensordot(
        a, b, axes=pair, precision=precision, preferred_element_type=preferred,
        out_sharding=out_sharding,
    )  # fmt: skip


def _inner(a: Array, b: Array, *, precision: Any, preferred_element_type: Any) -> Array:
    a, b = promote_dtypes("inner", a, b)
    rank_a, rank_b = typeof(a).ndim, typeof(b).ndim
    if not rank_a or not rank_b:
        return lax.mul(a, b)
    contracting = ((rank_a - 1,), (rank_b - 1,))
    return _product(a, b, contracting, ((), ()), precision, preferred_element_type)


@composite(static_argnames=_OPTIONS)
def inner(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Contract the last dimensions of two arrays."""
    check_arraylike("inner", a, b)
    preferred = _preferred(preferred_element_type, "inner")
    return _inner(a, b, precision=precision, preferred_element_type=preferred)


@composite(static_argnames=("out",))
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Multiply each element of the flattened `a` with each of the flattened `b`."""
    if out is not None:
        raise NotImplementedError("outer: given out=, expected None: arrays can't be written to.")
    check_arraylike("outer", a, b)
    return multiply(ravel(a)[:, None], ravel(b)[None, :])
