"""The operations on concrete refs."""

from typing import Any, Final, NoReturn

from tans_core.refs import Transforms
from tans_refs import eager
from tans_refs.creation import concrete_ref
from tans_refs.operations import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)


def _get(ref: Any, *indices: Any, transforms: Transforms) -> Any:
    return eager.get(ref, transforms, indices)


def _swap(ref: Any, value: Any, *indices: Any, transforms: Transforms) -> Any:
    return eager.swap(ref, transforms, value, indices)


def _addupdate(ref: Any, value: Any, *indices: Any, transforms: Transforms) -> list[Any]:
    eager.addupdate(ref, transforms, value, indices)
    return []


def _freeze(ref: Any) -> Any:
    return eager.end(ref, "freeze", "was frozen")


def _free_ref(ref: Any) -> list[Any]:
    eager.end(ref, "free_ref", "was freed")
    return []


def _empty_ref(*, ty: Any, **params: Any) -> NoReturn:
    del params
    raise NotImplementedError(
        f"empty_ref: given the type {ty.str_short(False)} outside of traced code; expected a call "
        "inside of jit. Use new_ref(jnp.empty(shape, dtype))."
    )


EVALUATION: Final = {
    new_ref_p: concrete_ref,
    empty_ref_p: _empty_ref,
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
    freeze_p: _freeze,
    free_ref_p: _free_ref,
}
