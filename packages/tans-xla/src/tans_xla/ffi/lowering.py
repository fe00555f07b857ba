"""StableHLO of foreign calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tans_core.errors import message
from tans_xla import hlo
from tans_xla._jaxlib import ir
from tans_xla.ffi.attributes import frozen, ir_attribute
from tans_xla.lowering import LoweringContext
from tans_xla.physical import physical_aval

type Value = Any  # ir.Value
type Layouts = Sequence[Sequence[int] | None] | None

_TYPED = 4  # the version of custom calls whose configuration is a dictionary


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Layouts = None,
    result_layouts: Layouts = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    api_version: int = _TYPED,
    extra_attributes: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Return a function ``(ctx, *operands, **params)`` that emits a call and returns the operation.

    Args:
      call_target_name: name of the registered function.
      operand_layouts: per operand its dimensions from minor to major, or None for row-major.
      result_layouts: the same for results.
      backend_config: MLIR attributes by name, added to the params; or a string for untyped calls.
      skip_ffi_layout_processing: leave layouts out altogether.
      has_side_effect: whether the call stays when its results are unused.
      operand_output_aliases: operand index to the index of the result that takes over its buffer.
      api_version: version of the calling convention; 4 is the typed one.
      extra_attributes: further attributes of the operation.

    Raises:
      ValueError: a layout is no order of the dimensions.
    """

    def build(ctx: LoweringContext, *operands: Value, **params: Any) -> Any:
        attributes: dict[str, Any] = {
            "call_target_name": hlo.string(call_target_name),
            "api_version": hlo.i32(api_version),
            "has_side_effect": hlo.boolean(has_side_effect),
            "backend_config": _config(call_target_name, api_version, backend_config, params),
        }
        if not skip_ffi_layout_processing:
            attributes["operand_layouts"] = _layouts("operand", operand_layouts, ctx.avals_in)
            attributes["result_layouts"] = _layouts("result", result_layouts, ctx.avals_out)
        aliases = dict(operand_output_aliases or {})
        if aliases:
            attributes["output_operand_aliases"] = hlo.array(
                [_alias(out, operand, len(ctx.avals_out)) for operand, out in aliases.items()]
            )
        attributes.update(extra_attributes or {})
        kinds = [hlo.ir_type(a) for a in ctx.avals_out]
        return hlo.op("stablehlo.custom_call", kinds, operands, attributes)

    return build


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Layouts = None,
    result_layouts: Layouts = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Return a lowering rule that calls a foreign function; params of the primitive are attributes.

    Args:
      call_target_name: name of the registered function.
      operand_layouts: per operand its dimensions from minor to major, or None for row-major.
      result_layouts: the same for results.
      backend_config: further attributes, as MLIR.
      skip_ffi_layout_processing: leave layouts out altogether.
      **lowering_args: other options of `build_ffi_lowering_function`.

    Example:
      >>> import tans_core
      >>> scale_p = tans_core.Primitive("scale")
      >>> tans_core.rules.lowering.register(scale_p, ffi_lowering("my_scale"))
    """
    build = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def rule(ctx: LoweringContext, *operands: Value, **params: Any) -> list[Value]:
        return list(build(ctx, *operands, **params).results)

    return rule


def _config(target: str, api_version: int, given: Any, params: dict[str, Any]) -> Any:
    if api_version < _TYPED or isinstance(given, str):
        return hlo.string(given or "")
    entries = {k: ir_attribute(v) for k, v in frozen(target, params)}
    return ir.DictAttr.get(entries | dict(given or {}))


def in_memory(aval: Any) -> Any:
    """Return the type of the buffer that a handler is given for a value of type `aval`."""
    return physical_aval(aval) if hasattr(aval, "dtype") else aval


def _layouts(what: str, layouts: Layouts, avals: Sequence[Any]) -> Any:
    if layouts is None:
        layouts = [None] * len(avals)
    if len(layouts) != len(avals):
        raise ValueError(
            message(
                "ffi_lowering",
                f"{len(layouts)} {what} layouts",
                f"{len(avals)}, one per {what}",
                "Give None for row-major.",
            )
        )
    return hlo.array([_layout(what, x, a) for x, a in zip(layouts, avals, strict=True)])


def _layout(what: str, layout: Sequence[int] | None, aval: Any) -> Any:
    ndim = getattr(in_memory(aval), "ndim", 0)
    order = tuple(reversed(range(ndim))) if layout is None else tuple(layout)
    if sorted(order) != list(range(ndim)):
        raise ValueError(
            message(
                "ffi_lowering",
                f"the layout {order} for a {what} of type {aval.str_short(False)}",
                f"an order of its {ndim} dimensions",
                "List each dimension once.",
            )
        )
    return hlo.attribute(f"dense<[{', '.join(map(str, order))}]> : tensor<{ndim}xindex>")


def _alias(result: int, operand: int, results: int) -> Any:
    place = [result] if results > 1 else []
    return hlo.attribute(
        f"#stablehlo.output_operand_alias<output_tuple_indices = {place}, "
        f"operand_index = {operand}, operand_tuple_indices = []>"
    )
