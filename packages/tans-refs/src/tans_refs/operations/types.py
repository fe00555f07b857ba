"""Types and effects of the operations on refs."""

from typing import Any, Final

from tans_core.refs import (
    AbstractRef,
    AccumEffect,
    ReadEffect,
    Transforms,
    WriteEffect,
    internal_effect,
    is_ref_type,
)
from tans_core.rules import Typed
from tans_refs.operations import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)
from tans_refs.parts import part_type

_INTERNAL: Final = frozenset((internal_effect,))
_READ: Final = frozenset((ReadEffect(0),))
_WRITE: Final = frozenset((WriteEffect(0),))
_ACCUM: Final = frozenset((AccumEffect(0),))


def _new_ref(init: Any, *, kind: Any, memory_space: Any, pin: bool) -> Typed:
    del pin
    if is_ref_type(init):
        raise TypeError(
            f"new_ref: given a ref of type {init.str_short(False)} as the initial value; expected "
            "an array, because refs of refs are not supported. Pass ref[...], its value."
        )
    return Typed(AbstractRef(init, memory_space, kind), _INTERNAL)


def _empty_ref(*, ty: Any, memory_space: Any, pin: bool) -> Typed:
    del pin
    return Typed(AbstractRef(ty, memory_space), _INTERNAL)


def _freeze(ref: Any) -> Typed:
    return Typed(_inner("freeze", ref), _INTERNAL)


def _free_ref(ref: Any) -> tuple[()]:
    _inner("free_ref", ref)
    return ()


def _get(ref: Any, *indices: Any, transforms: Transforms) -> Typed:
    return Typed(part_type(_inner("get", ref), transforms, indices), _READ)


def _swap(ref: Any, value: Any, *indices: Any, transforms: Transforms) -> Typed:
    part = part_type(_inner("swap", ref), transforms, indices)
    _check_value("swap", ref, part, value)
    return Typed(part, _WRITE)


def _addupdate(ref: Any, value: Any, *indices: Any, transforms: Transforms) -> Typed:
    part = part_type(_inner("addupdate", ref), transforms, indices)
    _check_value("addupdate", ref, part, value)
    return Typed((), _ACCUM)


def _inner(name: str, ref: Any) -> Any:
    if not is_ref_type(ref):
        raise ValueError(
            f"{name}: given a value of type {ref.str_short(False)} as the ref; expected a ref. "
            "Make one with new_ref."
        )
    return ref.inner_aval


def _check_value(name: str, ref: Any, part: Any, value: Any) -> None:
    """Refuse a value that does not have the type of the part that it is written to."""
    value = value.strong()
    if value is part or (not part.is_interned and value == part):
        return
    where = f"{name} of a {ref.str_short(False)}"
    wanted = f"{value.str_short(False)}; expected {part.str_short(False)}"
    if getattr(value, "shape", None) != getattr(part, "shape", None):
        raise ValueError(
            f"{where}: invalid shape: given a value of type {wanted}, the type of the part that "
            "the index selects. Writes don't broadcast: use jnp.broadcast_to, or jnp.full."
        )
    if getattr(value, "dtype", None) != getattr(part, "dtype", None):
        raise ValueError(
            f"{where}: invalid dtype: given a value of type {wanted}. Convert it with "
            f".astype({str(part.dtype)!r})."
        )
    if part.manual_axes != value.manual_axes:
        raise ValueError(
            f"{where}: given a value that varies along the manual mesh axes "
            f"{sorted(value.manual_axes)}, {wanted}, which varies along "
            f"{sorted(part.manual_axes)}. Reduce the value with psum, or start the ref from a "
            "value that varies: pcast(x, axes, to='varying')."
        )
    raise ValueError(
        f"{where}: invalid sharding: given a value of type {wanted}. Move it with reshard."
    )


TYPES: Final = {
    new_ref_p: _new_ref,
    empty_ref_p: _empty_ref,
    freeze_p: _freeze,
    free_ref_p: _free_ref,
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
}
