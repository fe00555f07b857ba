"""Backward rules of custom functions: from residuals and cotangents to the primals' cotangents."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tans_autodiff.accumulators import NullAccum, ValAccum
from tans_autodiff.arguments import dtype_of
from tans_autodiff.jvp import has_tangent
from tans_autodiff.results import as_array
from tans_autodiff.symbolic_zero import from_rule, to_rule
from tans_core import tree
from tans_core.accumulators import GradAccum
from tans_core.dtypes import is_complex
from tans_core.errors import UnexpectedTracerError, message
from tans_core.types import AbstractValue
from tans_core.values import is_value, typeof
from tans_core.zeros import Zero

type Function = Callable[..., Any]
type Value = Any
type Logs = dict[Any, Any] | None


class Logged(NamedTuple):
    """Cotangents, and what the rule reports beside them."""

    cts: list[Value]
    logs: Logs


class Pull:
    """A backward rule that returns cotangents, or a pair of them and logs."""

    __slots__ = ("call", "in_avals", "out_tree", "res_tree")

    def __init__(
        self, call: Any, res_tree: Any, out_tree: Any, in_avals: Sequence[AbstractValue]
    ) -> None:
        self.call = call
        self.res_tree = res_tree
        self.out_tree = out_tree
        self.in_avals = in_avals

    def __call__(self, residuals: Sequence[Value], cts: Sequence[Value]) -> Any:
        """Run the rule; return the flat cotangents, or `Logged`."""
        result = self.run(residuals, cts)
        if self.call.returns == "cotangents":
            return check_cotangents(self.call, result, self.in_avals)
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise _error(
                self.call,
                f"a result {result!r} of type {type(result).__name__}",
                "a pair of the cotangents and the logs, as it was set by defvjp_with_logs",
                "Return (cotangents, logs); None stands for no logs.",
            )
        found = check_cotangents(self.call, result[0], self.in_avals)
        return Logged(found, _check_logs(self.call, result[1]))

    def run(self, residuals: Sequence[Value], cts: Sequence[Value], *accums: Any) -> Any:
        """Call the user's function."""
        call = self.call
        ct = self.out_tree.unflatten([to_rule(c, call.symbolic_zeros) for c in cts])
        try:
            saved = self.res_tree.unflatten([as_array(x) for x in residuals])
            return call.bwd(*call.static, saved, ct, *accums)
        except UnexpectedTracerError as error:
            raise _captured(call, error) from error


class AccumPull(Pull):
    """A backward rule that pushes cotangents into accumulators."""

    __slots__ = ()

    def __call__(self, residuals: Sequence[Value], cts: Sequence[Value]) -> Any:
        """Run the rule on accumulators of values."""
        accums = [ValAccum(aval.to_cotangent()) for aval in self.in_avals]
        logs = self.into(residuals, cts, accums)
        found = [a.freeze() for a in accums]
        return found if logs is None else Logged(found, logs)

    def into(
        self,
        residuals: Sequence[Value],
        cts: Sequence[Value],
        accums: Sequence[GradAccum | None],
    ) -> Logs:
        """Run the rule on accumulators, one per primal; None drops what is pushed."""
        filled = [
            NullAccum(aval.to_cotangent()) if a is None else a
            for a, aval in zip(accums, self.in_avals, strict=True)
        ]
        return _check_logs(
            self.call, self.run(residuals, cts, *self.call.in_tree.unflatten(filled))
        )


class PullAfter:
    """A pull of which some leading primals, values that were captured, have no cotangent."""

    __slots__ = ("lead", "pull")

    def __init__(self, lead: Sequence[AbstractValue], pull: Function) -> None:
        self.lead = lead
        self.pull = pull

    def __call__(self, residuals: Sequence[Value], cts: Sequence[Value]) -> Any:
        """Run the pull."""
        found = self.pull(residuals, cts)
        zeros = [Zero(aval.to_cotangent()) for aval in self.lead]
        if type(found) is Logged:
            return Logged([*zeros, *found.cts], found.logs)
        return [*zeros, *found]


def _error(call: Any, given: str, expected: str, remedy: str) -> TypeError:
    where = f"custom VJP backward rule {_name(call.bwd)} for function {call.name}"
    return TypeError(message(where, given, expected, remedy))


def _check_logs(call: Any, logs: Any) -> Logs:
    if logs is None or isinstance(logs, dict):
        return logs
    raise _error(
        call,
        f"logs {logs!r} of type {type(logs).__name__}",
        "None or a dict of backward-pass log entries",
        "Return a dict from keys to pytrees of arrays.",
    )


def _captured(call: Any, error: UnexpectedTracerError) -> UnexpectedTracerError:
    return UnexpectedTracerError(
        message(
            f"custom VJP backward rule {_name(call.bwd)} for function {call.name}",
            "a value that it captured, of a transformation that has finished",
            "that it reads its arguments only: it runs after the forward pass",
            f"Return the value from {_name(call.fwd)} with the residuals. What failed: {error}",
        )
    )


def check_cotangents(call: Any, result: Any, in_avals: Sequence[AbstractValue]) -> list[Value]:
    """Return one cotangent per primal leaf from what a backward rule returned."""
    if isinstance(result, list):
        result = tuple(result)
    leaves, result_tree = tree.flatten(result)
    if result_tree != call.in_tree:
        leaves = _with_nones(call, result)
    return [
        _check_cotangent(call, i, ct, aval)
        for i, (ct, aval) in enumerate(zip(leaves, in_avals, strict=True))
    ]


def _with_nones(call: Any, result: Any) -> list[Value]:
    """Match a result in which None stands for the zeros of a leaf or of a whole subtree."""
    template = call.in_tree.unflatten(range(call.in_tree.num_leaves))
    flat, treedef = tree.flatten(result, is_leaf=lambda x: x is None)
    try:
        parts = treedef.flatten_up_to(template)
    except ValueError:
        parts = None
    leaves: list[Value] = []
    for x, part in zip(flat, parts or (), strict=False):
        if x is not None and type(part) is not int:
            parts = None
            break
        leaves += [x] * (1 if x is not None else len(tree.leaves(part)))
    if parts is None or not isinstance(result, tuple):
        raise TypeError(
            message(
                f"custom VJP backward rule {_name(call.bwd)} for function {call.name}",
                f"an output with structure {tree.structure(result)}",
                f"a tuple built like the arguments, {call.in_tree}",
                "Return one cotangent per argument; None stands for zeros.",
            )
        )
    return leaves


def _check_cotangent(call: Any, index: int, ct: Value, aval: AbstractValue) -> Value:
    expected = aval.to_cotangent()
    ct = None if ct is None or not has_tangent(aval) else from_rule(ct)
    if ct is None or type(ct) is Zero:
        return Zero(expected)
    if not is_value(ct):
        raise _error(
            call,
            f"output[{index}], which is {ct!r} of type {type(ct).__name__}",
            f"an array of type {expected.str_short(False)}",
            "Return arrays; None stands for zeros.",
        )
    given = typeof(ct)
    if is_complex(dtype_of(given)) and not is_complex(dtype_of(expected)):
        raise _error(
            call,
            f"output[{index}] of type {given.str_short(False)} for an argument of type "
            f"{aval.str_short(False)}",
            f"{expected.str_short(False)}: the cotangent of a real argument is real",
            "Return its real part, as in ct.real.",
        )
    if getattr(given, "shape", None) != getattr(expected, "shape", None):
        raise ValueError(
            message(
                f"custom VJP backward rule {_name(call.bwd)} for function {call.name}",
                f"output[{index}] of type {given.str_short(False)} for an argument of type "
                f"{aval.str_short(False)}",
                expected.str_short(False),
                "Give each cotangent the shape of its argument; sum over broadcast axes.",
            )
        )
    states = getattr(expected, "manual_axis_type", None)
    if getattr(given, "manual_axis_type", None) is not states:
        raise ValueError(
            message(
                f"custom VJP backward rule {_name(call.bwd)} for function {call.name}",
                f"output[{index}] of type {given.str_short(False)} for an input of type "
                f"{aval.str_short(False)}: they vary along different manual axes",
                expected.str_short(False),
                "Sum the output with lax.psum over the axes along which only it varies, or cast "
                "it with lax.pcast.",
            )
        )
    if getattr(given, "_sharding", None) is not getattr(expected, "_sharding", None):
        raise ValueError(
            message(
                f"custom VJP backward rule {_name(call.bwd)} for function {call.name}",
                f"output[{index}] of type {given.str_short(False)} for an input of type "
                f"{aval.str_short(False)}",
                f"{expected.str_short(False)}, the type of the argument with its unreduced and "
                "reduced axes changed over",
                "Give the product of the rule out_sharding=P(..., unreduced=...), or reshard it.",
            )
        )
    return ct


def _name(fun: Function) -> str:
    return getattr(fun, "__name__", type(fun).__name__)
