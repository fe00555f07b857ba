"""Joins and parts of arrays with an extended dtype, on their physical form."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.concatenation import concatenate_p, pad_p, split_p, stack_p, tile_p, unstack_p

type Avals = tuple[ShapedArray, ...]
type Params = dict[str, Any]


def _same_params(logical: Avals, physical: Avals, **params: Any) -> Params:
    # Dimensions are counted from the front; the lowering leaves trailing ones alone.
    del logical, physical
    return params


def _pad_to_lo(logical: Avals, physical: Avals, *, padding_config: tuple[Any, ...]) -> Params:
    added = physical[0].ndim - logical[0].ndim
    return {"padding_config": padding_config + ((0, 0, 0),) * added}


TO_LO: Final[dict[Primitive, Callable[..., Params]]] = {
    concatenate_p: _same_params,
    split_p: _same_params,
    pad_p: _pad_to_lo,
    stack_p: _same_params,
    unstack_p: _same_params,
    tile_p: _same_params,
}
