"""The common dtype of several operands.

Dtypes and the three weak kinds (Python int, float, complex: ``i*``, ``f*``, ``c*``) form a partial
order; the common dtype is the least upper bound of all operands at once, which is not the same as
joining them pair by pair. The result is weak when the bound is a weak kind. While x64 is off,
operands are narrowed first and so is the bound. In strict mode only the weak kinds lie below
anything else.

The join is memoised on the (dtype, weak) pairs: promotion is on the path of every operator.
"""

import functools
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from tans_core import dtypes
from tans_core.config import (
    ExplicitX64Mode,
    NumpyDtypePromotion,
    enable_x64,
    explicit_x64_dtypes,
    numpy_dtype_promotion,
)
from tans_core.dtypes import DType, DTypeLike
from tans_core.errors import TypePromotionError

type Node = np.dtype | type  # a dtype, or Python's int, float or complex for a weak kind
type WeakDType = tuple[DType, bool]

_WEAK: Final = (int, float, complex)
_dt = np.dtype
_BOOL: Final = _dt(bool)
_BF16: Final = _dt(dtypes.bfloat16)

# Direct edges upwards. Sub-byte integers and 8-bit floats are dead ends: nothing lies above them.
_STANDARD_EDGES: Final[dict[Node, tuple[Node, ...]]] = {
    _BOOL: (int,),
    int: (*dtypes.SMALL_INTS, _dt("int8"), _dt("uint8")),
    _dt("uint8"): (_dt("uint16"), _dt("int16")),
    _dt("uint16"): (_dt("uint32"), _dt("int32")),
    _dt("uint32"): (_dt("uint64"), _dt("int64")),
    _dt("uint64"): (float,),
    _dt("int8"): (_dt("int16"),),
    _dt("int16"): (_dt("int32"),),
    _dt("int32"): (_dt("int64"),),
    _dt("int64"): (float,),
    float: (*dtypes.SMALL_FLOATS, _BF16, _dt("float16"), complex),
    _BF16: (_dt("float32"),),
    _dt("float16"): (_dt("float32"),),
    _dt("float32"): (_dt("float64"), _dt("complex64")),
    _dt("float64"): (_dt("complex128"),),
    complex: (_dt("complex64"),),
    _dt("complex64"): (_dt("complex128"),),
}
_STRICT_EDGES: Final[dict[Node, tuple[Node, ...]]] = {
    int: (float, *(d for d in dtypes.ALL_DTYPES if d.kind in "iu" or d in dtypes.SMALL_INTS)),
    float: (complex, _BF16, *dtypes.SMALL_FLOATS, *map(_dt, ("float16", "float32", "float64"))),
    complex: (_dt("complex64"), _dt("complex128")),
}


def _upper_bounds(edges: dict[Node, tuple[Node, ...]]) -> dict[Node, frozenset[Node]]:
    """Return the nodes at or above each node (the reflexive, transitive closure)."""
    nodes = (*dtypes.ALL_DTYPES, *_WEAK)

    @functools.cache
    def above(node: Node) -> frozenset[Node]:
        return frozenset((node,)).union(*map(above, edges.get(node, ())))

    return {node: above(node) for node in nodes}


_BOUNDS: Final = {
    NumpyDtypePromotion.STANDARD: _upper_bounds(_STANDARD_EDGES),
    NumpyDtypePromotion.STRICT: _upper_bounds(_STRICT_EDGES),
}


def _least_upper_bound(mode: NumpyDtypePromotion, nodes: frozenset[Node]) -> Node:
    bounds = _BOUNDS[mode]
    common = frozenset[Node].intersection(*(bounds[node] for node in nodes))
    for node in common:
        if common <= bounds[node]:
            return node
    raise TypePromotionError(_no_bound_text(mode, nodes))


def _no_bound_text(mode: NumpyDtypePromotion, nodes: Iterable[Node]) -> str:
    names = " and ".join(sorted(_node_name(node) for node in nodes))
    text = f"dtype promotion: given {names}; expected dtypes with a common type to promote to"
    if mode is NumpyDtypePromotion.STRICT:
        return (
            f"{text}, and numpy_dtype_promotion is 'strict'. Convert explicitly with "
            "x.astype(...), or set numpy_dtype_promotion='standard'."
        )
    return (
        f"{text}; sub-byte integers and 8-bit floats have none with other dtypes. "
        "Convert explicitly, for example x.astype('float32')."
    )


def _node_name(node: Node) -> str:
    return f"a Python {node.__name__}" if isinstance(node, type) else str(node)


def _node(dtype: np.dtype, weak: bool) -> Node:
    if not weak or dtype == _BOOL:
        return dtype
    return {"i": int, "u": int, "f": float, "c": complex}.get(dtype.kind, dtype)


_memos: Final[dict[Any, dict[Any, WeakDType]]] = {}


def _memo() -> dict[Any, WeakDType]:
    key = (enable_x64.value, numpy_dtype_promotion.value, explicit_x64_dtypes.value)
    memo = _memos.get(key)
    return _memos.setdefault(key, {}) if memo is None else memo


def join(*operands: WeakDType) -> WeakDType:
    """Return the common (dtype, weak flag) of operands given as (dtype, weak flag).

    Raises:
      TypePromotionError: the dtypes have no common type.
    """
    memo = _memo()
    found = memo.get(operands)
    if found is None:
        # First insert wins; a join that raises leaves the memo as it was.
        found = memo.setdefault(operands, _join(operands))
    return found


def _join(operands: tuple[WeakDType, ...]) -> WeakDType:
    if any(dtypes.is_extended(dtype) or dtype == dtypes.float0 for dtype, _ in operands):
        return _join_unordered(operands)
    allow = explicit_x64_dtypes.value is ExplicitX64Mode.ALLOW
    narrow: Any = dtypes.native if allow else dtypes.canonicalize
    nodes = frozenset(_node(narrow(dtype), weak) for dtype, weak in operands)
    bound = _least_upper_bound(numpy_dtype_promotion.value, nodes)
    if isinstance(bound, type):
        return dtypes.default_dtype(bound), True
    wide = allow and bound in nodes
    return (bound if wide else dtypes.canonicalize(bound)), False


def _join_unordered(operands: tuple[WeakDType, ...]) -> WeakDType:
    first = operands[0][0]
    if all(dtype == first for dtype, _ in operands):
        return first, False
    names = " and ".join(sorted({str(dtype) for dtype, _ in operands}))
    raise TypePromotionError(
        f"dtype promotion: given {names}; expected equal dtypes, because keys and float0 promote "
        "with nothing else. Convert with random.key_data or random.wrap_key_data."
    )


def join_types(a: Any, b: Any) -> WeakDType:
    """Return the common (dtype, weak flag) of two array types; the fast path of operators."""
    return join((a.dtype, a.weak_type), (b.dtype, b.weak_type))


_SCALAR_OPERANDS: Final = {
    int: dtypes.default_int,
    float: dtypes.default_float,
    complex: dtypes.default_complex,
}


def weak_dtype_of(x: Any) -> WeakDType:
    """Return (dtype, weak flag) of an operand.

    Args:
      x: array, tracer, NumPy array or scalar, Python scalar; or a dtype, its name or a scalar
        class, where Python's `int`, `float`, `complex` are weak. None is the default float.

    Raises:
      TypeError: `x` has no dtype.
    """
    aval: Any = getattr(x, "aval", None)
    if aval is not None:
        return aval.dtype, aval.weak_type
    kind: Any = type(x)  # pyright: ignore[reportUnknownVariableType]  # x is anything
    if kind in _SCALAR_OPERANDS:
        return _SCALAR_OPERANDS[kind](), True
    if kind is bool:
        return _BOOL, False
    return _slow_weak_dtype_of(x)


def _is_numpy(x: Any) -> bool:
    return isinstance(x, np.generic | np.ndarray)


def _slow_weak_dtype_of(x: Any) -> WeakDType:
    if _is_weak_class(x):
        return _SCALAR_OPERANDS[x](), True
    if _is_numpy(x):
        return dtypes.canonicalize(x.dtype), False
    if dtypes.is_python_scalar(x):
        return _SCALAR_OPERANDS.get(dtypes_kind(x), lambda: _BOOL)(), not isinstance(x, bool)
    if type(x) in (list, tuple, dict, set):
        raise TypeError(
            f"result_type: given a {type(x).__name__}, expected an array, a scalar or a dtype. "
            "Convert it first: jnp.asarray(x)."
        )
    as_array: Any = getattr(x, "__jax_array__", None)
    if as_array is not None:
        return weak_dtype_of(as_array())
    allow = explicit_x64_dtypes.value is ExplicitX64Mode.ALLOW
    found = dtypes.native(x) if allow else dtypes.canonicalize(x)
    return found, bool(getattr(x, "weak_type", False))


def dtypes_kind(x: Any) -> type:
    """Return the Python scalar class of an instance, subclasses included."""
    return next(kind for kind in dtypes.PYTHON_SCALARS if isinstance(x, kind))


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that an operation on all the arguments has.

    Args:
      *args: arrays of any shape, tracers, scalars, dtypes, in any mix; at least one.
      return_weak_type_flag: also return whether the result is weak.

    Returns:
      The dtype, or (dtype, weak flag).

    Raises:
      ValueError: no arguments.
      TypePromotionError: the dtypes have no common type.
      TypeError: an argument has no dtype.

    Example:
      >>> import numpy as np
      >>> result_type(np.int8(1), 2)
      dtype('int8')
      >>> result_type(1, 2.5, return_weak_type_flag=True)
      (dtype('float32'), True)
    """
    if not args:
        raise ValueError("result_type: given no arguments, expected at least one array or dtype.")
    found = join(*map(weak_dtype_of, args))
    return found if return_weak_type_flag else found[0]


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype:
    """Return the common dtype of two dtypes; a 64-bit one is not narrowed.

    Args:
      a: a dtype, its name or a scalar class; Python's `int`, `float`, `complex` are weak.
      b: likewise.

    Raises:
      TypePromotionError: they have no common type.

    Example:
      >>> promote_types("uint64", "int32")
      dtype('float64')
    """
    nodes: list[Any] = [k if _is_weak_class(k) else dtypes.native(k) for k in (a, b)]
    if any(dtypes.is_extended(node) for node in nodes):
        return _join_unordered(tuple((node, False) for node in nodes))[0]  # type: ignore
    bound = np.dtype(_least_upper_bound(numpy_dtype_promotion.value, frozenset(nodes)))
    if any(_is_weak_class(node) or dtypes.canonicalize(node) != node for node in nodes):
        return bound
    # Two strong types without 64 bits, int32 and uint32, must not lead to one that can't exist.
    return dtypes.canonicalize(bound)


def _is_weak_class(kind: DTypeLike) -> bool:
    return isinstance(kind, type) and kind in _WEAK
