"""Batching: one operation on a ref with one more dimension does it for all lanes."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData
from tans_core.hi_types import is_hi_type
from tans_core.refs import Transforms
from tans_core.values import typeof
from tans_lax.rows import broadcast_batch, move_axis
from tans_refs.lanes import with_lanes
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
type Dims = Sequence[int | None]


def _new_ref(axis: AxisData, args: Sequence[Value], dims: Dims, **params: Any) -> Any:
    (init,), (dim,) = args, dims
    # A value that is the same in all lanes is repeated: lanes may write different ones later.
    init = broadcast_batch(init, axis, 0) if dim is None else init
    return new_ref_p.bind(init, **params), 0 if dim is None else dim


def _empty_ref(axis: AxisData, args: Sequence[Value], dims: Dims, *, ty: Any, **params: Any) -> Any:
    del args, dims
    return empty_ref_p.bind(ty=ty.update(shape=(axis.size, *ty.shape)), **params), 0


def _freeze(axis: AxisData, args: Sequence[Value], dims: Dims) -> Any:
    del axis
    return freeze_p.bind(*args), dims[0]


def _free_ref(axis: AxisData, args: Sequence[Value], dims: Dims) -> Any:
    del axis, dims
    return free_ref_p.bind(*args), []


def _get(axis: AxisData, args: Sequence[Value], dims: Dims, *, transforms: Transforms) -> Any:
    if all(d is None for d in dims):
        return get_p.bind(*args, transforms=transforms), None
    (ref, *indices), (dim, *index_dims) = args, dims
    if is_hi_type(typeof(ref)):
        return get_p.bind(ref, transforms=transforms), dim
    element = _element(ref, dim)
    transforms, indices, out = with_lanes(axis, element, dim, transforms, indices, index_dims)
    return get_p.bind(ref, *indices, transforms=transforms), out


def _swap(axis: AxisData, args: Sequence[Value], dims: Dims, *, transforms: Transforms) -> Any:
    operands, transforms, out = _write("swap", axis, args, dims, transforms)
    return swap_p.bind(*operands, transforms=transforms), out


def _addupdate(axis: AxisData, args: Sequence[Value], dims: Dims, *, transforms: Transforms) -> Any:
    operands, transforms, _ = _write("addupdate", axis, args, dims, transforms)
    return addupdate_p.bind(*operands, transforms=transforms), []


def _write(
    name: str, axis: AxisData, args: Sequence[Value], dims: Dims, transforms: Transforms
) -> tuple[list[Value], Transforms, Any]:
    (ref, value, *indices), (dim, value_dim, *index_dims) = args, dims
    if dim is None:
        raise ValueError(
            f"{name} under vmap: given an unbatched ref of type "
            f"{typeof(ref).str_short(False)}, which all lanes share; expected a ref with an "
            "element for each lane. Pass the ref as an argument of the mapped function, with "
            "in_axes for it, or write after the vmap."
        )
    if is_hi_type(typeof(ref)):
        if value_dim != dim:
            raise NotImplementedError(
                f"{name} under vmap: given a {typeof(value).str_short(False)} mapped along "
                f"{value_dim!r} for a ref that is mapped along {dim!r}; expected equal specs, "
                "because lanes of a ref stay where they are. Write a value that is mapped alike."
            )
        return [ref, value], transforms, dim
    element = _element(ref, dim)
    transforms, indices, out = with_lanes(axis, element, dim, transforms, indices, index_dims)
    if value_dim is None:
        value = broadcast_batch(value, axis, out)
    else:
        value = move_axis(value, value_dim, out)
    return [ref, value, *indices], transforms, out


def _element(ref: Value, dim: int | None) -> Any:
    inner = typeof(ref).inner_aval
    if dim is None:
        return inner
    return inner.update(shape=(*inner.shape[:dim], *inner.shape[dim + 1 :]))


BATCHING: Final = {
    new_ref_p: _new_ref,
    empty_ref_p: _empty_ref,
    freeze_p: _freeze,
    free_ref_p: _free_ref,
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
}
