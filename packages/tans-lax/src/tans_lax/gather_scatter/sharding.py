"""Sharding rules of gathers and scatters.

They resolve when every indexed dimension of the operand is unsharded or taken in full. A dimension
of the result comes from a window dimension of the operand or from a dimension of the indices.

Where the operand of a gather is reduced, every device has a whole copy and may look up its own part
of the indices: the result is sharded as they are, and no longer reduced along those axes. The
transpose is a sum into zeros that are unreduced: every device adds its own updates to its addend.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.primitive import Primitive
from tans_lax.gather_scatter import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from tans_lax.propagation import Rule, Spec, entries_of, refuse_unreduced, states_like

_REMEDY: Final = "Reshard an operand, or say what you want: x.at[...].get(out_sharding=)."


def _gather(
    ctx: ShardingContext,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: tuple[int, ...],
    **_: Any,
) -> Spec:
    refuse_unreduced(ctx, operand, indices)
    window, collapsed, _mapped, operand_batch, indices_batch = dimension_numbers
    own, of_indices = entries_of(operand), entries_of(indices)[:-1]
    for d, entry in enumerate(own):
        whole = slice_sizes[d] == operand.shape[d] and d not in collapsed
        if entry is not None and not whole and d not in operand_batch:
            ctx.refuse(
                f"dimension {d} of the operand is sharded and indexed; expected it unsharded or "
                f"taken in full. {_REMEDY}"
            )
    spec = spec_of(operand)
    paired = [own[d] for d in operand_batch]
    looked_up = _check_indices(ctx, of_indices, indices_batch, paired, spec.reduced)
    for d, at in zip(operand_batch, indices_batch, strict=True):
        of_indices[at] = of_indices[at] or own[d]
    kept = iter([own[d] for d in range(operand.ndim) if d not in (*collapsed, *operand_batch)])
    batch = iter(of_indices)
    entries = [next(kept if d in window else batch) for d in range(ctx.out.ndim)]
    return PartitionSpec(*entries, reduced=spec.reduced - looked_up)


def spread_axes(entries: Sequence[Any], batch: Sequence[int]) -> frozenset[Any]:
    """Return the mesh axes over which places are spread: each device has some of the indices.

    Args:
      entries: partitions of the indices, without the last dimension, the index vector.
      batch: the dimensions of the indices that are paired with dimensions of the operand.
    """
    kept = [e for d, e in enumerate(entries) if d not in batch]
    return frozenset(a for e in kept for a in partition_axes(e))


def _check_indices(
    ctx: ShardingContext,
    of_indices: list[Any],
    batch: tuple[int, ...],
    paired: list[Any],
    whole: frozenset[Any],
) -> frozenset[Any]:
    """Check the indices; return the axes over which they are spread, all of them in `whole`."""
    spread = spread_axes(of_indices, batch)
    if spread - whole:
        ctx.refuse(
            "the indices are sharded, so the result's sharding is ambiguous; expected replicated "
            f"indices. {_REMEDY}"
        )
    for at, entry in zip(batch, paired, strict=True):
        if entry is not None and of_indices[at] not in (None, entry):
            ctx.refuse(
                f"paired batching dimensions are sharded as {entry!r} and {of_indices[at]!r}; "
                f"expected one of them unsharded, or the same. {_REMEDY}"
            )
    return spread


def _scatter(is_linear: bool) -> Rule:
    def rule(
        ctx: ShardingContext,
        operand: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        **_: Any,
    ) -> Spec:
        window, inserted, _mapped, operand_batch, indices_batch = dimension_numbers
        own, of_updates = entries_of(operand), entries_of(updates)
        of_indices = entries_of(indices)[:-1]
        addends = spec_of(operand).unreduced if is_linear else frozenset()
        paired = [own[d] for d in operand_batch]
        spread = _check_indices(ctx, of_indices, indices_batch, paired, addends)
        _check_states(ctx, operand, indices, updates, is_linear, spread)
        out = list(own)
        full = [d for d in range(operand.ndim) if d not in (*inserted, *operand_batch)]
        for d, at in zip(full, window, strict=True):
            if operand.shape[d] == updates.shape[at]:
                if own[d] is not None and of_updates[at] is not None and own[d] != of_updates[at]:
                    _refuse_window(ctx, d)
                out[d] = own[d] or of_updates[at]
            elif own[d] is not None or of_updates[at] is not None:
                _refuse_window(ctx, d)
        for d in inserted:
            if own[d] is not None:
                _refuse_window(ctx, d)
        batch = [at for at in range(updates.ndim) if at not in window]
        for i, at in enumerate(batch):
            if i not in indices_batch and of_updates[at] != of_indices[i]:
                ctx.refuse(
                    f"the indices are sharded as {of_indices[i]!r} along a dimension where the "
                    f"updates are sharded as {of_updates[at]!r}; expected the same. {_REMEDY}"
                )
        for d, i in zip(operand_batch, indices_batch, strict=True):
            out[d] = out[d] or of_updates[batch[i]]
        return states_like(operand, out)

    return rule


def _check_states(
    ctx: ShardingContext,
    operand: Any,
    indices: Any,
    updates: Any,
    is_linear: bool,
    spread: frozenset[Any],
) -> None:
    refuse_unreduced(ctx, indices)
    if not is_linear:
        refuse_unreduced(ctx, operand, updates)
    one, other = spec_of(operand), spec_of(updates)
    if one.unreduced != other.unreduced | spread or one.reduced != other.reduced:
        ctx.refuse(
            "expected operand and updates that are unreduced or reduced along the same axes"
            f"{f', and updates sharded over {sorted(map(str, spread))}' if spread else ''}. "
            "Reshard one of them."
        )


def _refuse_window(ctx: ShardingContext, d: int) -> None:
    ctx.refuse(
        f"dimension {d} of the operand is written in part or sharded differently from the updates; "
        f"expected it unsharded, or written in full with equal shardings. {_REMEDY}"
    )


SHARDING: Final[dict[Primitive, Rule]] = {
    gather_p: _gather,
    scatter_p: _scatter(False),
    scatter_add_p: _scatter(True),
    scatter_sub_p: _scatter(True),
    scatter_mul_p: _scatter(False),
    scatter_min_p: _scatter(False),
    scatter_max_p: _scatter(False),
}
