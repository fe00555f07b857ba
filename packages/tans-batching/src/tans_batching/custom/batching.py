"""Batching of a call with a rule of the user's own: the rule runs on whole arrays."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_batching.custom import Rule, custom_vmap_call_p
from tans_batching.element_types import element_type
from tans_core import AxisData, ClosedJaxpr, Primitive, typeof
from tans_core.errors import message
from tans_core.tree_registry import registry
from tans_lax.rows import move_axis

type Value = Any
type Dims = Sequence[int | None]


def _call_batch(
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    call: ClosedJaxpr,
    rule: Rule,
    in_tree: Any,
    out_tree: Any,
    num_consts: int,
) -> tuple[list[Value], list[int | None]]:
    _check_captured(rule, args[:num_consts], dims[:num_consts])
    own_dims = dims[num_consts:]
    whole = [
        x if d is None else move_axis(x, d, 0)
        for x, d in zip(args[num_consts:], own_dims, strict=True)
    ]
    in_batched = list(in_tree.unflatten([d is not None for d in own_dims]))
    result = rule(axis.size, in_batched, *in_tree.unflatten(whole))
    outs, flags = _split_result(rule, result, out_tree)
    for i, (x, flag) in enumerate(zip(outs, flags, strict=True)):
        _check_output(rule, axis, i, x, flag, call.out_avals[i])
    return outs, [0 if flag else None for flag in flags]


def _where(rule: Rule) -> str:
    return f"custom_vmap rule {getattr(rule, '__name__', rule)!r}"


def _check_captured(rule: Rule, captured: Sequence[Value], dims: Dims) -> None:
    mapped = [
        element_type(typeof(x), d).str_short(False)
        for x, d in zip(captured, dims, strict=True)
        if d is not None
    ]
    if mapped:
        raise ValueError(
            message(
                _where(rule),
                f"a function that closes over mapped values of type {', '.join(mapped)}",
                "mapped values to be arguments, so that the rule is given them",
                "Add them to the signatures of the function and of the rule.",
            )
        )


def _split_result(rule: Rule, result: Any, out_tree: Any) -> tuple[list[Value], list[bool]]:
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise ValueError(
            message(
                _where(rule),
                f"a result of type {type(result).__name__}",
                "a pair (outputs, out_batched)",
                "Return the outputs, and bools of the same structure.",
            )
        )
    outs, found_tree = registry.flatten(result[0])
    if found_tree != out_tree:
        raise ValueError(
            message(
                _where(rule),
                f"outputs of structure {found_tree}",
                f"{out_tree}, that of the function",
                "Return the same containers as the function.",
            )
        )
    flags, flags_tree = registry.flatten(result[1])
    if flags_tree != out_tree:
        raise ValueError(
            message(
                _where(rule),
                f"out_batched of structure {flags_tree}",
                f"{out_tree}, that of the outputs",
                "Return one bool per output array: True where it is mapped.",
            )
        )
    return outs, [bool(flag) for flag in flags]


def _check_output(
    rule: Rule, axis: AxisData, index: int, x: Value, flag: bool, expected: Any
) -> None:
    aval = typeof(x)
    shape = (axis.size, *expected.shape) if flag else expected.shape
    if aval.shape == shape and aval.dtype == expected.dtype:  # type: ignore[union-attr]
        return
    wanted = expected.update(shape=shape).str_short(False)
    raise ValueError(
        message(
            _where(rule),
            f"output {index} of type {aval.str_short(False)}, marked "
            f"{'mapped' if flag else 'not mapped'}",
            f"type {wanted}" + (", with the mapped axis first" if flag else ""),
            "Return what the function returns for one element, lined up along the first axis.",
        )
    )


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    custom_vmap_call_p: _call_batch,
}
