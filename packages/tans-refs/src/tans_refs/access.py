"""Reading and writing refs, traced refs and views of them."""

from typing import Any, override

import numpy as np

from tans_core import tree_util
from tans_core.dtype_queries import issubdtype
from tans_core.dtypes import is_inexact
from tans_core.hi_types import is_hi_type
from tans_core.refs import (
    RefCell,
    RefView,
    Transform,
    Transforms,
    addupdate_p,
    get_p,
    is_ref_type,
    swap_p,
)
from tans_core.state import state
from tans_core.trace import Tracer, eval_trace
from tans_core.values import is_value, typeof
from tans_lax.conversion import convert_element_type
from tans_refs import eager
from tans_refs.indexing import leaf_types, parse_index
from tans_refs.parts import part_type

type Value = Any


class TransformedRef(RefView):
    """A view of a part of a ref; reads and writes go to the ref.

    Made by ``ref.at[index]`` and by the methods `reshape`, `transpose` and `bitcast`.

    Attributes:
      ref: the ref.
      transforms: the chain that selects the part.
      indices: its dynamic operands.
    """

    __slots__ = ("aval", "indices", "ref", "transforms")

    def __init__(self, ref: Any, transforms: Transforms, indices: tuple[Any, ...]) -> None:
        self.ref = ref
        self.transforms = transforms
        self.indices = indices
        inner = part_type(typeof(ref).inner_aval, transforms, leaf_types(indices))
        self.aval = typeof(ref).update(inner_aval=inner)

    def __repr__(self) -> str:
        return f"<view of type {self.aval.str_short(False)}>"

    @override
    def opened(self) -> "OpenView":
        return OpenView(self.transforms, (self.ref, *self.indices))


class OpenView:
    """A view as a tree: its leaves are the ref and the dynamic indices."""

    __slots__ = ("parts", "transforms")

    def __init__(self, transforms: Transforms, parts: tuple[Any, ...]) -> None:
        self.transforms = transforms
        self.parts = parts

    @staticmethod
    def closed(transforms: Transforms, parts: Any) -> Any:
        """Return the view, or the tree when its leaves are placeholders."""
        ref, *indices = parts
        if isinstance(ref, RefCell) or (isinstance(ref, Tracer) and is_ref_type(ref.aval)):
            return TransformedRef(ref, transforms, tuple(indices))
        return OpenView(transforms, tuple(parts))


tree_util.register_pytree_node(OpenView, lambda v: (v.parts, v.transforms), OpenView.closed)


def base_of(target: Any, operation: str) -> tuple[Any, Transforms, tuple[Any, ...], Any]:
    """Return the ref, the transforms and indices of a target, and its type.

    Raises:
      TypeError: neither a ref nor a view.
    """
    if isinstance(target, TransformedRef):
        return target.ref, target.transforms, target.indices, target.aval
    if isinstance(target, RefCell) or (isinstance(target, Tracer) and is_ref_type(target.aval)):
        return target, (), (), target.aval
    raise TypeError(
        f"{operation}: given {_shown(target)}; expected a ref or a view of one. Make a ref with "
        "new_ref."
    )


def _shown(x: Any) -> str:
    if is_value(x):
        return f"a value of type {typeof(x).str_short(False)}"
    return f"{x!r} of type {type(x).__name__}"


def view_of(target: Any, idx: Any) -> TransformedRef:
    """Return the view of a part of a ref or view, without reading it."""
    ref, transforms, indices, aval = base_of(target, "at")
    more, leaves = parse_index(idx, getattr(aval, "shape", ()))
    return TransformedRef(ref, (*transforms, *more), (*indices, *leaves))


def transformed(target: Any, transform: Transform) -> TransformedRef:
    """Return the view of a whole ref or view in another form."""
    ref, transforms, indices, _ = base_of(target, "view")
    return TransformedRef(ref, (*transforms, transform), indices)


def get(ref: Any, idx: Any = None) -> Value:
    """Read a ref.

    Args:
      ref: ref or view of one, of any shape and dtype.
      idx: which part: int, slice, ``...``, `ds`, integer array, or a tuple of them. None reads the
        whole.

    Returns:
      What the part holds, an array that later writes don't change. Array indices out of range
      read the nearest element.

    Raises:
      ValueError: a Python index is out of range, or the ref has ended.
      TypeError: not a ref, or not an index.

    Example:
      >>> import numpy as np
      >>> from tans_refs import new_ref
      >>> get(new_ref(np.arange(5)), slice(1, 3)).tolist()
      [1, 2]
    """
    base, transforms, indices, aval = base_of(ref, "get")
    more, leaves = parse_index(idx, getattr(aval, "shape", ()))
    transforms, indices = (*transforms, *more), (*indices, *leaves)
    if state.trace is eval_trace and isinstance(base, RefCell):
        return eager.get(base, transforms, indices)
    return get_p.bind(base, *indices, transforms=transforms)


def set(ref: Any, idx: Any, value: Value) -> None:
    """Write a ref.

    Args:
      ref: ref or view of one.
      idx: which part; see `get`.
      value: array of exactly the part's shape and dtype. A Python float becomes any floating
        dtype, an integer any integer dtype. Array indices out of range are not written.

    Raises:
      ValueError: another shape or dtype, a Python index out of range, or the ref has ended.
      TypeError: not a ref, or not an index.

    Example:
      >>> import numpy as np
      >>> from tans_refs import new_ref
      >>> r = new_ref(np.zeros(3))
      >>> set(r, 1, 5.0)
      >>> r
      Ref([0., 5., 0.], dtype=float32)
    """
    _write("set", ref, idx, value, wants_old=False)


def swap(ref: Any, idx: Any, value: Value) -> Value:
    """Write a ref and return what was there; see `set`.

    Example:
      >>> import numpy as np
      >>> from tans_refs import new_ref
      >>> int(swap(new_ref(np.arange(5)), 3, 10))
      3
    """
    return _write("swap", ref, idx, value, wants_old=True)


def _write(name: str, ref: Any, idx: Any, value: Value, wants_old: bool) -> Value:
    base, transforms, indices, aval = base_of(ref, name)
    more, leaves = parse_index(idx, getattr(aval, "shape", ()))
    transforms, indices = (*transforms, *more), (*indices, *leaves)
    if not is_hi_type(aval):
        value = _converted(name, value, aval.dtype)
    if state.trace is eval_trace and isinstance(base, RefCell):
        write = eager.swap if wants_old else eager.put
        return write(base, transforms, value, indices)
    old = swap_p.bind(base, value, *indices, transforms=transforms)
    return old if wants_old else None


def addupdate(ref: Any, idx: Any, x: Value) -> None:
    """Add to a ref in place.

    Unlike ``ref[idx] += x``, an index that occurs several times adds several times.

    Args:
      ref: ref or view of one.
      idx: which part; see `get`.
      x: array of exactly the part's shape and dtype, converted as by `set`.

    Raises:
      ValueError: another shape or dtype, a Python index out of range, or the ref has ended.
      TypeError: not a ref, or not an index.

    Example:
      >>> import numpy as np
      >>> from tans_refs import new_ref
      >>> r = new_ref(np.zeros(3))
      >>> addupdate(r, np.array([1, 1]), np.ones(2, np.float32))
      >>> r
      Ref([0., 2., 0.], dtype=float32)
    """
    base, transforms, indices, aval = base_of(ref, "addupdate")
    more, leaves = parse_index(idx, getattr(aval, "shape", ()))
    transforms, indices = (*transforms, *more), (*indices, *leaves)
    x = _converted("addupdate", x, aval.dtype)
    if state.trace is eval_trace and isinstance(base, RefCell):
        eager.addupdate(base, transforms, x, indices)
    else:
        addupdate_p.bind(base, x, *indices, transforms=transforms)


def _converted(name: str, value: Value, dtype: Any) -> Value:
    """Return a value that may be written to elements of a dtype as that dtype."""
    aval: Any = value.aval if isinstance(value, RefView) else typeof(value)
    if is_ref_type(aval):
        raise TypeError(
            f"{name}: given a ref of type {aval.str_short(False)} as the value; expected an array. "
            "Read it: write value[...]."
        )
    given = getattr(aval, "dtype", None)
    if given is None or given == dtype or not hasattr(dtype, "kind"):
        return value
    is_float = is_inexact(dtype) and is_inexact(given) and dtype.kind != "c" and given.kind != "c"
    both_ints = issubdtype(given, np.integer) and issubdtype(dtype, np.integer)
    if (is_float and aval.weak_type) or both_ints:
        return convert_element_type(value, dtype)
    return value
