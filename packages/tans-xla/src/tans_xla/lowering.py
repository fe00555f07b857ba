"""From a jaxpr to a StableHLO module, in one walk over the equations.

Each distinct operation (primitive, types, params, literal operands) is lowered once into a
template, a function in a module of its own, and replayed with one C++ call wherever it occurs, in
this module and in later ones. Call-like and effectful operations are lowered in place.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import (
    ClosedJaxpr,
    Eqn,
    Jaxpr,
    Literal,
    Primitive,
    TypedOp,
    rules,
    set_current_trace,
    trace_to_jaxpr,
)
from tans_core.config import abstract_mesh, xla_metadata
from tans_core.state import state
from tans_xla import hlo
from tans_xla._jaxlib import func, inlined_func_call, ir
from tans_xla.explicit_shardings import constrained
from tans_xla.literals import constant_of, literal_key
from tans_xla.mlir_context import MlirContext
from tans_xla.operation_metadata import set_attributes, tagged
from tans_xla.physical import physical_aval

type Value = Any  # ir.Value
type LoweringRule = Callable[..., Any]
type Metadata = tuple[tuple[str, Any], ...]  # attributes of operations by name


class ByPlatform:
    """A lowering row with a rule per platform.

    Args:
      default: the rule where no other fits; None where the primitive needs a platform rule.
      rules: platform name (cpu, cuda, rocm, tpu) to rule.
    """

    __slots__ = ("default", "rules")

    def __init__(self, default: LoweringRule | None = None, **rules: LoweringRule) -> None:
        self.default = default
        self.rules = rules

    def rule_for(self, platforms: Sequence[str], name: str) -> LoweringRule:
        """Return the rule for the platforms a module is lowered for."""
        found = {id(r): r for r in (self.rules.get(p, self.default) for p in platforms)}
        if len(found) == 1 and (rule := next(iter(found.values()))) is not None:
            return rule
        raise NotImplementedError(
            f"{name}: given the platforms {', '.join(platforms)}, expected one of "
            f"{', '.join(self.rules) or 'none'} alone. Lower for one platform at a time."
        )


class ModuleBuilder:
    """What is shared while one module is built.

    Attributes:
      platforms: the platforms that the module is for.
      host_callbacks: Python callables that the executable needs, by index.
      functions: name and body to the function's operation.
      scope: what precedes the names of operations, such as ``jit(f)``; empty inside of functions,
        where XLA puts the name of the call in front.
      mesh: the explicit mesh whose shardings types carry, or None.
      varying_known: whether types say along which manual axes values vary.
      observed: whether the compiler will call Python functions.
    """

    def __init__(self, name: str, platforms: Sequence[str], mlir: MlirContext) -> None:
        self.platforms = tuple(platforms)
        self.mlir = mlir
        self.host_callbacks: list[Any] = []
        self.keep_alive: list[Any] = []
        self.module = ir.Module.create(loc=mlir.unknown_location)
        self.module.operation.attributes["sym_name"] = hlo.string(name)
        self.body = ir.InsertionPoint(self.module.body)
        self.functions: dict[Hashable, Any] = {}
        self.names: dict[str, int] = {}
        self.template_depth = 0
        self.scope = ""
        self.mesh: Any = None
        self.varying_known = self.observed = False

    def unique_name(self, name: str) -> str:
        """Return `name`, made unique in the module."""
        n = self.names.get(name, 0)
        self.names[name] = n + 1
        return f"{name}_{n}" if n else name


class LoweringContext:
    """What a lowering rule may ask for."""

    __slots__ = ("avals_in", "avals_out", "builder", "eqn", "tokens")

    def __init__(
        self, builder: ModuleBuilder, op: TypedOp, eqn: Eqn | None, tokens: dict[Any, Any]
    ) -> None:
        self.builder = builder
        self.avals_in = op.in_avals
        self.avals_out = op.out_avals
        self.eqn = eqn
        self.tokens = tokens

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that the module is for."""
        return self.builder.platforms

    @property
    def result_types(self) -> list[Any]:
        """MLIR types of the results."""
        return [hlo.ir_type(a) for a in self.avals_out]

    @property
    def result_type(self) -> Any:
        """MLIR type of the only result."""
        return hlo.ir_type(self.avals_out[0])

    def constrain(self, values: Sequence[Value], avals: Sequence[Any]) -> list[Value]:
        """Constrain values to the shardings in their types, in explicit mode."""
        mesh = self.builder.mesh
        return list(values) if mesh is None else constrained(values, avals, mesh)

    def inline(self, closed: ClosedJaxpr, *operands: Value) -> list[Value]:
        """Emit the equations of a body here."""
        return lower_eqns(self.builder, closed, operands, self.tokens)

    def call(
        self, name: str, closed: ClosedJaxpr, *operands: Value, metadata: Metadata | None = None
    ) -> list[Value]:
        """Call the function made of a body, with attributes; equal bodies are one function."""
        return call_function(self.builder, name, closed, operands, self.tokens, metadata)

    def program(
        self,
        fun: Callable[..., Sequence[Any]],
        avals: Sequence[Any],
        operands: Sequence[Value],
    ) -> list[Value]:
        """Emit what `fun`, a function of traced values of types `avals`, computes.

        The compiler shards what is inside: types there have no sharding.
        """
        builder, mesh = self.builder, self.builder.mesh
        context, metadata = abstract_mesh.swap_local(None), xla_metadata.swap_local(None)
        builder.mesh = None
        try:
            closed = trace_to_jaxpr(fun, [_without_sharding(a) for a in avals])
            return lower_eqns(builder, closed, operands, self.tokens)
        finally:
            builder.mesh = mesh
            abstract_mesh.set_local(context)
            xla_metadata.set_local(metadata)

    def function(self, name: str, closed: ClosedJaxpr) -> str | None:
        """Return the symbol of a body without effects as a function; None inside a template."""
        if self.builder.template_depth:
            return None
        return _build_function(self.builder, name, closed, [])


_PLACES_RESULTS: Final = set[LoweringRule]()


def places_results(rule: LoweringRule) -> LoweringRule:
    """Mark a rule that constrains its results to the shardings in their types itself."""
    _PLACES_RESULTS.add(rule)
    return rule


def _places_results(primitive: Primitive) -> bool:
    return rules.lowering[primitive] in _PLACES_RESULTS


def lower_as(fun: Callable[..., Any]) -> LoweringRule:
    """Return a rule that lowers a primitive as the program ``fun(*args, **params)``."""

    def rule(ctx: LoweringContext, *operands: Value, **params: Any) -> Any:
        def flat(*args: Any) -> list[Any]:
            outs = fun(*args, **params)
            return list(outs) if isinstance(outs, tuple | list) else [outs]

        outs = ctx.program(flat, ctx.avals_in, operands)
        return outs if len(ctx.avals_out) != 1 else outs[0]

    return rule


def _without_sharding(aval: Any) -> Any:
    if getattr(aval, "is_sharded", False) or getattr(aval, "manual_axes", False):
        return aval.update(sharding=None, manual_axes=frozenset())
    return aval


# ---- one walk over the equations ----------------------------------------------------------------


def lower_eqns(
    builder: ModuleBuilder, closed: ClosedJaxpr, operands: Sequence[Value], tokens: dict
) -> list[Value]:
    """Emit a program at the current insertion point and return its results."""
    jaxpr: Jaxpr = closed.jaxpr
    env: dict[Any, Value] = dict(zip(jaxpr.invars, operands, strict=True))
    for var, const in zip(jaxpr.constvars, closed.consts, strict=True):
        env[var] = hlo.constant(np.asarray(const), var.aval)
    mlir = builder.mlir
    templates = mlir.templates
    platforms = builder.platforms
    mesh = builder.mesh
    for eqn in jaxpr.eqns:
        op = eqn.op
        args = []
        literals = []
        for v in eqn.invars:
            if type(v) is Literal:
                literals.append(literal_key(v))
            else:
                args.append(env[v])
                literals.append(None)
        primitive = op.primitive
        if primitive.call_like or op.effects or mlir.sizes is not None:
            name = _operation_name(op)
            where = mlir.location(eqn.traceback, builder.scope, eqn.name_stack, name)
            with where, tagged(eqn.metadata):
                outs = lower_in_place(builder, eqn, _operands(eqn, args), tokens)
                if mesh is not None and not _places_results(primitive):
                    outs = constrained(outs, op.out_avals, mesh, op.in_avals)
        else:
            location = mlir.location(eqn.traceback, builder.scope, eqn.name_stack, primitive.name)
            key = (op, platforms, mesh, eqn.metadata, *literals)
            template = templates.get(key)
            if template is None:
                template = _make_template(builder, eqn, key)
            outs = inlined_func_call(template, args, location)
        outvars = eqn.outvars
        if len(outvars) == 1:
            env[outvars[0]] = outs[0]
        else:
            env.update(zip(outvars, outs, strict=True))
    return [constant_of(v) if type(v) is Literal else env[v] for v in jaxpr.outvars]


def _operation_name(op: TypedOp) -> str:
    name = op.params.get("name") if op.primitive.call_like else None
    return f"{op.primitive.name}({name})" if isinstance(name, str) else op.primitive.name


def _operands(eqn: Eqn, args: list[Value]) -> list[Value]:
    rest = iter(args)
    return [constant_of(v) if type(v) is Literal else next(rest) for v in eqn.invars]


def _make_template(builder: ModuleBuilder, eqn: Eqn, key: Hashable) -> Any:
    mlir = builder.mlir
    in_types = [hlo.ir_type(v.aval) for v in eqn.invars if type(v) is not Literal]

    def emit(*args: Value) -> list[Value]:
        with tagged(eqn.metadata):
            outs = lower_in_place(builder, eqn, _operands(eqn, list(args)), {})
            if builder.mesh is not None:
                outs = constrained(outs, eqn.op.out_avals, builder.mesh, eqn.op.in_avals)
        _erase_dead_constants(outs, args)
        return outs

    builder.template_depth += 1
    try:
        with mlir.unknown_location:
            template = mlir.new_function("template", in_types, emit)
    finally:
        builder.template_depth -= 1
    if len(mlir.templates) > 1 << 15:
        mlir.templates.clear()
    mlir.templates[key] = template
    return template


def _erase_dead_constants(outs: Sequence[Value], args: Sequence[Value]) -> None:
    # A literal that became a splat of the full shape leaves its scalar behind.
    block = ir.InsertionPoint.current.block
    for operation in list(block.operations):
        if operation.operation.name != "stablehlo.constant":
            continue
        result = operation.operation.results[0]
        if not any(True for _ in result.uses) and not any(result == x for x in outs):
            operation.operation.erase()


def lower_in_place(
    builder: ModuleBuilder, eqn: Eqn, operands: list[Value], tokens: dict
) -> list[Value]:
    """Run the lowering rule of one equation; return its results as a list."""
    op = eqn.op
    rule = rules.lowering[op.primitive]
    params = op.params
    if isinstance(rule, ByPlatform):
        rule = rule.rule_for(builder.platforms, op.primitive.name)
    if _has_extended(op):
        op, params = _physical(op)
    ctx = LoweringContext(builder, op, eqn, tokens)
    with set_current_trace(state.evaluation):
        outs = rule(ctx, *operands, **params)
    return list(outs) if isinstance(outs, tuple | list) or _is_results(outs) else [outs]


def _is_results(outs: Any) -> bool:
    return isinstance(outs, ir.OpResultList)


def _has_extended(op: TypedOp) -> bool:
    if op.primitive.call_like:
        return False
    return any(
        not isinstance(getattr(a, "dtype", None), np.dtype | None)
        for a in (*op.in_avals, *op.out_avals)
    )


def _physical(op: TypedOp) -> tuple[TypedOp, dict[str, Any]]:
    physical_in = tuple(physical_aval(a) for a in op.in_avals)
    physical_out = tuple(physical_aval(a) for a in op.out_avals)
    rule = rules.to_lo.find(op.primitive)
    plain = rule is None or type(rule) is rules.ContextRule  # which is for user types
    params = op.params if plain else rule(op.in_avals, physical_in, **op.params)
    return TypedOp(op.primitive, physical_in, params, physical_out, op.effects), params


# ---- functions ----------------------------------------------------------------------------------


def ordered_effects(closed: ClosedJaxpr) -> list[Any]:
    """Return the ordered effects of a body, in a fixed order."""
    ordered = [e for e in closed.effects if getattr(e, "is_ordered", False)]
    return sorted(ordered, key=str)


def call_function(
    builder: ModuleBuilder,
    name: str,
    closed: ClosedJaxpr,
    operands: Sequence[Value],
    tokens: dict,
    metadata: Metadata | None = None,
) -> list[Value]:
    """Emit a call of the function made of `closed`, threading the tokens of its effects."""
    if builder.template_depth:
        # A template is replayed in other modules, where this module's functions don't exist.
        with tagged(metadata):
            return lower_eqns(builder, closed, operands, tokens)
    effects = ordered_effects(closed)
    key = (name, closed)
    function = builder.functions.get(key)
    if function is None:
        function = builder.functions[key] = _build_function(builder, name, closed, effects)
        builder.keep_alive.append(closed)
    results = [hlo.ir_type(a) for a in closed.out_avals]
    token_types = [tokens[e].type for e in effects]
    callee = ir.FlatSymbolRefAttr.get(function)
    call = hlo.op(
        "func.call",
        [*token_types, *results],
        [*(tokens[e] for e in effects), *operands],
        {"callee": callee},
    )
    if metadata:
        set_attributes(call, metadata)
    outs = list(call.results)
    tokens.update(zip(effects, outs, strict=False))
    return outs[len(effects) :]


def _build_function(
    builder: ModuleBuilder, name: str, closed: ClosedJaxpr, effects: list[Any]
) -> str:
    token = ir.Type.parse("!stablehlo.token")
    n = len(effects)
    in_types = [token] * n + [hlo.ir_type(a) for a in closed.in_avals]
    out_types = [token] * n + [hlo.ir_type(a) for a in closed.out_avals]
    symbol = builder.unique_name(name)
    function = func.FuncOp(symbol, (in_types, out_types), visibility="private", ip=builder.body)
    scope, builder.scope = builder.scope, ""
    with ir.InsertionPoint(function.add_entry_block()):
        arguments = list(function.arguments)
        tokens = dict(zip(effects, arguments[:n], strict=True))
        operands = arguments[n:]
        if builder.mesh is not None:
            operands = constrained(operands, closed.in_avals, builder.mesh)
        outs = lower_eqns(builder, closed, operands, tokens)
        func.return_([*(tokens[e] for e in effects), *outs])
    builder.scope = scope
    return symbol
