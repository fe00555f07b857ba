"""Lowering of collectives over manual axes.

`vmap` replaces a collective over its axis by operations on whole arrays, so an equation that gets
here names manual axes of the mesh that the program is built for. Its groups are the sets of devices
that differ in their position along these axes only.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtypes import is_complex
from tans_core.errors import message
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import named_sharding
from tans_lax.collectives import primitives as p
from tans_lax.collectives.groups import Groups, group_size
from tans_lax.collectives.names import AxisName, as_names
from tans_lax.reductions.lowering import monoid_body
from tans_lax.reductions.monoids import MONOIDS
from tans_xla import hlo
from tans_xla.partition_index import position_along
from tans_xla.sdy_attributes import manual_computation

type IrValue = Any
type Names = tuple[AxisName, ...]

_CHANNEL: Final = "#stablehlo.channel_handle<handle = 1, type = 1>"


def _mesh(ctx: Any, names: Names) -> Any:
    """Return the mesh whose manual axes a collective is over."""
    mesh = ctx.builder.mesh
    if mesh is None or any(name not in mesh.manual_axes for name in names):
        raise NameError(
            message(
                ctx.eqn.primitive.name,
                f"axis names {names!r}, which are not bound in the compiled program",
                "a mapping function around the call",
                "Call it inside vmap(..., axis_name=...) or inside shard_map.",
            )
        )
    return mesh


def _rows(mesh: Any, names: Names) -> np.ndarray:
    """Return the groups of devices, one per row, members in row-major order of the names."""
    places = [mesh.axis_positions[name] for name in names]
    ids = np.arange(mesh.size).reshape(mesh.axis_sizes)
    rest = [i for i in range(ids.ndim) if i not in places]
    count = int(np.prod([mesh.axis_sizes[i] for i in places]))
    return ids.transpose(*rest, *places).reshape(-1, count)


def _groups(mesh: Any, names: Names, groups: Groups) -> Any:
    rows = _rows(mesh, names)
    if groups is not None:
        rows = np.concatenate([rows[:, list(group)] for group in groups])
    return hlo.i64_matrix(rows.tolist(), rows.shape[1])


def _attributes(mesh: Any, names: Names, groups: Groups) -> dict[str, Any]:
    return {
        "replica_groups": _groups(mesh, names, groups),
        "channel_handle": hlo.attribute(_CHANNEL),
        "use_global_device_ids": hlo.unit(),
    }


def _reduction(name: str) -> Callable[..., Any]:
    def lower(ctx: Any, x: IrValue, *, axes: Names, axis_index_groups: Groups = None) -> IrValue:
        mesh = _mesh(ctx, axes)
        attributes = _attributes(mesh, axes, axis_index_groups)
        if name != "sum" and is_complex(ctx.avals_in[0].dtype):
            size = math.prod(mesh.shape[a] for a in axes)
            return _gathered_extremum(ctx, x, attributes, group_size(axis_index_groups, size), name)
        return _with_body("stablehlo.all_reduce", ctx, x, attributes, name)

    return _unless_empty(lower)


def _unless_empty(rule: Callable[..., IrValue]) -> Callable[..., IrValue]:
    """Without elements there is nothing to communicate, and StableHLO refuses most of it."""

    def lower(ctx: Any, x: IrValue, **params: Any) -> IrValue:
        (aval,) = ctx.avals_out
        return rule(ctx, x, **params) if aval.size else hlo.zeros(aval)

    return lower


def _gathered_extremum(
    ctx: Any, x: IrValue, attributes: dict[str, Any], count: int, name: str
) -> IrValue:
    """Compare complex numbers on every device: XLA reduces over devices by named operations."""
    (aval,) = ctx.avals_in
    attributes["all_gather_dim"] = hlo.i64(0)
    x = hlo.reshape(x, ShapedArray((1, *aval.shape), aval.dtype))
    kind = hlo.tensor_type((count, *aval.shape), aval.dtype)
    x = hlo.op1("stablehlo.all_gather", kind, [x], attributes)
    init = hlo.full(ShapedArray((), aval.dtype), MONOIDS[name].identity(aval.dtype))
    body = monoid_body(name, aval.dtype)
    return hlo.reduce([x], [init], (0,), ctx.result_types, body)[0]


def _with_body(operation: str, ctx: Any, x: IrValue, attributes: Any, name: str) -> IrValue:
    out = hlo.op(operation, ctx.result_types, [x], attributes, regions=1)
    dtype = ctx.avals_out[0].dtype
    scalar = hlo.tensor_type((), dtype)
    with hlo.block(out, 0, [scalar, scalar]) as args:
        hlo.ret(monoid_body("or" if dtype == np.bool_ and name == "sum" else name, dtype)(*args))
    return out.results[0]


def _unchanged(ctx: Any, x: IrValue, *, axes: Names) -> IrValue:
    del ctx, axes
    return x


def _ppermute(ctx: Any, x: IrValue, *, axis_name: Names, perm: Any) -> IrValue:
    names = as_names(axis_name)
    rows = _rows(_mesh(ctx, names), names)
    pairs = [[row[s], row[d]] for s, d in perm for row in rows.tolist()]
    attributes = {
        "source_target_pairs": hlo.i64_matrix(pairs, 2),
        "channel_handle": hlo.attribute(_CHANNEL),
    }
    return hlo.op1("stablehlo.collective_permute", ctx.result_type, [x], attributes)


def _pbroadcast(ctx: Any, x: IrValue, *, axis_name: Any, source: int) -> IrValue:
    names = as_names(axis_name)
    mesh = _mesh(ctx, names)
    if "cpu" in ctx.platforms:
        raise NotImplementedError(
            message(
                "pbroadcast",
                "the platform cpu",
                "a platform with collective broadcasts",
                "Use lax.psum(jnp.where(lax.axis_index(name) == source, x, 0), name).",
            )
        )
    rows = _rows(mesh, names)
    rows = np.concatenate([rows[:, source:], rows[:, :source]], axis=1)
    attributes = {
        "replica_groups": hlo.i64_matrix(rows.tolist(), rows.shape[1]),
        "channel_handle": hlo.attribute(_CHANNEL),
    }
    return hlo.op1("stablehlo.collective_broadcast", ctx.result_type, [x], attributes)


def _all_gather(
    ctx: Any,
    x: IrValue,
    *,
    axis_name: Names,
    all_gather_dimension: int,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> IrValue:
    del axis_size
    names = as_names(axis_name)
    attributes = _attributes(_mesh(ctx, names), names, axis_index_groups)
    (aval,) = ctx.avals_in
    if not tiled:
        shape = list(aval.shape)
        shape.insert(all_gather_dimension, 1)
        x = hlo.reshape(x, ShapedArray(tuple(shape), aval.dtype))
    attributes["all_gather_dim"] = hlo.i64(all_gather_dimension)
    return hlo.op("stablehlo.all_gather", ctx.result_types, [x], attributes).results[0]


def _reduce_scatter(
    ctx: Any,
    x: IrValue,
    *,
    axis_name: Names,
    scatter_dimension: int,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> IrValue:
    names = as_names(axis_name)
    attributes = _attributes(_mesh(ctx, names), names, axis_index_groups)
    attributes["scatter_dimension"] = hlo.i64(scatter_dimension)
    (aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
    shape = list(aval.shape)
    shape[scatter_dimension] //= axis_size
    kind = hlo.tensor_type(shape, aval.dtype)
    out = hlo.op("stablehlo.reduce_scatter", [kind], [x], attributes, regions=1)
    scalar = hlo.tensor_type((), aval.dtype)
    with hlo.block(out, 0, [scalar, scalar]) as args:
        hlo.ret(monoid_body("sum", aval.dtype)(*args))
    return out.results[0] if tiled else hlo.reshape(out.results[0], out_aval)


def _all_to_all(
    ctx: Any,
    x: IrValue,
    *,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> IrValue:
    del tiled
    names = as_names(axis_name)
    attributes = {
        "replica_groups": _groups(_mesh(ctx, names), names, axis_index_groups),
        "channel_handle": hlo.attribute(_CHANNEL),
        "split_dimension": hlo.i64(split_axis),
        "concat_dimension": hlo.i64(concat_axis),
        "split_count": hlo.i64(axis_size),
    }
    return hlo.op("stablehlo.all_to_all", ctx.result_types, [x], attributes).results[0]


def _axis_index(ctx: Any, *, axis_name: AxisName) -> IrValue:
    mesh = _mesh(ctx, (axis_name,))
    rest = [a for a in mesh.axis_names if a not in mesh.manual_axes]
    if not rest:
        return _index(ctx, mesh, axis_name)
    # The number of the partition is known where all axes are manual only.
    replicated = named_sharding(mesh, PartitionSpec())
    region = manual_computation(ctx.result_types, [], [], [replicated], rest, mesh)
    with region.block([]):
        region.ret([_index(ctx, mesh, axis_name)])
    return region.results[0]


def _index(ctx: Any, mesh: Any, axis_name: AxisName) -> IrValue:
    position = position_along(mesh, axis_name)
    return hlo.op1("stablehlo.convert", ctx.result_type, [position])


def _ragged(ctx: Any, *operands: IrValue, axis_name: Names, axis_index_groups: Groups) -> IrValue:
    names = as_names(axis_name)
    mesh = _mesh(ctx, names)
    if "cpu" in ctx.platforms:
        raise NotImplementedError(
            message(
                "ragged_all_to_all",
                "the platform cpu",
                "a platform with ragged exchanges, such as cuda or tpu",
                "Pad the slices to one length and use all_to_all.",
            )
        )
    config: dict[str, Any] = {
        "replica_groups": _groups(mesh, names, axis_index_groups),
        "channel_id": hlo.i64(1),
    }
    attributes: dict[str, Any] = {
        "call_target_name": hlo.string("ragged_all_to_all"),
        "api_version": hlo.i32(4),
        "backend_config": hlo.dictionary(config),
    }
    return hlo.op1("stablehlo.custom_call", ctx.result_type, operands, attributes)


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    p.psum_p: _reduction("sum"),
    p.pmax_p: _reduction("max"),
    p.pmin_p: _reduction("min"),
    p.ppermute_p: _unless_empty(_ppermute),
    p.pbroadcast_p: _unless_empty(_pbroadcast),
    p.all_gather_p: _unless_empty(_all_gather),
    p.all_to_all_p: _unless_empty(_all_to_all),
    p.reduce_scatter_p: _unless_empty(_reduce_scatter),
    p.axis_index_p: _axis_index,
    p.ragged_all_to_all_p: _ragged,
    p.psum_invariant_p: _reduction("sum"),
    p.unreduced_psum_p: _reduction("sum"),
    p.pvary_p: _unchanged,
    p.preduced_p: _unchanged,
    p.vary_unreduced_cast_p: _unchanged,
    p.reduced_vary_cast_p: _unchanged,
    p.all_gather_invariant_p: _unless_empty(_all_gather),
    p.all_gather_reduced_p: _unless_empty(_all_gather),
    p.unreduced_reduce_scatter_p: _unless_empty(_reduce_scatter),
}
