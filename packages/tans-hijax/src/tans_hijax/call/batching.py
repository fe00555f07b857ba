"""Batching of user primitives: the rule `batch`."""

from collections.abc import Sequence
from typing import Any, Final

from tans_batching.element_types import mapped_type
from tans_core.context import AxisData
from tans_core.errors import message
from tans_core.hi_types import MappingSpec
from tans_core.tree_registry import registry
from tans_hijax.call import hi_call_p, hi_lin_p
from tans_hijax.call.expansion import refuse_forward_mode
from tans_hijax.errors import brief, fits, flat_values, mismatch, naming, shown, type_of, where


def _call_batch(
    axis: AxisData, args: Sequence[Any], dims: Sequence[Any], *, prim: Any
) -> tuple[list[Any], list[Any]]:
    with naming(prim, "batch"):
        found = prim.batch(axis, prim.in_tree.unflatten(args), prim.in_tree.unflatten(dims))
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(
            message(
                where(prim, "batch"),
                f"a result {brief(found)}",
                "a pair: the output, and where its mapped axis is",
                "Return (out, out_dims).",
            )
        )
    outs = flat_values(prim, "batch", found[0], prim.out_tree, "an output")
    rows = enumerate(zip(outs, _spread(prim, found[1]), strict=True))
    return outs, [_place(prim, axis, i, x, d) for i, (x, d) in rows]


def _is_none(x: Any) -> bool:
    return x is None


def _spread(prim: Any, dims: Any) -> list[Any]:
    """Return one entry per leaf of the output from a prefix of it."""
    template = prim.out_tree.unflatten(range(prim.out_tree.num_leaves))
    flat, structure = registry.flatten(dims, _is_none)
    try:
        parts = structure.flatten_up_to(template)
    except ValueError as error:
        raise ValueError(
            message(
                where(prim, "batch"),
                f"out_dims {dims!r}",
                f"a prefix of the output, whose structure is {prim.out_tree}",
                "Return one entry per output, or a single one for all.",
            )
        ) from error
    return [d for d, part in zip(flat, parts, strict=True) for _ in registry.flatten(part)[0]]


def _place(prim: Any, axis: AxisData, index: int, x: Any, dim: Any) -> Any:
    """Return where an output is mapped, once the output has the type that goes with it."""
    element = prim.out_avals_flat[index]
    given: Any = type_of(prim, "batch", f"output {index}", x, element)
    if dim is not None and not isinstance(dim, MappingSpec):
        ndim = getattr(given, "ndim", 0)
        if type(dim) is bool or not hasattr(dim, "__index__") or not -ndim <= dim < ndim:
            raise ValueError(
                message(
                    where(prim, "batch"),
                    f"out_dims {dim!r} for an output of type {shown(given)}",
                    "an int that is an axis of it, None, or a MappingSpec for a user type",
                    "Return the axis along which the output is mapped.",
                )
            )
        dim = dim % ndim
    whole = mapped_type(element, axis, dim)
    if not fits(given, whole):
        raise mismatch(prim, "batch", f"output {index}", given, whole, TypeError)
    return dim


BATCHING: Final = {hi_call_p: _call_batch, hi_lin_p: refuse_forward_mode}
