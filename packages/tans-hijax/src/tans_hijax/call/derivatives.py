"""Derivatives of user primitives: the rules in their classes."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.accumulators import NullAccum
from tans_autodiff.remat import ALWAYS_SAVED, name_p, phase_p
from tans_core import tree
from tans_core.accumulators import AccumRule
from tans_core.context import merge
from tans_core.errors import message
from tans_core.rules import ContextRule
from tans_core.state import state
from tans_core.values import typeof
from tans_core.zeros import Zero, zero_tangent
from tans_hijax.call import hi_call_p, hi_lin_p
from tans_hijax.call.expansion import refuse_forward_mode
from tans_hijax.errors import brief, check_types, flat_values, naming, where
from tans_hijax.forward import Forward, run_forward

type Value = Any


def _call_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, prim: Any
) -> tuple[list[Value], list[Value]]:
    with naming(prim, "jvp"):
        found = prim.jvp(prim.in_tree.unflatten(primals), prim.in_tree.unflatten(tangents))
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(
            message(
                where(prim, "jvp"),
                f"a result {brief(found)}",
                "a pair: the output and its tangent",
                "Return (out, out_tangent).",
            )
        )
    outs = flat_values(prim, "jvp", found[0], prim.out_tree, "an output")
    check_types(prim, "jvp", outs, prim.out_avals_flat, "output")
    return outs, _flat_tangents(prim, "jvp", found[1], prim.out_avals_flat)


def _flat_tangents(prim: Any, rule: str, out_tangent: Any, avals: Sequence[Any]) -> list[Value]:
    found = flat_values(prim, rule, out_tangent, prim.out_tree, "an output tangent")
    check_types(prim, rule, found, [a.to_tangent() for a in avals], "output tangent")
    return found


def _call_linearize(
    ctx: Any, primals: Sequence[Value], tangents: Sequence[Value], *, prim: Any
) -> tuple[list[Value], list[Value]]:
    nz = tuple(type(t) is not Zero for t in tangents)
    reverse = not ctx.forward
    if reverse and prim.defines("vjp_fwd"):
        return _linearize_for_reverse(prim, nz, primals, tangents)
    if prim.defines("lin"):
        return _linearize_for_forward(prim, nz, primals, tangents)
    if prim.defines("jvp"):
        return _call_jvp(primals, tangents, prim=prim)
    rule = "vjp_fwd" if reverse else "lin"
    return getattr(prim, rule)(prim.in_tree.unflatten(nz), *prim.in_tree.unflatten(primals))


def _linearize_for_forward(
    prim: Any, nz: Sequence[bool], primals: Sequence[Value], tangents: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    found = run_forward(prim, "lin", nz, primals)
    saved = (found.res, found.sres) if found.structured else (found.res,)
    with naming(prim, "linearized"):
        out_tangent = prim.linearized(*saved, *prim.in_tree.unflatten(tangents))
    leaves = _flat_tangents(prim, "linearized", out_tangent, prim.out_avals_flat)
    return found.outs, [
        t if flag else zero_tangent(typeof(x))
        for t, flag, x in zip(leaves, found.nz_out, found.outs, strict=True)
    ]


def _linearize_for_reverse(
    prim: Any, nz: tuple[bool, ...], primals: Sequence[Value], tangents: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    found = run_forward(prim, "vjp_fwd", nz, primals)
    if found.structured and not prim.defines("vjp_bwd"):
        raise TypeError(
            message(
                where(prim, "vjp_fwd"),
                "structured residuals returned by a class that does not define `vjp_bwd`",
                "a backward rule that takes them: vjp_bwd(res, sres, ct, *accums)",
                f"Define {type(prim).__name__}.vjp_bwd.",
            )
        )
    if prim.defines("remat"):
        found = found._replace(outs=_in_two_phases(prim, primals))
    zeros = [zero_tangent(typeof(x)) for x in found.outs]
    if not any(found.nz_out):
        return found.outs, zeros
    with naming(prim, "vjp_fwd"):
        out_tangents = _bind_lin(prim, nz, found, [t for t in tangents if type(t) is not Zero])
    unused = [z for z, flag in zip(zeros, found.nz_out, strict=True) if not flag]
    return found.outs, merge(found.nz_out, unused, out_tangents)


def _in_two_phases(prim: Any, primals: Sequence[Value]) -> list[Value]:
    """Return outputs that a checkpointed backward pass computes anew as the rule `remat` says."""
    args = prim.in_tree.unflatten(primals)
    with naming(prim, "remat"):
        found = prim.remat(state.trace, *args)
    if not isinstance(found, tuple) or len(found) != 3:
        raise TypeError(
            message(
                where(prim, "remat"),
                f"a result {brief(found)}",
                "three things: output, what to save, and how the output is made anew",
                "Return (out, res, rem) with rem(res, *args).",
            )
        )
    out, res, rem = found
    saved = tree.map(lambda x: name_p.bind(x, name=ALWAYS_SAVED), res)
    with naming(prim, "remat"):
        again = rem(saved, *args)
    pair = [flat_values(prim, "remat", x, prim.out_tree, "an output") for x in (out, again)]
    for outs in pair:
        check_types(prim, "remat", outs, prim.out_avals_flat, "output")
    return [phase_p.bind(x, y) for x, y in zip(*pair, strict=True)]


def _bind_lin(
    prim: Any, nz: tuple[bool, ...], found: Forward, tangents: Sequence[Value]
) -> list[Value]:
    res, res_tree = tree.flatten(found.res)
    sres, sres_tree = tree.flatten(found.sres)
    return hi_lin_p.bind(
        *res,
        *sres,
        *tangents,
        prim=prim,
        res_tree=res_tree,
        sres_tree=sres_tree if found.structured else None,
        nz_in=nz,
        nz_out=found.nz_out,
    )


def _lin_transpose(
    ctx: Any,
    cts: Sequence[Value],
    *operands: Any,
    prim: Any,
    res_tree: Any,
    sres_tree: Any,
    nz_in: tuple[bool, ...],
    nz_out: tuple[bool, ...],
) -> Any:
    """Run `vjp_bwd`; operands are residuals, structured residuals, and accumulators."""
    n_res = res_tree.num_leaves
    n_sres = 0 if sres_tree is None else sres_tree.num_leaves
    saved = [res_tree.unflatten(operands[:n_res])]
    if sres_tree is not None:
        saved.append(sres_tree.unflatten(operands[n_res : n_res + n_sres]))
    unwanted = [
        NullAccum(a.to_cotangent())
        for a, nz in zip(prim.in_avals_flat, nz_in, strict=True)
        if not nz
    ]
    accums = merge(nz_in, unwanted, operands[n_res + n_sres :])
    zeros = [
        Zero(a.to_cotangent()) for a, nz in zip(prim.out_avals_flat, nz_out, strict=True) if not nz
    ]
    ct = prim.out_tree.unflatten(merge(nz_out, zeros, cts))
    with naming(prim, "vjp_bwd"):
        logs = prim.vjp_bwd(*saved, ct, *prim.in_tree.unflatten(accums))
    return _checked_logs(prim, "vjp_bwd", logs)


def _call_transpose(ctx: Any, cts: Sequence[Value], *operands: Any, prim: Any) -> Any:
    """Run `transpose`; operands are values, or accumulators where they are linear."""
    ct = prim.out_tree.unflatten(cts)
    with naming(prim, "transpose"):
        logs = prim.transpose(ct, *prim.in_tree.unflatten(operands))
    return _checked_logs(prim, "transpose", logs)


def _checked_logs(prim: Any, rule: str, logs: Any) -> Any:
    if logs is not None and not isinstance(logs, dict):
        raise TypeError(
            message(
                where(prim, rule),
                f"a result {brief(logs)}",
                "None, or a dict of entries for the log of the backward pass",
                "Return {} or None; cotangents go into the accumulators.",
            )
        )
    return logs


JVP: Final = {hi_call_p: _call_jvp, hi_lin_p: refuse_forward_mode}
LINEARIZE: Final = {hi_call_p: ContextRule(_call_linearize)}
TRANSPOSE: Final = {hi_call_p: AccumRule(_call_transpose), hi_lin_p: AccumRule(_lin_transpose)}
