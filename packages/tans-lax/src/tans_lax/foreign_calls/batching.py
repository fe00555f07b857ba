"""Batching of foreign calls, as `vmap_method` says."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData
from tans_core.errors import message
from tans_lax.control_flow.scan import scan
from tans_lax.foreign_calls import ffi_call_p
from tans_lax.foreign_calls.checks import VMAP_METHODS
from tans_lax.rows import broadcast_batch, move_axis
from tans_lax.shape import expand_dims

type Value = Any


def _ffi_call_batch(
    axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], **params: Any
) -> tuple[list[Value], list[int]]:
    method, target = params["vmap_method"], params["target_name"]
    if method is None:
        raise NotImplementedError(
            message(
                f"vmap of ffi_call of {target!r}",
                "vmap_method=None",
                f"one of {', '.join(map(repr, VMAP_METHODS))}",
                "'sequential' works for every function.",
            )
        )
    front = [x if d is None else move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    mapped = [d is not None for d in dims]
    if method.startswith("sequential"):
        outs = _loop(axis, front, mapped, method == "sequential_unrolled", params)
        return outs, [0] * len(outs)
    # An operand whose buffer a result takes over has the type of that result.
    for i, _ in params["input_output_aliases"]:
        if not mapped[i]:
            front[i], mapped[i] = broadcast_batch(front[i], axis, 0), True
    widened = [
        x if m or method == "legacy_vectorized" else _widen(axis, x, method)
        for x, m in zip(front, mapped, strict=True)
    ]
    grown = [m or method != "legacy_vectorized" for m in mapped]
    outs = ffi_call_p.bind(*widened, **_with_axis(axis.size, grown, params))
    return outs, [0] * len(outs)


def _widen(axis: AxisData, x: Value, method: str) -> Value:
    return expand_dims(x, (0,)) if method == "expand_dims" else broadcast_batch(x, axis, 0)


def _with_axis(size: int, grown: Sequence[bool], params: dict[str, Any]) -> dict[str, Any]:
    """Return the params of a call with one more, most major dimension."""
    layouts = zip(params["input_layouts"], grown, strict=True)
    return {
        **params,
        "result_avals": tuple(a.inc_rank(size, 0) for a in params["result_avals"]),
        "input_layouts": tuple(_grown(x) if g else x for x, g in layouts),
        "output_layouts": tuple(map(_grown, params["output_layouts"])),
    }


def _grown(layout: tuple[int, ...]) -> tuple[int, ...]:
    return (*(d + 1 for d in layout), 0)


def _loop(
    axis: AxisData,
    args: Sequence[Value],
    mapped: Sequence[bool],
    unroll: bool,
    params: dict[str, Any],
) -> list[Value]:
    def step(carry: Any, rows: Any) -> Any:
        given = iter(rows)
        each = [next(given) if m else x for x, m in zip(args, mapped, strict=True)]
        return carry, ffi_call_p.bind(*each, **params)

    xs = [x for x, m in zip(args, mapped, strict=True) if m]
    return scan(step, (), xs, length=axis.size, unroll=unroll or 1)[1]


BATCHING: Final = {ffi_call_p: _ffi_call_batch}
