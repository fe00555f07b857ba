"""Backward functions as values: a program, and the values that the function captured."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.accumulation import ref_type_of
from tans_autodiff.accumulators import NullAccum, RefAccum, ValAccum
from tans_autodiff.symbolic_zero import CustomVJPPrimal
from tans_core import tree
from tans_core.accumulators import GradAccum
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, eval_jaxpr
from tans_core.staging import trace_to_jaxpr
from tans_core.values import typeof
from tans_core.zeros import Zero

type Function = Callable[..., Any]
type Pytree = Any


class _Program:
    """The static part of a closure."""

    __slots__ = ("accums", "closed", "logs", "tree")

    def __init__(
        self, closed: ClosedJaxpr, treedef: Any, accums: Sequence[type] = (), logs: Any = None
    ) -> None:
        self.closed = closed
        self.tree = treedef
        self.accums = accums
        self.logs = logs


class Closure:
    """A backward function; a pytree whose leaves are the values it captured."""

    __slots__ = ("consts", "program")

    def __init__(self, program: _Program, consts: list[Any]) -> None:
        self.program = program
        self.consts = consts

    def __call__(self, *args: Pytree) -> Pytree:
        """Call the function."""
        results = eval_jaxpr(self.program.closed.jaxpr, self.consts, *tree.leaves(args))
        return self.program.tree.unflatten(results)

    def cotangents(self, ct: Pytree) -> Any:
        """Return the cotangents of the arguments, or a pair of them and logs."""
        return self(ct)

    def push(self, ct: Pytree, accums: tuple[Pytree, ...]) -> Any:
        """Push cotangents into accumulators; return logs."""
        program = self.program
        given: list[GradAccum] = tree.leaves(accums)
        pairs = list(zip(program.accums, given, strict=True))
        # The function wants a ref: one for the time being where the backward pass has none.
        refs = [
            (a if isinstance(a, RefAccum) else RefAccum(a.aval), a)
            for kind, a in pairs
            if kind is RefAccum
        ]
        results = iter(
            eval_jaxpr(
                program.closed.jaxpr, self.consts, *tree.leaves(ct), *(r.ref for r, _ in refs)
            )
        )
        for (kind, a), nonzero in zip(pairs, program.tree, strict=True):
            if kind is ValAccum and nonzero:
                a.accum(next(results))
        for r, a in refs:
            if r is not a:
                a.accum(r.freeze())
        return program.logs.unflatten(list(results))


tree.registry.register_node(
    Closure,
    lambda c: ((c.consts,), c.program),
    lambda program, children: Closure(program, *children),
)


def close_over_values(fun: Function, args: Sequence[Pytree]) -> Closure:
    """Record a function of pytrees like `args`."""
    leaves, in_tree = tree.flatten(tuple(args))
    out_tree: Any = None

    def flat(*values: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree.flatten(fun(*in_tree.unflatten(values)))
        return outs

    closed = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
    return Closure(_Program(closed, out_tree), closed.consts)


def close_over_cotangents(
    name: str,
    vjp_fn: Function,
    out: Pytree,
    arguments: int | tuple[Pytree, ...],
    with_logs: bool,
    kinds: Sequence[type] | None = None,
) -> Closure:
    """Record a backward function of the cotangent of `out`.

    Args:
      name: the function it belongs to.
      vjp_fn: returns cotangents, or pushes them into accumulators.
      out: the output.
      arguments: number of arguments, or with `kinds` the arguments with leaves `CustomVJPPrimal`.
      with_logs: whether it returns a pair of cotangents and logs.
      kinds: class of the accumulator of each argument leaf.
    """
    out_leaves, out_tree = tree.flatten(out)
    ct_avals = [typeof(x).to_cotangent() for x in out_leaves]
    if kinds is not None:
        assert not isinstance(arguments, int)
        return _close_with_accums(vjp_fn, out_tree, ct_avals, arguments, kinds)
    treedef: Any = None

    def flat(*cts: Any) -> list[Any]:
        nonlocal treedef
        result = vjp_fn(out_tree.unflatten(cts))
        logs = ()
        if with_logs:
            if not (isinstance(result, tuple | list) and len(result) == 2):
                raise TypeError(
                    message(
                        f"custom_gradient function {name}",
                        f"a vjp_fn that returns a {type(result).__name__}",
                        "a pair (cotangents, logs), because with_logs=True was passed",
                        "Return (cotangents, {}) where there is nothing to log.",
                    )
                )
            result, *logs = result
        if not (isinstance(result, tuple | list) and len(result) == arguments):
            result = (result,)
        leaves, treedef = tree.flatten((tuple(result), *logs) if with_logs else tuple(result))
        return leaves

    closed = trace_to_jaxpr(flat, ct_avals)
    return Closure(_Program(closed, treedef), closed.consts)


def _close_with_accums(
    vjp_fn: Function,
    out_tree: Any,
    ct_avals: Sequence[Any],
    arguments: tuple[Pytree, ...],
    kinds: Sequence[type],
) -> Closure:
    marked, in_tree = tree.flatten(arguments, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
    avals = [typeof(x.value) for x in marked]
    used = [kind if x.perturbed else NullAccum for x, kind in zip(marked, kinds, strict=True)]
    ref_avals = [ref_type_of(a) for a, kind in zip(avals, used, strict=True) if kind is RefAccum]
    count = len(ct_avals)
    nonzero: list[bool] = []
    log_tree: Any = None

    def flat(*values: Any) -> list[Any]:
        nonlocal log_tree
        refs = iter(values[count:])
        accums: list[GradAccum] = [
            RefAccum(a.to_cotangent(), next(refs)) if kind is RefAccum else kind(a.to_cotangent())
            for a, kind in zip(avals, used, strict=True)
        ]
        result = vjp_fn(out_tree.unflatten(values[:count]), *in_tree.unflatten(accums))
        logs, log_tree = tree.flatten(result)
        sums = [a.freeze() if type(a) is ValAccum else Zero(a.aval) for a in accums]
        nonzero[:] = [type(x) is not Zero for x in sums]
        return [x for x in sums if type(x) is not Zero] + logs

    closed = trace_to_jaxpr(flat, [*ct_avals, *ref_avals])
    return Closure(_Program(closed, tuple(nonzero), tuple(used), log_tree), closed.consts)
