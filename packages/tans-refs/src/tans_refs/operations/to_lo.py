"""Refs to values of user types in low programs: one ref per part, read and written together."""

from typing import Any, Final

from tans_core.hi_types import LoRefs, lower_value, raise_value
from tans_core.refs import AbstractRef
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_refs.operations import addupdate_p, free_ref_p, freeze_p, get_p, new_ref_p, swap_p


def _new_ref(ctx: Any, init: Any, **params: Any) -> LoRefs:
    aval = typeof(init)
    parts = [new_ref_p.bind(x, **params) for x in lower_value(aval, init)]
    return LoRefs(AbstractRef(aval, params["memory_space"], params["kind"]), parts)


def _get(ctx: Any, ref: LoRefs, *, transforms: Any) -> Any:
    parts = [get_p.bind(r, transforms=transforms) for r in ref.refs]
    return raise_value(ref.aval.inner_aval, parts)


def _swap(ctx: Any, ref: LoRefs, value: Any, *, transforms: Any) -> Any:
    aval = ref.aval.inner_aval
    pairs = zip(ref.refs, lower_value(aval, value), strict=True)
    return raise_value(aval, [swap_p.bind(r, x, transforms=transforms) for r, x in pairs])


def _addupdate(ctx: Any, ref: LoRefs, value: Any, *, transforms: Any) -> list[Any]:
    aval: Any = ref.aval.inner_aval
    total = aval.vspace_add(_get(ctx, ref, transforms=transforms), value)
    _swap(ctx, ref, total, transforms=transforms)
    return []


def _freeze(ctx: Any, ref: LoRefs) -> Any:
    return raise_value(ref.aval.inner_aval, [freeze_p.bind(r) for r in ref.refs])


def _free_ref(ctx: Any, ref: LoRefs) -> list[Any]:
    for r in ref.refs:
        free_ref_p.bind(r)
    return []


TO_LO: Final = {
    new_ref_p: ContextRule(_new_ref),
    get_p: ContextRule(_get),
    swap_p: ContextRule(_swap),
    addupdate_p: ContextRule(_addupdate),
    freeze_p: ContextRule(_freeze),
    free_ref_p: ContextRule(_free_ref),
}
