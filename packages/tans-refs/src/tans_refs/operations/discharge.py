"""The operations as functions of the value that the ref holds."""

from typing import Any, Final

import tans_lax as lax
from tans_core.refs import Transforms
from tans_core.values import typeof
from tans_refs.operations import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)
from tans_refs.values import add_to_part, read_part, write_part
from tans_xla.discharge import DischargeContext, Updates, ended

type Value = Any
type Result = tuple[list[Value], Updates]


def _held(ctx: DischargeContext, value: Value) -> Value:
    """Return a value as a ref holds it: not weakly typed."""
    inner: Any = ctx.eqn.outvars[0].aval.inner_aval  # pyright: ignore[reportAttributeAccessIssue]
    return value if typeof(value) is inner else lax.convert_element_type(value, inner.dtype)


def _new_ref(ctx: DischargeContext, init: Value, **params: Any) -> Result:
    del params
    return [_held(ctx, init)], {}


def _empty_ref(ctx: DischargeContext, *, ty: Any, **params: Any) -> Result:
    del ctx, params
    return [lax.full(ty.shape, 0, ty.dtype)], {}


def _get(ctx: DischargeContext, ref: Value, *indices: Value, transforms: Transforms) -> Result:
    del ctx
    return [read_part(ref, transforms, indices)], {}


def _swap(
    ctx: DischargeContext, ref: Value, value: Value, *indices: Value, transforms: Transforms
) -> Result:
    old = read_part(ref, transforms, indices)
    del ctx
    return [old], {0: _typed(ref, write_part(ref, transforms, indices, value))}


def _addupdate(
    ctx: DischargeContext, ref: Value, value: Value, *indices: Value, transforms: Transforms
) -> Result:
    del ctx
    return [], {0: _typed(ref, add_to_part(ref, transforms, indices, value))}


def _typed(old: Value, new: Value) -> Value:
    aval: Any = typeof(old)
    return new if typeof(new) is aval else lax.convert_element_type(new, aval.dtype)


def _freeze(ctx: DischargeContext, ref: Value) -> Result:
    return [ref], {0: ended(ctx.eqn)}


def _free_ref(ctx: DischargeContext, ref: Value) -> Result:
    del ref
    return [], {0: ended(ctx.eqn)}


DISCHARGE: Final = {
    new_ref_p: _new_ref,
    empty_ref_p: _empty_ref,
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
    freeze_p: _freeze,
    free_ref_p: _free_ref,
}
