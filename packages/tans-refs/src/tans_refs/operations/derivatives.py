"""Derivatives: every ref that is made has a tangent ref beside it.

The transpose of a linear program with tangent refs runs backwards on cotangent refs: a read adds,
a write takes the cotangent out and leaves that of what it overwrote (zero, or the cotangent of the
old value).
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.accumulators import AccumRule, GradAccum
from tans_core.dtypes import float0
from tans_core.refs import NO_GRAD_NO_REMAT, Transforms
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_core.zeros import Zero, is_zero
from tans_lax.rows import instantiate_zeros, zeros_like_aval
from tans_refs.operations import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)

type Value = Any
type Tangent = Any  # a value, a ref, or a symbolic zero


# ---- forward mode --------------------------------------------------------------------------------


def _is_constant(aval: Any) -> bool:
    """Whether refs of a type have no tangent."""
    tangent = aval.inner_aval.to_tangent()
    return aval.kind == NO_GRAD_NO_REMAT or getattr(tangent, "dtype", None) == float0


def _new_ref(primals: Sequence[Value], tangents: Sequence[Tangent], **params: Any) -> Any:
    ref = new_ref_p.bind(*primals, **params)
    if _is_constant(typeof(ref)):
        return ref, Zero(typeof(ref).to_tangent())
    return ref, new_ref_p.bind(instantiate_zeros(tangents[0]), **params)


def _new_ref_linearize(
    ctx: Any, primals: Sequence[Value], tangents: Sequence[Tangent], **params: Any
) -> Any:
    ref = new_ref_p.bind(*primals, **params)
    if _is_constant(typeof(ref)):
        return ref, Zero(typeof(ref).to_tangent())
    return ref, ctx.record(new_ref_p, instantiate_zeros(tangents[0]), **params)


def _empty_ref(primals: Sequence[Value], tangents: Sequence[Tangent], **params: Any) -> Any:
    del primals, tangents
    ref = empty_ref_p.bind(**params)
    if _is_constant(typeof(ref)):
        return ref, Zero(typeof(ref).to_tangent())
    return ref, empty_ref_p.bind(**_tangent_params(params))


def _empty_ref_linearize(
    ctx: Any, primals: Sequence[Value], tangents: Sequence[Tangent], **params: Any
) -> Any:
    del primals, tangents
    ref = empty_ref_p.bind(**params)
    if _is_constant(typeof(ref)):
        return ref, Zero(typeof(ref).to_tangent())
    return ref, ctx.record(empty_ref_p, **_tangent_params(params))


def _tangent_params(params: dict[str, Any]) -> dict[str, Any]:
    return params | {"ty": params["ty"].to_tangent()}


def _freeze(primals: Sequence[Value], tangents: Sequence[Tangent]) -> Any:
    (ref,), (ref_dot,) = primals, tangents
    out = freeze_p.bind(ref)
    return out, Zero(typeof(out).to_tangent()) if is_zero(ref_dot) else freeze_p.bind(ref_dot)


def _free_ref(primals: Sequence[Value], tangents: Sequence[Tangent]) -> Any:
    free_ref_p.bind(*primals)
    if not is_zero(tangents[0]):
        free_ref_p.bind(*tangents)
    return [], []


def _get(primals: Sequence[Value], tangents: Sequence[Tangent], *, transforms: Transforms) -> Any:
    (ref, *indices), (ref_dot, *_) = primals, tangents
    out = get_p.bind(ref, *indices, transforms=transforms)
    if is_zero(ref_dot):
        return out, Zero(typeof(out).to_tangent())
    return out, get_p.bind(ref_dot, *indices, transforms=transforms)


def _swap(primals: Sequence[Value], tangents: Sequence[Tangent], *, transforms: Transforms) -> Any:
    (ref, value, *indices), (ref_dot, value_dot, *_) = primals, tangents
    if is_zero(ref_dot):
        _check_constant("swap", ref, value_dot)
        old = swap_p.bind(ref, value, *indices, transforms=transforms)
        return old, Zero(typeof(old).to_tangent())
    old = swap_p.bind(ref, value, *indices, transforms=transforms)
    value_dot = instantiate_zeros(value_dot)
    return old, swap_p.bind(ref_dot, value_dot, *indices, transforms=transforms)


def _addupdate(
    primals: Sequence[Value], tangents: Sequence[Tangent], *, transforms: Transforms
) -> Any:
    (ref, value, *indices), (ref_dot, value_dot, *_) = primals, tangents
    if is_zero(ref_dot):
        _check_constant("addupdate", ref, value_dot)
    addupdate_p.bind(ref, value, *indices, transforms=transforms)
    if not is_zero(ref_dot) and not is_zero(value_dot):
        addupdate_p.bind(ref_dot, value_dot, *indices, transforms=transforms)
    return [], []


def _check_constant(name: str, ref: Value, value_dot: Tangent) -> None:
    """Refuse to write a differentiated value to a ref that is not differentiated."""
    aval = typeof(ref)
    if is_zero(value_dot) or aval.kind == NO_GRAD_NO_REMAT:
        return
    raise ValueError(
        f"{name}: given a differentiated value for a non-differentiated ref of type "
        f"{aval.str_short(False)}; expected a value that does not depend on what is "
        "differentiated. Write lax.stop_gradient(value), give the ref to the differentiated "
        f"function as an argument, or make it with kind={NO_GRAD_NO_REMAT!r}."
    )


# ---- reverse mode --------------------------------------------------------------------------------


def _new_ref_transpose(ctx: Any, ct: Value, init: Any, **params: Any) -> None:
    del ctx, params
    if isinstance(init, GradAccum):
        init.accum(ct)


def _empty_ref_transpose(ctx: Any, ct: Value, **params: Any) -> None:
    del ctx, ct, params


def _freeze_transpose(ctx: Any, ct: Value, ref: Any) -> None:
    del ctx
    ref.accum(ct)


def _free_ref_transpose(ctx: Any, ct: Value, ref: Any) -> None:
    del ctx, ct, ref


def _get_transpose(ctx: Any, ct: Value, ref: Any, *indices: Value, transforms: Transforms) -> None:
    del ctx
    if not is_zero(ct):
        ref.accum_at((transforms, indices), ct, None)


def _swap_transpose(
    ctx: Any, ct: Value, ref: Any, value: Any, *indices: Value, transforms: Transforms
) -> None:
    del ctx
    old_ct = zeros_like_aval(ct.aval) if is_zero(ct) else ct
    value_ct = swap_p.bind(ref.ref, old_ct, *indices, transforms=transforms)
    if isinstance(value, GradAccum):
        value.accum(value_ct)


def _addupdate_transpose(
    ctx: Any, ct: Value, ref: Any, value: Any, *indices: Value, transforms: Transforms
) -> None:
    del ctx, ct
    if isinstance(value, GradAccum) and value.kind != "null":
        value.accum(get_p.bind(ref.ref, *indices, transforms=transforms))


JVP: Final = {
    new_ref_p: _new_ref,
    empty_ref_p: _empty_ref,
    freeze_p: _freeze,
    free_ref_p: _free_ref,
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
}

LINEARIZE: Final = {
    new_ref_p: ContextRule(_new_ref_linearize),
    empty_ref_p: ContextRule(_empty_ref_linearize),
}

TRANSPOSE: Final = {
    new_ref_p: AccumRule(_new_ref_transpose),
    empty_ref_p: AccumRule(_empty_ref_transpose),
    freeze_p: AccumRule(_freeze_transpose),
    free_ref_p: AccumRule(_free_ref_transpose),
    get_p: AccumRule(_get_transpose),
    swap_p: AccumRule(_swap_transpose),
    addupdate_p: AccumRule(_addupdate_transpose),
}
