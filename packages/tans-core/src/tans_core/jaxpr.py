"""Jaxprs: the recorded form of a program.

A `Jaxpr` is a list of equations over typed variables; a `ClosedJaxpr` adds the values of its
constants. Both are treated as immutable and compared by identity.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, final, override

from tans_core.config import xla_metadata
from tans_core.primitive import Primitive
from tans_core.refs import RefEffect, has_refs, moved_effects
from tans_core.state import scoped, state, swap_metadata
from tans_core.types import AbstractValue

type Effects = frozenset[Any]
NO_EFFECTS: Final[Effects] = frozenset()


class Var:
    """A variable; identity is equality."""

    __slots__ = ("__weakref__", "aval")

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @override
    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A variable that nobody reads; printed as ``_``."""

    __slots__ = ()

    @override
    def __repr__(self) -> str:
        return "_"


@final
class Literal:
    """A scalar written into the equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: AbstractValue) -> None:
        self.val = val
        self.aval = aval

    @override
    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


type Atom = Var | Literal


class TypedOp:
    """One (primitive, input types, params): the unit that type inference and lowering memoise."""

    __slots__ = ("effects", "in_avals", "out_avals", "params", "primitive")

    def __init__(
        self,
        primitive: Primitive,
        in_avals: tuple[AbstractValue, ...],
        params: dict[str, Any],
        out_avals: tuple[AbstractValue, ...],
        effects: Effects,
    ) -> None:
        self.primitive = primitive
        self.in_avals = in_avals
        self.params = params
        self.out_avals = out_avals
        self.effects = effects


class Eqn:
    """One equation: ``outvars = op invars``, with the traceback of the user's call.

    `metadata` are attributes for the compiler, as sorted pairs, or None.
    """

    __slots__ = ("invars", "metadata", "name_stack", "op", "outvars", "traceback")

    def __init__(
        self,
        op: TypedOp,
        invars: list[Atom],
        outvars: list[Var],
        traceback: Any = None,
        name_stack: str = "",
        metadata: Any = None,
    ) -> None:
        self.op = op
        self.invars = invars
        self.outvars = outvars
        self.traceback = traceback
        self.name_stack = name_stack
        self.metadata = metadata

    @property
    def primitive(self) -> Primitive:
        """The operation."""
        return self.op.primitive

    @property
    def params(self) -> dict[str, Any]:
        """Static parameters; not to be changed in place."""
        return self.op.params

    @property
    def effects(self) -> Effects:
        """Effects of the equation."""
        return self.op.effects

    def replace(
        self,
        *,
        primitive: Primitive | None = None,
        params: dict[str, Any] | None = None,
        invars: list[Atom] | None = None,
        outvars: list[Var] | None = None,
        effects: Effects | None = None,
    ) -> "Eqn":
        """Return an equation with some parts replaced; types are those of the variables."""
        invars = self.invars if invars is None else invars
        outvars = self.outvars if outvars is None else outvars
        op = TypedOp(
            self.primitive if primitive is None else primitive,
            tuple(v.aval for v in invars),
            self.params if params is None else params,
            tuple(v.aval for v in outvars),
            self.effects if effects is None else effects,
        )
        return Eqn(op, invars, outvars, self.traceback, self.name_stack, self.metadata)

    @override
    def __repr__(self) -> str:
        from_, to = ", ".join(map(repr, self.invars)), ", ".join(map(repr, self.outvars))
        return f"{to} = {self.primitive}[{', '.join(self.params)}] {from_}"


class Jaxpr:
    """An open program: constants and inputs, equations in order, outputs."""

    __slots__ = ("__weakref__", "constvars", "debug_info", "effects", "eqns", "invars", "outvars")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[Eqn],
        effects: Effects | None = None,
        debug_info: Any = None,
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        if effects is None or (effects and has_refs(effects)):
            # Effects on refs name the inputs by position, which the caller may have changed.
            effects = join_effects(self.eqns, (*self.constvars, *self.invars))
        self.effects = effects
        self.debug_info = debug_info

    @override
    def __str__(self) -> str:
        from tans_core.printing import print_jaxpr

        return print_jaxpr(self)

    __repr__ = __str__


class ClosedJaxpr:
    """A program with the values of its constants.

    `runners` holds what evaluates calls of this body; it goes when the body goes.
    """

    __slots__ = ("__weakref__", "_in_avals", "_out_avals", "consts", "jaxpr", "runners")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.runners: dict[Any, Any] | None = None
        self._in_avals = tuple(v.aval for v in jaxpr.invars)
        self._out_avals = tuple(v.aval for v in jaxpr.outvars)

    @property
    def in_avals(self) -> tuple[AbstractValue, ...]:
        """Types of the inputs."""
        return self._in_avals

    @property
    def out_avals(self) -> tuple[AbstractValue, ...]:
        """Types of the outputs."""
        return self._out_avals

    @property
    def eqns(self) -> list[Eqn]:
        """Equations in order."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> Effects:
        """Union of the equations' effects."""
        return self.jaxpr.effects

    @property
    def literals(self) -> list[Any]:
        """Values of the constants (alias of `consts`)."""
        return self.consts

    @override
    def __str__(self) -> str:
        return str(self.jaxpr)

    __repr__ = __str__


def join_effects(eqns: Sequence[Eqn], inputs: Sequence[Var] = ()) -> Effects:
    """Return the union of the equations' effects; of those on refs, only those on `inputs`."""
    effects = NO_EFFECTS
    places: dict[Atom, int] | None = None
    for eqn in eqns:
        found = eqn.op.effects
        if not found:
            continue
        if any(isinstance(e, RefEffect) for e in found):
            places = places or {v: i for i, v in enumerate(inputs)}
            found = moved_effects(found, [places.get(v) for v in eqn.invars])
        effects |= found
    return effects


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr's equations under the current trace; return its outputs.

    Equations keep the source line that they were first recorded with.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    old_source, old_names = state.source, state.name_stack
    metadata = None
    around = xla_metadata.value
    try:
        for eqn in jaxpr.eqns:
            state.source = eqn.traceback
            if eqn.metadata is not metadata:
                metadata = eqn.metadata
                swap_metadata(around, metadata)
            if eqn.name_stack:
                state.name_stack = scoped(old_names, eqn.name_stack)
            else:
                state.name_stack = old_names
            op = eqn.op
            values = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
            outs = op.primitive.bind(*values, **op.params)
            if op.primitive.multiple_results:
                env.update(zip(eqn.outvars, outs, strict=True))
            else:
                env[eqn.outvars[0]] = outs
    finally:
        state.source, state.name_stack = old_source, old_names
        if metadata is not None:
            xla_metadata.set_local(around)
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


def eval_closed(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    """Run a closed jaxpr under the current trace."""
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def subjaxprs(params: dict[str, Any]) -> Iterator[ClosedJaxpr | Jaxpr]:
    """Yield the jaxprs among an equation's params, also those in tuples and lists."""
    for value in params.values():
        items: Any = value if isinstance(value, tuple | list) else (value,)
        for item in items:
            if isinstance(item, ClosedJaxpr | Jaxpr):
                yield item
