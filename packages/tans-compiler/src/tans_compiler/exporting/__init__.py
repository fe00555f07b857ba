"""Programs that outlive their process: `export`, and the bytes it makes.

An exported program is portable StableHLO with the types of its arguments and results. It can be
called from other programs, differentiated when its backward pass was kept, and read by later
versions.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tans_autodiff import vjp
from tans_compiler._jaxlib import stablehlo_versions, to_portable
from tans_compiler.exporting import modules, serialization
from tans_compiler.exporting.checks import DisabledSafetyCheck, check_custom_calls
from tans_compiler.exporting.exported import Exported, argument_names, is_inexact
from tans_compiler.exporting.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)
from tans_compiler.symbolic import is_symbolic_dim
from tans_core import eval_jaxpr, tree
from tans_core.debug_info import name_of
from tans_core.sharding import NamedSharding
from tans_xla import ShapeDtypeStruct, devices, jit
from tans_xla.executable import lower, lowering_platform
from tans_xla.mlir_context import use_context
from tans_xla.stages import Traced, checked_platforms, close
from tans_xla.tilings import make_hlo_sharding

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "default_export_platform",
    "deserialize",
    "export",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]

maximum_supported_calling_convention_version = serialization.CALLING_CONVENTION
minimum_supported_calling_convention_version = serialization.OLDEST_CALLING_CONVENTION


def default_export_platform() -> str:
    """Return the name of the default device's platform: cpu, cuda, rocm or tpu."""
    return lowering_platform(devices()[0])


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Return a function that exports the program of a jitted function for given argument types.

    Args:
      fun_jit: what `jit` returned.
      platforms: names among cpu, cuda, rocm and tpu; by default that of the default device. With
        several, the program picks its form where it is called.
      disabled_checks: checks to leave out.

    Returns:
      A function of the arguments, arrays or `ShapeDtypeStruct`, that returns an `Exported`.

    Raises:
      ValueError: `fun_jit` was not jitted, a platform is unknown, or the program calls library
        functions without a guarantee.
      NotImplementedError: the program calls Python, or changes refs.

    Example:
      >>> import tans_lax as lax
      >>> exported = export(jit(lambda x: lax.sin(x)))(1.0)
      >>> round(float(deserialize(exported.serialize()).call(1.0)), 4)
      0.8415
    """
    if not hasattr(fun_jit, "_jitted"):
        raise ValueError(
            f"export: given {name_of(fun_jit)} of type {type(fun_jit).__name__}, expected a "
            "function that jit returned. Write export(jit(f))."
        )
    allowed = tuple(disabled_checks) if isinstance(disabled_checks, Iterable) else None
    if allowed is None or not all(isinstance(c, DisabledSafetyCheck) for c in allowed):
        raise TypeError(
            f"export: given disabled_checks={disabled_checks!r}, expected a sequence of "
            "DisabledSafetyCheck. Write [DisabledSafetyCheck.platform()]."
        )
    names = checked_platforms(platforms, "export: given platforms") or (default_export_platform(),)

    def make(*args: Any, **kwargs: Any) -> Exported:
        _check_one_scope(name_of(fun_jit), args, kwargs)
        return _export(fun_jit.trace(*args, **kwargs), names, allowed)

    return make


def _check_one_scope(name: str, args: Any, kwargs: Any) -> None:
    leaves, in_tree = tree.flatten((args, kwargs))
    found = [
        (dim, argument)
        for argument, x in zip(argument_names(in_tree), leaves, strict=True)
        for dim in getattr(x, "shape", ())
        if is_symbolic_dim(dim)
    ]
    for dim, argument in found:
        first, first_argument = found[0]
        if dim.scope is not first.scope:
            raise ValueError(
                f"export: given {name} with the symbolic dimension '{first}' of "
                f"{first.scope.place} in {first_argument} and '{dim}' of {dim.scope.place} in "
                f"{argument}; expected dimensions of one scope. Make them with one call of "
                "symbolic_shape or symbolic_args_specs, or pass scope=SymbolicScope() to each."
            )


def _export(
    traced: Traced, platforms: tuple[str, ...], disabled: tuple[DisabledSafetyCheck, ...]
) -> Exported:
    jitted, name = traced._jitted, traced.fun_name
    call, program = jitted.low_form(traced._call, traced._program)
    if program is not traced._program or program.has_refs:
        raise NotImplementedError(
            f"export: given {name}, whose arguments or results are refs or values of user types; "
            "expected arrays. Take refs and such values apart in a function around it."
        )
    leaves = call.leaves
    ins = [x.sharding if isinstance(x, ShapeDtypeStruct) else None for x in leaves]
    count = len(program.consts)
    placement, outs = jitted.placement(call, program, [*program.consts, *leaves], ins)
    closed, in_shardings = close(program), placement.in_shardings[count:]
    with use_context():
        lowered = [
            lower(
                closed,
                name,
                (platform,),
                donated=(False,) * len(leaves),
                in_shardings=in_shardings,
                out_shardings=outs,
                num_devices=len(placement.devices),
                keep_unused=jitted.options.keep_unused,
            )
            for platform in platforms
        ]
        for each in lowered:
            check_custom_calls(each.module, name, disabled, bool(each.host_callbacks))
        several = len(platforms) > 1
        module = lowered[0].module
        if several:
            module = modules.for_platforms([each.module for each in lowered])
        data = to_portable(module, stablehlo_versions()[1])
    plain = [a.update(sharding=None) for a in closed.in_avals]
    return Exported(
        fun_name=name,
        in_tree=traced.in_tree,
        in_avals=tuple(plain),
        out_tree=traced.out_tree,
        out_avals=tuple(a.update(sharding=None) for a in closed.out_avals),
        _in_named_shardings=_abstract(in_shardings),
        _out_named_shardings=_abstract(outs),
        in_shardings_hlo=_for_compiler(in_shardings, closed.in_avals),
        out_shardings_hlo=_for_compiler(outs, closed.out_avals),
        nr_devices=len(placement.devices),
        platforms=platforms,
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=disabled,
        mlir_module_serialized=data,
        calling_convention_version=maximum_supported_calling_convention_version,
        module_kept_var_idx=tuple(i for i, kept in enumerate(lowered[0].kept) if kept),
        uses_global_constants=several,
        _get_vjp=lambda exported: _export_vjp(closed, exported, in_shardings, outs),
    )


def _abstract(shardings: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        NamedSharding(s.mesh.abstract_mesh, s.spec) if isinstance(s, NamedSharding) else None
        for s in shardings
    )


def _for_compiler(shardings: Sequence[Any], avals: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        make_hlo_sharding(s.mesh, s.spec, a.ndim) if isinstance(s, NamedSharding) else None
        for s, a in zip(shardings, avals, strict=True)
    )


def _export_vjp(
    closed: Any, exported: Exported, in_shardings: Sequence[Any], outs: Sequence[Any]
) -> Exported:
    """Export the backward pass of a program."""
    inexact_in = [is_inexact(a) for a in closed.in_avals]
    inexact_out = [is_inexact(a) for a in closed.out_avals]

    def backward(*values: Any) -> list[Any]:
        primals, cts = values[: len(inexact_in)], values[len(inexact_in) :]

        def forward(*moved: Any) -> list[Any]:
            given = iter(moved)
            pairs = zip(primals, inexact_in, strict=True)
            flat = [next(given) if m else x for x, m in pairs]
            results = eval_jaxpr(closed.jaxpr, closed.consts, *flat)
            return [x for x, m in zip(results, inexact_out, strict=True) if m]

        moved = [x for x, m in zip(primals, inexact_in, strict=True) if m]
        return list(vjp(forward, *moved)[1](list(cts)))

    backward.__name__ = f"{exported.fun_name}_vjp"
    types = [*zip(exported.in_avals, in_shardings, strict=True)]
    for aval, sharding, m in zip(exported.out_avals, outs, inexact_out, strict=True):
        if m:
            types.append((aval.update(weak_type=False), sharding))
    structs = [
        ShapeDtypeStruct(a.shape, a.dtype, sharding=s if isinstance(s, NamedSharding) else None)
        for a, s in types
    ]
    make = export(
        jit(backward, keep_unused=True),
        platforms=exported.platforms,
        disabled_checks=exported.disabled_safety_checks,
    )
    return make(*structs)


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the program that `Exported.serialize` wrote.

    Args:
      blob: the bytes. Reading them runs no code; the program is compiled when it is called.

    Raises:
      ValueError: the bytes are damaged, of another form or version, or hold containers of a class
        that is not registered here.
    """
    fields, backward = serialization.fields_of(blob)
    shardings = fields["_in_named_shardings"], fields["_out_named_shardings"]
    return Exported(
        **fields,
        in_shardings_hlo=_for_compiler(shardings[0], fields["in_avals"]),
        out_shardings_hlo=_for_compiler(shardings[1], fields["out_avals"]),
        _get_vjp=None if backward is None else lambda _: deserialize(backward),
    )
