"""Derivatives of mapped functions: derived functions, mapped in the same way.

The cotangent of a value crosses the boundary with the cotangent's spec: unreduced where the value
is reduced, and the other way around. Where types do not say what varies (check_vma=False), a result
that is promised to be equal on n devices gives each of them an n-th of its cotangent, and those of
an argument that they share are summed.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive, typeof
from tans_core.accumulators import AccumRule, GradAccum
from tans_core.context import (
    JVPContext,
    LinearizeContext,
    Mask,
    SplitContext,
    TransposeContext,
    Transposed,
    merge,
    partition,
)
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.partition_spec import PartitionSpec
from tans_core.rules import ContextRule
from tans_core.staging import hoist_consts, trace_to_jaxpr
from tans_core.zeros import Zero, is_zero, zero_tangent
from tans_lax.collectives import psum_p, pvary_p
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.elementwise.arithmetic import mul
from tans_lax.shape import expand_dims
from tans_sharding.shard_mapping.boundary import inner_mesh, spec_axes, whole_type
from tans_sharding.shard_mapping.primitive import shard_map_p
from tans_sharding.shard_mapping.residuals import Mapping, hand_over
from tans_sharding.shard_mapping.user_types import tangent_specs

type Value = Any
type Params = dict[str, Any]
type Specs = Sequence[PartitionSpec]

_TRANSPOSED: Final[BodyMemo[Any]] = BodyMemo()


def mapping_of(params: Params) -> Mapping:
    """Return how a call is mapped, from its params."""
    outer, axes = params["mesh"].abstract_mesh, params["newly_manual_axes"]
    return Mapping(outer, inner_mesh(outer, axes), axes, params["check_vma"])


def bind_mapped(
    bind: Any, body: ClosedJaxpr, args: Sequence[Value], params: Params, ins: Specs, outs: Specs
) -> list[Value]:
    """Bind a derived call; constants of its body become leading operands."""
    if not body.out_avals and not body.effects:
        return []
    body, consts = hoist_consts(body)
    specs = {"in_specs": (*[PartitionSpec()] * len(consts), *ins), "out_specs": tuple(outs)}
    return bind(*consts, *args, **params | {"jaxpr": body} | specs)


def _select(mask: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    return [x for x, m in zip(values, mask, strict=True) if m]


def _zero_tangents(params: Params, nonzero: Mask) -> list[Zero]:
    mapping = mapping_of(params)
    pairs = zip(params["jaxpr"].out_avals, params["out_specs"], nonzero, strict=True)
    return [
        zero_tangent(whole_type(mapping.outer, mapping.axes, spec, a))
        for a, spec, nz in pairs
        if not nz
    ]


def _shard_map_jvp(
    ctx: JVPContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    ins, outs = params["in_specs"], params["out_specs"]
    nonzero = tuple(not is_zero(t) for t in tangents)
    with mapping_of(params).inside():
        body, nonzero_out = ctx.jvp_jaxpr(params["jaxpr"], nonzero)
    args = [*primals, *_select(nonzero, tangents)]
    results = bind_mapped(
        shard_map_p.bind,
        body,
        args,
        params,
        [*ins, *tangent_specs(_select(nonzero, ins))],
        [*outs, *tangent_specs(_select(nonzero_out, outs))],
    )
    zeros = _zero_tangents(params, nonzero_out)
    return results[: len(outs)], merge(nonzero_out, zeros, results[len(outs) :])


def _shard_map_linearize(
    ctx: LinearizeContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    ins, outs = params["in_specs"], params["out_specs"]
    nonzero = tuple(not is_zero(t) for t in tangents)
    mapping = mapping_of(params)
    with mapping.inside():
        lin = ctx.linearize_jaxpr(params["jaxpr"], nonzero)
    parts = hand_over(mapping, lin.primal, lin.linear, len(outs), lin.forwards)
    results = bind_mapped(
        shard_map_p.bind, parts.first, primals, params, ins, [*outs, *parts.specs]
    )
    found = iter(zip(results[len(outs) :], parts.specs, strict=True))
    residuals = [next(found) if i is None else (primals[i], ins[i]) for i in lin.forwards]
    out_tangents = bind_mapped(
        shard_map_p.bind,
        parts.second,
        [*(x for x, _ in residuals), *_select(nonzero, tangents)],
        params,
        [*(s for _, s in residuals), *tangent_specs(_select(nonzero, ins))],
        tangent_specs(_select(lin.nonzero_out, outs)),
    )
    zeros = _zero_tangents(params, lin.nonzero_out)
    return results[: len(outs)], merge(lin.nonzero_out, zeros, out_tangents)


def _shard_map_split(ctx: SplitContext, unknown: Mask, *args: Value, **params: Any) -> list[Value]:
    mapping = mapping_of(params)
    with mapping.inside():
        split = ctx.split_jaxpr(params["jaxpr"], unknown)
    known_args, unknown_args = partition(unknown, args)
    known_ins, unknown_ins = partition(unknown, params["in_specs"])
    known_outs, unknown_outs = partition(split.unknown_out, params["out_specs"])
    n_known = len(known_outs)
    n_residuals = len(split.known.out_avals) - n_known
    parts = hand_over(mapping, split.known, split.unknown, n_known, [None] * n_residuals)
    results = bind_mapped(
        shard_map_p.bind, parts.first, known_args, params, known_ins, [*known_outs, *parts.specs]
    )
    unknown_results = bind_mapped(
        lambda *operands, **p: ctx.record(shard_map_p, *operands, **p),
        parts.second,
        [*results[n_known:], *unknown_args],
        params,
        [*parts.specs, *unknown_ins],
        unknown_outs,
    )
    return merge(split.unknown_out, results[:n_known], unknown_results)


def _shard_map_transpose(
    ctx: TransposeContext, cts: Sequence[Value], *operands: Any, **params: Any
) -> dict[Any, Any] | None:
    mapping = mapping_of(params)
    linear = tuple(isinstance(x, GradAccum) for x in operands)
    ct_nonzero = tuple(not is_zero(ct) for ct in cts)
    ins, outs = params["in_specs"], params["out_specs"]
    known, accums = partition(linear, operands)
    known_specs, linear_specs = partition(linear, ins)
    # What is added to in place is summed first: a ref is no operand of a mapped function.
    kinds = tuple("null" if a.kind == "null" else "value" for a in accums)
    key = (type(ctx), linear, ct_nonzero, kinds, mapping, ins, outs)
    with mapping.inside():
        body = _TRANSPOSED.get(
            params["jaxpr"],
            key,
            lambda: _transposed(ctx, mapping, params, linear, ct_nonzero, kinds),
        )
    wanted = [(a, s) for a, s in zip(accums, linear_specs, strict=True) if a.kind != "null"]
    summed = _select(body.nonzero, wanted)
    results = bind_mapped(
        shard_map_p.bind,
        body.program,
        [*known, *_select(ct_nonzero, cts)],
        params,
        [*known_specs, *(s.to_cotangent() for s in _select(ct_nonzero, outs))],
        [*(s.to_cotangent() for _, s in summed), *log_specs(mapping, body, len(summed))],
    )
    for (accum, _), ct in zip(summed, results, strict=False):
        accum.accum(ct)
    logs = results[len(summed) :]
    return body.logs.unflatten(logs) if logs else None


def log_specs(mapping: Mapping, body: Transposed, count: int) -> list[PartitionSpec]:
    """Return the specs of log entries: the devices' are lined up along a leading dimension."""
    axes = tuple(a for a in mapping.outer.axis_names if a in mapping.axes)
    return [PartitionSpec(axes)] * (len(body.program.out_avals) - count)


def _transposed(
    ctx: TransposeContext,
    mapping: Mapping,
    params: Params,
    linear: Mask,
    ct_nonzero: Mask,
    kinds: tuple[Any, ...],
) -> Transposed:
    body = ctx.transpose_into(params["jaxpr"], linear, ct_nonzero, kinds)
    count = sum(body.nonzero)
    if mapping.check and len(body.program.out_avals) == count:
        return body
    n_known = linear.count(False)
    given = _select(ct_nonzero, params["out_specs"])
    wanted = [
        s for s, k in zip(_select(linear, params["in_specs"]), kinds, strict=True) if k == "value"
    ]
    found = _select(body.nonzero, wanted)
    sizes = mapping.outer.shape
    axes = [a for a in mapping.outer.axis_names if a in mapping.axes]

    def run(*args: Value) -> list[Value]:
        cts: Sequence[Value] = args[n_known:]
        if not mapping.check:
            cts = [
                _share(ct, math.prod(sizes[a] for a in _shared(mapping, s)))
                for ct, s in zip(cts, given, strict=True)
            ]
        outs = eval_closed(body.program, *args[:n_known], *cts)
        results, logs = outs[:count], outs[count:]
        if not mapping.check:
            results = [
                _total(ct, _shared(mapping, s)) for ct, s in zip(results, found, strict=True)
            ]
        return [*results, *(_own_row(x, axes) if mapping.check else expand(x) for x in logs)]

    program = trace_to_jaxpr(run, body.program.in_avals, body.program.jaxpr.debug_info)
    return body._replace(program=program)


def expand(x: Value) -> Value:
    """Give a log entry the dimension along which those of the devices are lined up."""
    return expand_dims(x, (0,)) if not typeof(x).ndim else x


def _own_row(x: Value, axes: Sequence[Any]) -> Value:
    row = expand(x)
    missing = [a for a in axes if a not in typeof(row).manual_axes]
    return pvary_p.bind(row, axes=tuple(missing)) if missing else row


def _shared(mapping: Mapping, spec: PartitionSpec) -> tuple[Any, ...]:
    """Return the axes along which a value is whole on every device."""
    named = spec_axes(spec) | spec.unreduced | spec.reduced
    return tuple(a for a in mapping.outer.axis_names if a in mapping.axes - named)


def _share(ct: Value, count: int) -> Value:
    return ct if count == 1 else mul(ct, ct.dtype.type(1 / count))


def _total(ct: Value, axes: tuple[Any, ...]) -> Value:
    return psum_p.bind(ct, axes=axes, axis_index_groups=None) if axes else ct


JVP: Final[dict[Primitive, ContextRule[Any]]] = {
    shard_map_p: ContextRule(_shard_map_jvp),
}

LINEARIZE: Final[dict[Primitive, ContextRule[Any]]] = {
    shard_map_p: ContextRule(_shard_map_linearize),
}

PARTIAL_EVAL: Final[dict[Primitive, ContextRule[Any]]] = {
    shard_map_p: ContextRule(_shard_map_split),
}

TRANSPOSE: Final[dict[Primitive, AccumRule]] = {
    shard_map_p: AccumRule(_shard_map_transpose),
}
