"""One call of a function with a custom rule, seen as functions of flat values.

A flat JVP rule maps ``(primals, tangents)`` to ``(outs, out_tangents)``; tangents may be symbolic
zeros. A flat VJP rule maps ``(primals, nonzero)`` to ``(outs, residuals, pull)``, where ``pull``
maps ``(residuals, cotangents)`` to the primals' cotangents.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from tans_autodiff.arguments import how_to_convert
from tans_autodiff.captured_context import CapturedContext
from tans_autodiff.custom.pulls import AccumPull, Pull
from tans_autodiff.custom.refs import check_no_refs_returned, check_residual_refs
from tans_autodiff.results import as_array
from tans_autodiff.signature import Positions
from tans_autodiff.symbolic_zero import CustomVJPPrimal, from_rule, to_rule
from tans_core import tree
from tans_core.debug_info import debug_info_of
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.staging import trace_to_jaxpr
from tans_core.types import same_but_weak
from tans_core.values import is_value, typeof
from tans_core.zeros import Zero

type Function = Callable[..., Any]
type Value = Any
type Returns = Literal["cotangents", "logs", "accums"]  # what a backward rule does


def apply_body(body: ClosedJaxpr | Function, args: Sequence[Value]) -> Sequence[Value]:
    """Run the function of a custom call, recorded or not."""
    return eval_closed(body, *args) if isinstance(body, ClosedJaxpr) else body(*args)


class CustomCall:
    """A function, its static arguments and the structures of the others and of the output."""

    __slots__ = ("fun", "in_tree", "name", "out_tree", "positions", "static", "symbolic_zeros")

    def __init__(
        self,
        fun: Function,
        name: str,
        positions: Positions,
        static: tuple[Any, ...],
        in_tree: Any,
        symbolic_zeros: bool,
    ) -> None:
        self.fun = fun
        self.name = name
        self.positions = positions
        self.static = static
        self.in_tree = in_tree
        self.symbolic_zeros = symbolic_zeros
        self.out_tree: Any = None

    def primal(self, *leaves: Value) -> list[Value]:
        """Run the function itself."""
        args = self.positions.join(self.static, self.in_tree.unflatten(leaves))
        outs, self.out_tree = tree.flatten(self.fun(*args))
        check_no_refs_returned(self.name, outs)
        return outs


class JVPCall(CustomCall):
    """A call of a custom_jvp function."""

    __slots__ = ("rule", "rule_name")

    rule: Function
    rule_name: str

    def jvp(
        self, primals: Sequence[Value], tangents: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Run the rule; a flat JVP rule."""
        rule_tangents = [to_rule(t, self.symbolic_zeros) for t in tangents]
        unflatten = self.in_tree.unflatten
        arrays = [as_array(x) for x in primals]
        result = self.rule(*self.static, unflatten(arrays), unflatten(rule_tangents))
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise self._error(
                f"a result {result!r} of type {type(result).__name__}",
                "two things: the outputs and their tangents",
                "Return (out, out_tangent).",
            )
        outs, out_tree = tree.flatten(result[0])
        out_tangents, tangent_tree = tree.flatten(result[1])
        if tangent_tree != out_tree:
            raise self._error(
                f"tangent outputs with structure {tangent_tree}",
                f"equal container (pytree) structures; primal outputs have {out_tree}",
                "Give one tangent per primal output, in the same containers.",
            )
        if self.out_tree is not None and self.out_tree != out_tree:
            raise self._error(
                f"primal outputs with structure {out_tree}",
                f"the structure of the function's output, {self.out_tree}",
                "Return the function's own output first, such as f(*primals).",
            )
        self.out_tree = out_tree
        return outs, [self._check(x, t) for x, t in zip(outs, out_tangents, strict=True)]

    def _check(self, out: Value, tangent: Value) -> Value:
        aval = typeof(out)
        expected = aval.to_tangent()
        tangent = from_rule(tangent)
        given = tangent.aval if type(tangent) is Zero else typeof(tangent)
        if not same_but_weak(given, expected):
            raise self._error(
                f"a tangent output of type {given.str_short(False)}",
                f"{expected.str_short(False)}, the tangent type of the output "
                f"{aval.str_short(False)}",
                how_to_convert("the tangent", given, expected),
            )
        return tangent

    def _error(self, given: str, expected: str, remedy: str) -> TypeError:
        where = f"custom JVP rule {self.rule_name} for function {self.name}"
        return TypeError(message(where, given, expected, remedy))


class VJPCall(CustomCall):
    """A call of a custom_vjp function."""

    __slots__ = ("bwd", "compared", "fwd", "returns")

    fwd: Function
    bwd: Function
    returns: Returns
    compared: set[Any]  # structures of arguments for which the forward rule has proved right

    def recorded(self, primals: Sequence[Value]) -> ClosedJaxpr | None:
        """Record the function, to compare the output of the forward rule with its output.

        Returns:
          None when that was done before, or when the function needs concrete values.
        """
        if self.in_tree in self.compared:
            return None
        try:
            avals = [typeof(x) for x in primals]
            return trace_to_jaxpr(self.primal, avals, debug_info_of("custom_vjp", self.fun))
        except Exception:  # whatever the function does with values it has not when traced
            self.out_tree = None
            return None

    def forward(
        self, primals: Sequence[Value], nonzero: Sequence[bool]
    ) -> tuple[list[Value], list[Value], Function]:
        """Run the forward rule; a flat VJP rule."""
        leaves: list[Value] = [as_array(x) for x in primals]
        if self.symbolic_zeros:
            leaves = [CustomVJPPrimal(x, nz) for x, nz in zip(leaves, nonzero, strict=True)]
        args = self.positions.join(self.static, self.in_tree.unflatten(leaves))
        result = self.fwd(*args)
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise self._forward_error(
                f"a result {result!r} of type {type(result).__name__}",
                "two things: the output of the function and what bwd needs",
                "Return (out, residuals); use None for no residuals.",
            )
        outs, out_tree = tree.flatten(result[0])
        if self.out_tree is not None and self.out_tree != out_tree:
            raise self._forward_error(
                f"a primal output with structure {out_tree}",
                f"the structure of the function's output, {self.out_tree}",
                "Return the function's own output first.",
            )
        self.out_tree = out_tree
        residuals, res_tree = tree.flatten(result[1])
        check_residual_refs(self, primals, residuals)
        for x in residuals:
            if not is_value(x):
                raise self._forward_error(
                    f"a residual {x!r} of type {type(x).__name__}",
                    "arrays, or trees of them",
                    "Make the value a nondiff argument, which bwd gets first.",
                )
        in_avals = [typeof(x) for x in primals]
        kind = AccumPull if self.returns == "accums" else Pull
        return outs, residuals, kind(self, res_tree, out_tree, in_avals)

    def _forward_error(self, given: str, expected: str, remedy: str) -> TypeError:
        where = f"custom VJP forward rule {_name(self.fwd)} for function {self.name}"
        return TypeError(message(where, given, expected, remedy))


def _name(fun: Function) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def rule_name(rule: Function) -> str:
    """Return the name of the user's function in a flat rule."""
    owner = getattr(rule, "__self__", None)
    return getattr(owner, "rule_name", None) or _name(getattr(owner, "fwd", rule))


class UnderContext:
    """A flat rule that runs under the trace context of the call it belongs to."""

    __slots__ = ("_context", "_rule")

    def __init__(self, context: CapturedContext, rule: Function) -> None:
        self._context = context
        self._rule = rule

    def __call__(self, *args: Any) -> Any:
        """Run the rule."""
        return self._context.call(self._rule, *args)

    def __repr__(self) -> str:
        return rule_name(self._rule)
