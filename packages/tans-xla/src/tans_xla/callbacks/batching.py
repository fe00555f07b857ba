"""Batching of callbacks: one equation whose callback loops or broadcasts on the host."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_xla.callbacks import debug_callback_p, io_callback_p, pure_callback_p
from tans_xla.callbacks.batched import VMAP_METHODS, BatchedCallback

type Dims = Sequence[int | None]


def _with_axis(avals: Sequence[ShapedArray], size: int) -> tuple[ShapedArray, ...]:
    return tuple(aval.update(shape=(size, *aval.shape)) for aval in avals)


def _batched(axis: Any, dims: Dims, method: str, params: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {
        "callback": BatchedCallback(params["callback"], dims, axis.size, method)
    }
    if "result_avals" in params:
        changed["result_avals"] = _with_axis(params["result_avals"], axis.size)
    return {**params, **changed}


def _pure_callback(
    axis: Any, args: Sequence[Any], dims: Dims, **params: Any
) -> tuple[list[Any], list[int]]:
    method = params["vmap_method"]
    if method is None:
        raise NotImplementedError(
            f"vmap of pure_callback: {params['callback']!r} was given with vmap_method=None, "
            f"expected one of {', '.join(map(repr, VMAP_METHODS))}. 'sequential' works for every "
            "callback."
        )
    outs = pure_callback_p.bind(*args, **_batched(axis, dims, method, params))
    return outs, [0] * len(outs)


def _io_callback(
    axis: Any, args: Sequence[Any], dims: Dims, **params: Any
) -> tuple[list[Any], list[int]]:
    if params["ordered"]:
        raise ValueError(
            f"vmap of io_callback: {params['callback']!r} is ordered, but the calls of one mapped "
            "operation have no program order. Pass ordered=False, or use a scan."
        )
    outs = io_callback_p.bind(*args, **_batched(axis, dims, "sequential", params))
    return outs, [0] * len(outs)


def _debug_callback(
    axis: Any, args: Sequence[Any], dims: Dims, **params: Any
) -> tuple[list[Any], list[int]]:
    debug_callback_p.bind(*args, **_batched(axis, dims, "sequential", params))
    return [], []


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _pure_callback,
    io_callback_p: _io_callback,
    debug_callback_p: _debug_callback,
}
