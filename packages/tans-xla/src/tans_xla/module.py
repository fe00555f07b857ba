"""From a closed program to a module with a ``main`` function, ready for the compiler."""

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tans_core import ClosedJaxpr, dce_jaxpr
from tans_core.refs import has_refs
from tans_core.sharding import NamedSharding
from tans_xla import hlo, sdy_attributes
from tans_xla._jaxlib import func, ir
from tans_xla.discharge import discharged
from tans_xla.explicit_shardings import explicit_mesh
from tans_xla.lowering import ModuleBuilder, lower_eqns, ordered_effects
from tans_xla.mlir_context import use_context
from tans_xla.physical import physical_aval
from tans_xla.runtime_tokens import DUMMY
from tans_xla.sizes import is_symbolic

_NO_ALIASES: Final[Mapping[int, int]] = MappingProxyType({})


class LoweredModule(NamedTuple):
    """A module and what its executable needs.

    Attributes:
      module: the MLIR module.
      name: its name.
      kept: which arguments the program takes.
      effects: its ordered effects; ``main`` takes and returns one leading token array for each.
      has_unordered_effects: whether something else happens when it runs.
      host_callbacks: Python callables by index.
      keep_alive: objects the executable must hold.
      seconds: how long it took to lower.
      observed: whether the compiler calls Python functions, so that it has to run.
    """

    module: Any
    name: str
    kept: tuple[bool, ...]
    effects: tuple[Any, ...]
    has_unordered_effects: bool
    host_callbacks: list[Any]
    keep_alive: list[Any]
    seconds: float = 0.0
    observed: bool = False


def lower_module(
    closed: ClosedJaxpr,
    name: str,
    platforms: Sequence[str],
    *,
    donated: Sequence[bool],
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    num_devices: int = 1,
    keep_unused: bool = False,
    aliases: Mapping[int, int] = _NO_ALIASES,
) -> LoweredModule:
    """Lower a closed program (without tracer constants or refs as inputs) to a module.

    `aliases` says which result overwrites an input, by the input's number.
    """
    mesh = explicit_mesh((*in_shardings, *out_shardings), num_devices)
    closed = _without_refs(closed)
    symbolic = _symbolic_size(closed.in_avals)
    keep_unused = keep_unused or symbolic is not None  # sizes are read from arguments
    keep = [keep_unused or i in aliases for i in range(len(closed.in_avals))]
    live, kept = dce_jaxpr(closed, [True] * len(closed.out_avals), instantiate=keep)
    overwritten_by = [aliases.get(i) for i, k in enumerate(kept) if k]
    donated = [d for d, k in zip(donated, kept, strict=True) if k]
    in_shardings = [s for s, k in zip(in_shardings, kept, strict=True) if k]
    effects = tuple(ordered_effects(live))
    with use_context() as mlir:
        builder = ModuleBuilder(f"jit_{_symbol(name)}", platforms, mlir)
        builder.mesh = mesh
        builder.scope = f"jit({name})"
        if num_devices > 1:
            attributes = builder.module.operation.attributes
            attributes["mhlo.num_partitions"] = hlo.i32(num_devices)
            attributes["mhlo.num_replicas"] = hlo.i32(1)
        given = donated, overwritten_by
        try:
            _build_main(builder, live, effects, given, in_shardings, out_shardings)
        finally:
            mlir.sizes = None
    unordered = any(not getattr(e, "is_ordered", False) for e in live.effects)
    return LoweredModule(
        builder.module,
        name,
        tuple(kept),
        effects,
        unordered,
        builder.host_callbacks,
        builder.keep_alive,
        observed=builder.observed,
    )


def _symbolic_size(avals: Sequence[Any]) -> Any:
    """Return one of the symbolic sizes in the types of arguments, or None."""
    shapes = [getattr(a, "shape", ()) for a in avals]
    return next((d for s in shapes for d in s if is_symbolic(d)), None)


def _symbol(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)


def _build_main(
    builder: ModuleBuilder,
    live: ClosedJaxpr,
    effects: Sequence[Any],
    donated: tuple[Sequence[bool], Sequence[int | None]],
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
) -> None:
    n = len(effects)
    dummies = [hlo.ir_type(DUMMY)] * n
    in_types = dummies + [hlo.ir_type(a) for a in live.in_avals]
    out_types = dummies + [hlo.ir_type(a) for a in live.out_avals]
    main = func.FuncOp("main", (in_types, out_types), visibility="public", ip=builder.body)
    single = "mhlo.num_partitions" not in builder.module.operation.attributes
    keys_in = _pairing_keys(live.in_avals, in_shardings, single)
    keys_out = _pairing_keys(live.out_avals, out_shardings, single)
    arg_attrs = _donations(keys_in, keys_out, *donated, n)
    if single:
        _warn_of_unusable(builder.scope, live.in_avals, arg_attrs)
    _add_shardings(arg_attrs, in_shardings, live.in_avals)
    result_attrs: list[dict[str, Any]] = [{} for _ in live.out_avals]
    _add_shardings(result_attrs, out_shardings, live.out_avals)
    main.arg_attrs = _attr_array([{}] * n + arg_attrs)
    main.attributes["res_attrs"] = _attr_array([{}] * n + result_attrs)
    with ir.InsertionPoint(main.add_entry_block()):
        token = ir.Type.parse("!stablehlo.token")
        tokens = {e: hlo.op1("stablehlo.create_token", token, ()) for e in effects}
        symbolic = _symbolic_size(live.in_avals)
        if symbolic is not None:
            builder.mlir.sizes = symbolic.size_emitter(live.in_avals, list(main.arguments)[n:])
            builder.template_depth = 1  # functions of their own could not read the sizes
        outs = lower_eqns(builder, live, list(main.arguments)[n:], tokens)
        func.return_([*(hlo.zeros(DUMMY) for _ in effects), *outs])


def _attr_array(attrs: Sequence[dict[str, Any]]) -> Any:
    return ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attrs])


def _add_shardings(
    attrs: list[dict[str, Any]], shardings: Sequence[Any], avals: Sequence[Any]
) -> None:
    for attr, sharding, aval in zip(attrs, shardings, avals, strict=True):
        if isinstance(sharding, NamedSharding) and sharding.mesh.size > 1:
            ndim = physical_aval(aval).ndim
            attr["sdy.sharding"] = sdy_attributes.tensor_sharding(sharding, ndim)
        kind = getattr(sharding, "_memory_kind", None)
        if kind is not None and kind not in ("device", "unpinned_host"):
            attr["mhlo.memory_kind"] = hlo.string(kind)


def _without_refs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with the refs that it makes and ends replaced by values."""
    if not has_refs(closed.effects):
        return closed
    live, _ = dce_jaxpr(closed, [True] * len(closed.out_avals), instantiate=True)
    return discharged(live).closed


def _pairing_keys(avals: Sequence[Any], shardings: Sequence[Any], single: bool) -> list[Any]:
    """Return what a donated argument and the result that takes its buffer have in common.

    On several devices that includes the sharding; where the compiler chooses it, which is None
    here, the compiler pairs buffers too.
    """
    return [
        (aval.strong(), None if single else sharding) if single or sharding is not None else None
        for aval, sharding in zip(avals, shardings, strict=True)
    ]


def _warn_of_unusable(program: str, avals: Sequence[Any], attrs: Sequence[dict[str, Any]]) -> None:
    unusable = [
        aval.str_short(False)
        for aval, attr in zip(avals, attrs, strict=True)
        if "jax.buffer_donor" in attr
    ]
    if unusable:
        warnings.warn(
            f"{program}: given donated arguments of type {', '.join(unusable)}, whose buffers no "
            "result can use; expected results of the same types. Donate other arguments.",
            UserWarning,
            stacklevel=2,
        )


def _donations(
    keys_in: Sequence[Any],
    keys_out: Sequence[Any],
    donated: Sequence[bool],
    overwritten_by: Sequence[int | None],
    offset: int,
) -> list[dict[str, Any]]:
    """Pair each donated argument with an unpaired result of its type; others are left to XLA."""
    free: dict[Any, list[int]] = {}
    for i, key in enumerate(keys_out):
        if i not in overwritten_by and key is not None:
            free.setdefault(key, []).append(i)
    attrs: list[dict[str, Any]] = []
    for key, give, out in zip(keys_in, donated, overwritten_by, strict=True):
        attr: dict[str, Any] = {}
        slots = free.get(key)
        if out is not None:
            attr["tf.aliasing_output"] = hlo.i32(out + offset)
        elif give and slots:
            attr["tf.aliasing_output"] = hlo.i32(slots.pop(0) + offset)
        elif give:
            attr["jax.buffer_donor"] = hlo.boolean(True)
        attrs.append(attr)
    return attrs
