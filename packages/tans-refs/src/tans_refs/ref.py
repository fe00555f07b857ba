"""`Ref`: a mutable array, and the methods that traced refs and views share with it."""

from functools import partial
from typing import Any, NoReturn, override

import numpy as np

from tans_core.refs import AbstractRef, Bitcast, RefCell, Reshape, Transpose, is_ref_type
from tans_core.slots import OPERATORS
from tans_core.trace import Tracer
from tans_refs import eager
from tans_refs.access import (
    TransformedRef,
    addupdate,
    base_of,
    get,
    set,
    swap,
    transformed,
    view_of,
)

type Value = Any


class _At:
    """``ref.at``: indexing makes a view."""

    __slots__ = ("_ref",)

    def __init__(self, ref: Any) -> None:
        self._ref = ref

    def __getitem__(self, idx: Any) -> TransformedRef:
        return view_of(self._ref, idx)


def _get(ref: Any, idx: Any = ()) -> Value:
    """Read the part at `idx`."""
    return get(ref, idx)


def _set(ref: Any, value: Value, idx: Any = ()) -> None:
    """Write the part at `idx`."""
    set(ref, idx, value)


def _swap(ref: Any, value: Value, idx: Any = ()) -> Value:
    """Write the part at `idx` and return what was there."""
    return swap(ref, idx, value)


def _addupdate(ref: Any, x: Value, idx: Any = ()) -> None:
    """Add to the part at `idx`."""
    addupdate(ref, idx, x)


def _reshape(ref: Any, *shape: Any) -> TransformedRef:
    """View the ref in another shape; one size may be -1."""
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    known = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
    total = base_of(ref, "reshape")[3].size
    rest = total // known if known else 0
    return transformed(ref, Reshape(tuple(int(rest if n == -1 else n) for n in sizes)))


def _transpose(ref: Any, *axes: Any) -> TransformedRef:
    """View the ref with its dimensions permuted, reversed without `axes`."""
    ndim = base_of(ref, "transpose")[3].ndim
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
    return transformed(ref, Transpose(tuple(int(a) for a in given) or tuple(reversed(range(ndim)))))


def _bitcast(ref: Any, dtype: Any) -> TransformedRef:
    """View the bits of the ref as another dtype of the same width."""
    return transformed(ref, Bitcast(np.dtype(dtype)))


def _memory_space_cast(ref: Any, memory_space: Any) -> NoReturn:
    raise NotImplementedError(
        f"memory_space_cast: given the memory space {memory_space!r}; expected no cast, because "
        "a ref stays where it was made. Make a ref there with new_ref(x, memory_space=...)."
    )


def _no_iteration(ref: Any) -> NoReturn:
    raise TypeError(
        "given a ref to iterate over; expected an array. Iterate over its value: for x in ref[...]."
    )


def _no_bool(ref: Any) -> NoReturn:
    raise TypeError(
        f"bool: given a {base_of(ref, 'bool')[3].str_short(False)} as a condition; expected a "
        "value. Read it: write ref[...] instead of ref, or ref is None to see whether there is one."
    )


def _no_array(ref: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"given a {base_of(ref, 'asarray')[3].str_short(False)} in the place of an array. Read "
        "its value: write ref[...] instead of ref."
    )


_METHODS = {
    "__getitem__": _get,
    "__setitem__": set,
    "__iter__": _no_iteration,
    "__bool__": _no_bool,
    "get": _get,
    "set": _set,
    "swap": _swap,
    "addupdate": _addupdate,
    "reshape": _reshape,
    "transpose": _transpose,
    "bitcast": _bitcast,
    "memory_space_cast": _memory_space_cast,
}
_PROPERTIES = {"at": _At, "T": _transpose}


class _RefMeta(type):
    """Makes traced refs instances of `Ref`."""

    @override
    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return isinstance(instance, Tracer) and is_ref_type(instance.aval)


class Ref(RefCell, metaclass=_RefMeta):
    """A mutable array of fixed shape, dtype and sharding; made by `new_ref`.

    ``ref[index]`` reads and ``ref[index] = value`` writes in place, inside and outside of
    transformed functions. Traced refs, inside, are instances too.

    Example:
      >>> import numpy as np
      >>> from tans_refs import new_ref
      >>> r = new_ref(np.zeros(3))
      >>> r[1] = 2.0
      >>> r[1:].tolist()
      [2.0, 0.0]
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    @property
    def sharding(self) -> Any:
        """Where the elements are."""
        return self.take("sharding").sharding

    @property
    def format(self) -> Any:
        """Layout and sharding."""
        return self.take("format").format

    @property
    def committed(self) -> bool:
        """Whether the ref stays on its devices; always."""
        return True

    def unsafe_buffer_pointer(self) -> int:
        """Return where the buffer starts, for tests."""
        return self.take("unsafe_buffer_pointer").unsafe_buffer_pointer()

    def __len__(self) -> int:
        return len(self.aval)

    def __copy__(self) -> "Ref":
        return self

    def __deepcopy__(self, memo: Any) -> "Ref":
        with self.lock:
            return Ref(self.aval, eager.copied(self.take("deepcopy")))

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        with self.lock:
            return Ref, (self.aval, eager.copied(self.take("pickle")))

    @override
    def __repr__(self) -> str:
        with self.lock:
            if self.ended is not None:
                return f"<{self.aval.str_short(False)} that {self.ended}>"
            text = repr(self.take())
        return text.replace("Array", "Ref", 1)


def _fill(cls: Any) -> None:
    for name, function in _METHODS.items():
        setattr(cls, name, function)
    for name, function in _PROPERTIES.items():
        setattr(cls, name, property(function))
    for name in ("shape", "dtype", "ndim", "size"):
        if name not in vars(cls) and cls is TransformedRef:
            setattr(cls, name, property(lambda view, name=name: getattr(view.aval, name)))
    for name in OPERATORS:
        if name not in ("__eq__", "__ne__", "__getitem__", "__iter__"):
            setattr(cls, name, _operator(name))
    cls.__array__ = _no_array


def _operator(name: str) -> Any:
    def operator(ref: Any, *others: Any) -> NoReturn:
        raise TypeError(
            f"{name.strip('_')}: given a {base_of(ref, name)[3].str_short(False)} as an operand; "
            "expected an array. Read its value: write ref[...] instead of ref."
        )

    operator.__name__ = name
    return operator


def install() -> None:
    """Give refs, views and traced refs their methods."""
    _fill(Ref)
    _fill(TransformedRef)
    for name, function in _METHODS.items():
        setattr(AbstractRef, f"_aval_{name}", staticmethod(_bound(function)))
    for name, function in _PROPERTIES.items():
        setattr(AbstractRef, f"_aval_{name}", staticmethod(function))


def _bound(function: Any) -> Any:
    return lambda tracer: partial(function, tracer)


install()
