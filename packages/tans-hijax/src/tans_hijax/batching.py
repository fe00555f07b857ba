"""What `batch` rules are written with."""

from collections.abc import Callable
from typing import Any

from tans_batching.axes import flat_in_axes, flat_out_axes
from tans_batching.element_types import element_type, mapped_type
from tans_batching.trace import batch_flat, match_dim
from tans_core import tree
from tans_core.context import AxisData
from tans_core.errors import message
from tans_core.tree_registry import registry
from tans_core.zeros import Zero
from tans_lax.reductions import reduce_sum
from tans_lax.rows import batch_to_front

type Tree = Any


def vmap_rule(
    axis_data: AxisData,
    f: Callable[..., Tree],
    in_axes: Tree,
    out_axes: Tree,
    *,
    sum_match: bool = False,
) -> Callable[..., Tree]:
    """Return `f` mapped along the axis of a `batch` rule.

    Args:
      axis_data: the axis, as `batch` is given it.
      f: function of one element.
      in_axes: tuple with one entry (an axis, None, or a tree of them) per argument.
      out_axes: where the axis goes in the result; a prefix of it.
      sum_match: whether a result that differs between elements is summed where `out_axes` is None.

    Arguments and results may be symbolic zeros, which stay symbolic.

    Raises:
      ValueError: the axes don't fit the arguments or the result, or a result that is to be the same
        for all elements differs between them.
    """

    def mapped(*args: Tree) -> Tree:
        leaves, in_tree = tree.flatten(args)
        dims = flat_in_axes(tuple(in_axes) if isinstance(in_axes, list) else in_axes, args, {})
        zeros = [type(x) is Zero for x in leaves]
        kept = [(x, d) for x, d, z in zip(leaves, dims, zeros, strict=True) if not z]
        elements = [
            Zero(x.aval if d is None else element_type(x.aval, d)) if z else None
            for x, d, z in zip(leaves, dims, zeros, strict=True)
        ]
        out_tree: Any = None
        symbolic: list[Any] = []

        def flat(*given: Any) -> list[Any]:
            nonlocal out_tree, symbolic
            rest = iter(given)
            values = [z if z is not None else next(rest) for z in elements]
            outs, out_tree = tree.flatten(f(*in_tree.unflatten(values)))
            symbolic = [x if type(x) is Zero else None for x in outs]
            return [x for x in outs if type(x) is not Zero]

        outs, out_dims = batch_flat(flat, axis_data, [x for x, _ in kept], [d for _, d in kept])
        wanted = flat_out_axes(out_axes, out_tree)
        pairs = iter(zip(outs, out_dims, strict=True))
        results = [
            Zero(mapped_type(z.aval, axis_data, w))
            if z is not None
            else _place(axis_data, *next(pairs), w, sum_match)
            for z, w in zip(symbolic, wanted, strict=True)
        ]
        return out_tree.unflatten(results)

    return mapped


def _place(axis: AxisData, x: Any, dim: Any, wanted: Any, sum_match: bool) -> Any:
    if wanted is None and dim is not None:
        if sum_match:
            return reduce_sum(x, (dim,))
        raise ValueError(
            message(
                "vmap_rule",
                f"out_axes None for a result that is mapped along {dim!r}",
                "an axis, because the result differs between elements",
                "Give out_axes=0, or pass sum_match=True to sum it.",
            )
        )
    return match_dim(axis, x, dim, wanted)


def bdims_at_front(axis_data: AxisData, args: Tree, dims: Tree) -> Tree:
    """Move every mapped axis to the front, and repeat arguments that are not mapped.

    Args:
      axis_data: the axis.
      args: tree of arrays.
      dims: tree like `args` (or a prefix): the mapped axis, or None.
    """
    leaves, structure = tree.flatten(args)
    moved = [
        batch_to_front(axis_data, x, d)
        for x, d in zip(leaves, _spread(dims, structure), strict=True)
    ]
    return structure.unflatten(moved)


def unmap_avals(axis_data: AxisData, avals: Tree, dims: Tree) -> Tree:
    """Return the types of whole values from those of elements.

    Args:
      axis_data: the axis.
      avals: tree of types of elements.
      dims: tree like `avals` (or a prefix): where the axis is added, or None.
    """
    leaves, structure = tree.flatten(avals)
    whole = [
        mapped_type(a, axis_data, d) for a, d in zip(leaves, _spread(dims, structure), strict=True)
    ]
    return structure.unflatten(whole)


def _spread(dims: Tree, structure: Any) -> list[Any]:
    flat, prefix = registry.flatten(dims, lambda x: x is None)
    parts = prefix.flatten_up_to(structure.unflatten(range(structure.num_leaves)))
    return [d for d, part in zip(flat, parts, strict=True) for _ in registry.flatten(part)[0]]
