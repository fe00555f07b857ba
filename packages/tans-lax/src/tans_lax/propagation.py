"""Makers of sharding rows: how specs go from operands to results in explicit mode.

A rule is ``rule(ctx, *in_avals, **params)`` and returns a spec per result; None is replicated.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core.explicit_mode import ShardingContext, same_mesh, spec_of
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.sharding import NamedSharding

type Spec = PartitionSpec | None
type Rule = Callable[..., Any]
type Entries = Sequence[Any]


def refuse_unreduced(ctx: ShardingContext, *avals: Any) -> None:
    """Raise for unreduced operands of an operation that is not linear."""
    if any(spec_of(a).unreduced for a in avals):
        ctx.refuse(
            f"{ctx.primitive.name} is non-linear, so it can't act on the addends of an unreduced "
            "value; expected no unreduced operand. Reshard it first: reshard(x, P())."
        )


def entries_of(aval: Any) -> list[Any]:
    """Return the entries of a type's spec, one per dimension."""
    return list(spec_of(aval).partitions)


def states_like(aval: Any, entries: Entries) -> PartitionSpec:
    """Return a spec with `entries` and the unreduced and reduced axes of a type."""
    return spec_of(aval).update(partitions=tuple(entries))


def is_plain(spec: PartitionSpec) -> bool:
    """Whether a spec has neither unreduced nor reduced axes."""
    return not (spec.unreduced or spec.reduced)


def linear_unary(ctx: ShardingContext, x: Any, *_: Any, **params: Any) -> Spec:
    """Give the result the operand's spec, unreduced axes too."""
    del ctx, params
    return spec_of(x)


def unary(ctx: ShardingContext, x: Any, *_: Any, **params: Any) -> Spec:
    """Give the result the operand's spec; refuse unreduced axes."""
    del params
    refuse_unreduced(ctx, x)
    return spec_of(x)


def each_its_own(ctx: ShardingContext, *avals: Any, **params: Any) -> list[Spec]:
    """Give each result the spec of the operand at its place."""
    del ctx, params
    return [spec_of(a) for a in avals]


def replicated(ctx: ShardingContext, *avals: Any, **params: Any) -> Any:
    """Give replicated results, from operands that are replicated."""
    del params
    _require(ctx, avals, [a for a in avals if _is_sharded(a)], "replicated operands")
    return [None] * len(ctx.out_avals) if ctx.primitive.multiple_results else None


def _is_sharded(aval: Any) -> bool:
    return getattr(aval, "_sharding", None) is not None


def _require(ctx: ShardingContext, avals: Any, wrong: Sequence[Any], what: str) -> None:
    del avals
    if wrong:
        ctx.refuse(f"expected {what}. Reshard the operands, or call the function under auto_axes.")


def require_equal(ctx: ShardingContext, avals: Sequence[Any]) -> PartitionSpec:
    """Return the common spec of operands; raise if they differ."""
    first = spec_of(avals[0])
    if any(spec_of(a) is not first for a in avals[1:]):
        ctx.refuse("expected operands with the same sharding. Reshard them to that of one of them.")
    return first


def require_unsharded(ctx: ShardingContext, aval: Any, dims: Sequence[int], remedy: str) -> None:
    """Raise if one of some dimensions of a type is sharded."""
    entries = entries_of(aval)
    if sharded := [d for d in dims if entries[d] is not None]:
        ctx.refuse(
            f"dimension {sharded[0]} of {aval.str_short()} is sharded, expected an unsharded one. "
            f"{remedy}"
        )


def resized(ctx: ShardingContext, x: Any, out: Any) -> PartitionSpec:
    """Keep the entries of a result whose dimensions are those of `x` in other sizes."""
    del ctx
    if all(size == 1 for size in out.shape):
        return states_like(x, (None,) * out.ndim)
    return spec_of(x)


def batched(*core_ranks: int) -> Rule:
    """Make the rule of an operation on stacks of vectors and matrices.

    Args:
      core_ranks: number of trailing dimensions of each operand that belong to one element; these
        are not sharded, and the leading ones are sharded alike.
    """

    def rule(ctx: ShardingContext, *avals: Any, **params: Any) -> Any:
        del params
        entries = batch_entries(ctx, avals, core_ranks)
        specs = [
            PartitionSpec(*entries, *(None,) * (out.ndim - len(entries))) for out in ctx.out_avals
        ]
        return specs if ctx.primitive.multiple_results else specs[0]

    return rule


def batch_entries(
    ctx: ShardingContext, avals: Sequence[Any], core_ranks: Sequence[int], free: int | None = None
) -> list[Any]:
    """Return the common entries of the leading dimensions of operands.

    Args:
      ctx: for messages.
      avals: types of the operands.
      core_ranks: number of trailing dimensions of each that belong to one element.
      free: dimension of the last operand that may be sharded although it is one of those.
    """
    if any(not is_plain(spec_of(a)) for a in avals):
        ctx.refuse(
            f"{ctx.primitive.name} takes no unreduced or reduced operands. Reshard them first: "
            "reshard(x, P())."
        )
    found: list[Any] | None = None
    for position, (aval, core) in enumerate(zip(avals, core_ranks, strict=True)):
        entries, count = entries_of(aval), aval.ndim - core
        inside = [d for d in range(count, aval.ndim) if entries[d] is not None]
        if position == len(avals) - 1 and free in inside:
            inside.remove(free)
        if inside:
            require_unsharded(ctx, aval, inside, "Only the batch dimensions may be sharded.")
        if found is not None and count and entries[:count] != found:
            ctx.refuse("expected batch dimensions with the same sharding. Reshard one operand.")
        found = entries[:count] if found is None else found
    return found or []


# ---- n-ary elementwise operations ----------------------------------------------------------------


def merged_entries(ctx: ShardingContext, avals: Sequence[Any]) -> list[Any]:
    """Merge the entries of broadcast-compatible operands, dimension by dimension."""
    out = ctx.out
    full = [(a.shape, entries_of(a)) for a in avals if a.ndim == out.ndim]
    merged = []
    for d in range(out.ndim):
        found = {entries[d] for shape, entries in full if not (shape[d] == 1 and out.shape[d] != 1)}
        found |= {entries[d] for _, entries in full if entries[d] is not None}
        found.discard(None)
        if len(found) > 1:
            ctx.refuse(
                f"their dimension {d} has incompatible shardings "
                f"{' and '.join(sorted(map(str, found)))}; expected one. Reshard an operand."
            )
        merged.append(found.pop() if found else None)
    return merged


def reduced_join(ctx: ShardingContext, avals: Sequence[Any], ignored: frozenset) -> frozenset:
    """Return the reduced axes of a result; scalars that are replicated there are cast."""
    sets = {spec_of(a).reduced - ignored for a in avals} - {frozenset()}
    if not sets:
        return frozenset()
    if len(sets) > 1:
        ctx.refuse(
            "they are reduced along different axes; expected reduced along the same mesh axes. "
            "Reshard one of them."
        )
    (axes,) = sets
    for aval in avals:
        spec = spec_of(aval)
        if spec.reduced - ignored == axes or axes <= spec.unreduced:
            continue
        used = {a for p in spec.partitions for a in partition_axes(p)}
        if used & axes:
            ctx.refuse(
                f"an operand is reduced along {sorted(axes)} and {aval.str_short()} is "
                "sharded/varying along the same axes; expected one state per axis. Broadcast the "
                "reduced one with out_sharding first."
            )
        if aval.ndim or len(avals) != 2 or axes.intersection(ctx.mesh.manual_axes):
            ctx.refuse(
                f"an operand is reduced along {sorted(axes)} and {aval.str_short()} is replicated "
                "on the same axes; expected both reduced. Reshard it to P(reduced=...), or "
                "inside of shard_map use lax.pcast(x, axes, to='reduced')."
            )
    return axes


def _result(ctx: ShardingContext, avals: Sequence[Any], unreduced: frozenset) -> PartitionSpec:
    entries = merged_entries(ctx, avals)
    reduced = reduced_join(ctx, avals, unreduced)
    return PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)


def nary(ctx: ShardingContext, *avals: Any, **params: Any) -> Spec:
    """Rule of non-linear elementwise operations."""
    del params
    refuse_unreduced(ctx, *avals)
    return _result(ctx, avals, frozenset())


def additive(ctx: ShardingContext, *avals: Any, **params: Any) -> Spec:
    """Rule of sums and differences: all operands unreduced along the same axes, or none."""
    del params
    sets = {spec_of(a).unreduced for a in avals}
    if len(sets) > 1:
        if frozenset() in sets:
            ctx.refuse(
                "one operand is unreduced while another is not, which would need implicit "
                "communication; expected both or none. Reshard one: reshard(x, P()) reduces, "
                "reshard(x, P(unreduced=...)) does not communicate."
            )
        ctx.refuse(
            "expected operands unreduced along the same mesh axes. Reshard one of them first."
        )
    (axes,) = sets
    if axes:
        _require_sums(ctx, avals)
    return _result(ctx, avals, axes)


def _require_sums(ctx: ShardingContext, avals: Sequence[Any]) -> None:
    if any(k is not None and k.name != "sum" for k in (spec_of(a).unreduced_kind for a in avals)):
        ctx.refuse(
            f"{ctx.primitive.name} does not act part by part on values whose parts combine by max "
            "or min; expected sums. Reshard them first: reshard(x, P())."
        )


def multiplicative(ctx: ShardingContext, x: Any, y: Any, **params: Any) -> Spec:
    """Rule of products: an unreduced operand needs the other to be reduced along its axes."""
    del params
    sets = [spec_of(a).unreduced for a in (x, y)]
    if all(sets):
        ctx.refuse(
            f"{ctx.primitive.name} is bilinear, so two unreduced operands would lose the cross "
            "terms; expected at most one. Reshard one of them first."
        )
    axes = sets[0] or sets[1]
    if axes:
        other = spec_of(y if sets[0] else x)
        if not axes <= other.reduced:
            ctx.refuse(
                f"an operand is unreduced along {sorted(axes)}; expected the other to be reduced "
                "along the same axes. Reshard it to P(reduced=...), or reduce the first."
            )
        _require_sums(ctx, (x, y))
    return _result(ctx, (x, y), axes)


def quotient(ctx: ShardingContext, x: Any, y: Any, **params: Any) -> Spec:
    """Rule of quotients: linear in the numerator."""
    del params
    axes = spec_of(x).unreduced
    if spec_of(y).unreduced or (axes and not axes <= spec_of(y).reduced):
        ctx.refuse(
            "expected a denominator that is not unreduced, and is reduced along the axes along "
            "which the numerator is unreduced. Reshard the operands first.",
            ValueError,
        )
    return _result(ctx, (x, y), axes)


def with_request(rule: Rule, name: str) -> Rule:
    """Make a rule that follows a sharding param where it is given.

    Args:
      rule: the rule without it.
      name: the param, "sharding" or "out_sharding".
    """

    def requested(ctx: ShardingContext, *avals: Any, **params: Any) -> Any:
        if params[name] is None:
            return rule(ctx, *avals, **params)
        return requested_spec(ctx, params[name], ctx.out.ndim)

    return requested


def requested_spec(ctx: ShardingContext, sharding: Any, ndim: int) -> PartitionSpec:
    """Return the spec of a ``sharding`` or ``out_sharding`` param, padded.

    Raises:
      TypeError: neither a spec nor a `NamedSharding`.
      ValueError: too long, or an axis that is not explicit.
    """
    if isinstance(sharding, NamedSharding):
        if not same_mesh(sharding.mesh, ctx.mesh):
            ctx.refuse(
                f"and a sharding over the mesh {sharding.mesh}; expected the mesh {ctx.mesh}. "
                "Build the sharding with the context mesh.",
                ValueError,
            )
        spec = sharding.spec
    elif isinstance(sharding, PartitionSpec):
        spec = sharding
    else:
        ctx.refuse(
            f"and the sharding {sharding!r} of type {type(sharding).__name__}; expected a "
            "PartitionSpec or a NamedSharding. Write P('x').",
            TypeError,
        )
    if len(spec.partitions) > ndim:
        ctx.refuse(
            f"and the sharding {spec!r} for a result with {ndim} dimensions; expected at most "
            f"{ndim} entries. Shorten it.",
            ValueError,
        )
    named = {a for p in spec.partitions for a in partition_axes(p)} | spec.unreduced | spec.reduced
    for axis in named:
        if axis not in ctx.mesh.axis_positions:
            ctx.refuse(
                f"and the sharding {spec!r}, whose axis {axis!r} is not found in {ctx.mesh}; "
                "expected axes of the mesh.",
                ValueError,
            )
        if ctx.mesh.axis_type(axis) is not AxisType.Explicit:
            ctx.refuse(
                f"and the sharding {spec!r}, but axis {axis!r} is Auto or Manual in {ctx.mesh}; "
                "expected Explicit axes. Use with_sharding_constraint for Auto axes.",
                ValueError,
            )
    return spec.padded(ndim)
