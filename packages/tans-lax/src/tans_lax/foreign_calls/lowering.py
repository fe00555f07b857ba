"""Lowering of foreign calls."""

from typing import Any, Final

from tans_lax.foreign_calls import ffi_call_p
from tans_xla.ffi.attributes import ir_attribute
from tans_xla.ffi.lowering import ffi_lowering


def _ffi_call_lower(
    ctx: Any,
    *operands: Any,
    target_name: str,
    has_side_effect: bool,
    input_layouts: Any,
    output_layouts: Any,
    input_output_aliases: Any,
    custom_call_api_version: int,
    legacy_backend_config: str | None,
    attributes: Any,
    **_: Any,
) -> list[Any]:
    config: Any = legacy_backend_config
    if custom_call_api_version >= 4:
        config = {k: ir_attribute(v) for k, v in attributes}
    rule = ffi_lowering(
        target_name,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        backend_config=config,
        has_side_effect=has_side_effect,
        operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version,
    )
    return rule(ctx, *operands)


LOWERING: Final = {ffi_call_p: _ffi_call_lower}
