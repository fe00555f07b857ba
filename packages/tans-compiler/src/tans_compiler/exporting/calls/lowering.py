"""Lowering: the functions of the exported module move into the caller's."""

from collections.abc import Sequence
from typing import Any, Final

from tans_compiler._jaxlib import ir
from tans_compiler.exporting import modules
from tans_compiler.exporting.calls import call_exported_p
from tans_compiler.exporting.checks import DisabledSafetyCheck
from tans_xla.lowering import LoweringContext
from tans_xla.sdy_attributes import constrain
from tans_xla.sizes import has_symbolic

type Value = Any  # ir.Value


def _call_lower(ctx: LoweringContext, *operands: Value, exported: Any, **_: Any) -> list[Value]:
    number = _platform_number(ctx.platforms, exported)
    builder = ctx.builder
    _check_devices(builder, exported)
    kept = exported.module_kept_var_idx
    arguments = [_placed(operands[i], exported.in_placement(i)) for i in kept]
    if exported.uses_global_constants:
        arguments.insert(0, modules.constant_index(number))
    key = (exported, *(ctx.avals_in if exported.is_symbolic else ()))
    function = builder.functions.get(key)
    if function is None:
        module = exported.module_in(builder.mlir.context)
        if exported.is_symbolic and not any(has_symbolic(a.shape) for a in ctx.avals_in):
            types = [x.type for x in arguments]
            module = modules.specialised(module, types, ctx.result_types)
        name = builder.unique_name(f"call_exported_{_symbol(exported.fun_name)}")
        function = modules.rename_main(module, builder.module, name)
        modules.without_attributes(function)
        builder.functions[key] = function
        builder.keep_alive.append(exported)
    wanted = function.type.inputs
    arguments = [modules.converted(x, t) for x, t in zip(arguments, wanted, strict=True)]
    outs = modules.call(function, arguments)
    outs = [modules.converted(x, t) for x, t in zip(outs, ctx.result_types, strict=True)]
    return [_placed(x, exported.out_placement(i)) for i, x in enumerate(outs)]


def _placed(x: Value, sharding: Any) -> Value:
    return x if sharding is None else constrain(x, sharding)


def _symbol(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)


def _platform_number(platforms: Sequence[str], exported: Any) -> int:
    wrong = [p for p in platforms if p not in exported.platforms]
    if not wrong:
        return exported.platforms.index(platforms[0])
    if DisabledSafetyCheck.platform() in exported.disabled_safety_checks:
        return 0
    raise ValueError(
        f"call of an exported program: function {exported.fun_name!r} was exported for "
        f"{', '.join(exported.platforms)}, but it is called on {', '.join(wrong)}; expected one "
        f"of its platforms. Export it with platforms=(..., {wrong[0]!r}), or with "
        "disabled_checks=[DisabledSafetyCheck.platform()]."
    )


def _check_devices(builder: Any, exported: Any) -> None:
    attributes = builder.module.operation.attributes
    key = "mhlo.num_partitions"
    count = ir.IntegerAttr(attributes[key]).value if key in attributes else 1
    if exported.nr_devices not in (1, count):
        raise ValueError(
            f"call of an exported program: function {exported.fun_name!r} was exported for "
            f"{exported.nr_devices} devices, but the program that calls it runs on {count}; "
            f"expected {exported.nr_devices}. Call it on arguments that are placed on that many."
        )


LOWERING: Final = {call_exported_p: _call_lower}
