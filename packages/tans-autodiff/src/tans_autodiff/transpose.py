"""Transposition: walk a linear program backwards and sum cotangents.

Equations that depend on no linear input are evaluated first, in order; they may be non-linear.
Then each linear equation, from the last to the first, turns the cotangents of its results into
cotangents of its linear operands. Every cotangent has the cotangent type of its primal.
"""

from collections.abc import Sequence
from typing import Any

from tans_autodiff.accumulation import (
    Logs,
    frozen_cotangent,
    input_mark,
    linear_refs,
    push_cotangents,
    ref_type_of,
    spread_nulls,
    touches_linear_refs,
)
from tans_autodiff.body_memo import memoised_on_body
from tans_autodiff.jvp import Value
from tans_core import rules
from tans_core.accumulators import AccumRule, GradAccum, Kind
from tans_core.config import enable_checks, xla_metadata
from tans_core.context import Mask, Transposed
from tans_core.dce import dce_jaxpr
from tans_core.errors import message
from tans_core.jaxpr import Atom, ClosedJaxpr, Eqn, Literal
from tans_core.rules import ContextRule
from tans_core.staging import trace_to_jaxpr
from tans_core.state import state, swap_metadata
from tans_core.values import typeof
from tans_core.zeros import LinearInput, Zero
from tans_lax.mesh import reshard_to_type
from tans_lax.mesh.states import vary_like
from tans_lax.rows import add_tangents

type Env = dict[Any, Value]  # keys are variables
type Cotangent = Any  # a Value, or a symbolic zero


def pull_back(
    eqns: Sequence[Eqn],
    known: Env,
    cotangents: Env,
    accums: dict[Any, GradAccum] | None = None,
    logs: Logs | None = None,
) -> None:
    """Walk linear equations backwards.

    Args:
      eqns: the equations; each has at least one operand that is not in `known`, or makes a ref.
      known: values of the variables that are not linear.
      cotangents: those of the outputs; on return those of the linear inputs.
      accums: accumulators of linear variables that are not summed in `cotangents`.
      logs: what the rules report is put here.

    Raises:
      ValueError: two rules report under one key.
    """
    accums = {} if accums is None else accums
    logs = Logs() if logs is None else logs
    old_source, old_names = state.source, state.name_stack
    metadata, around = None, xla_metadata.value
    try:
        for eqn in reversed(eqns):
            op = eqn.op
            primitive = op.primitive
            if primitive.multiple_results:
                cts = [cotangents.pop(v, None) for v in eqn.outvars]
                if all(ct is None for ct in cts) and not touches_linear_refs(eqn, known):
                    continue
                ct = [
                    Zero(v.aval.to_cotangent()) if c is None else c
                    for v, c in zip(eqn.outvars, cts, strict=True)
                ]
            else:
                ct = cotangents.pop(eqn.outvars[0], None)
                if ct is None:
                    if not touches_linear_refs(eqn, known):
                        continue
                    ct = frozen_cotangent(eqn.outvars[0], accums)
            state.source = eqn.traceback
            if eqn.metadata is not metadata:
                metadata = eqn.metadata
                swap_metadata(around, metadata)
            state.name_stack = _names(eqn.name_stack, old_names) if eqn.name_stack else old_names
            rule: Any = rules.transpose[primitive]
            if type(rule) is AccumRule:
                push_cotangents(eqn, rule, transpose_context, ct, known, cotangents, accums, logs)
            else:
                _transpose_eqn(eqn, rule, known, ct, cotangents, accums)
    finally:
        state.source, state.name_stack = old_source, old_names
        if metadata is not None:
            xla_metadata.set_local(around)


def _names(names: str, around: str) -> str:
    """Return the names of the transposed operation: the first one inside ``around`` is marked."""
    head, tail = around, ""
    if around.endswith(")") and "()" in around.rpartition("/")[2]:
        at = around.rindex("()") + 1  # a transformation outside, such as vmap, holds it
        head, tail = around[:at], around[at:]
    elif around:
        head = f"{around}/"
    if not names.startswith(head):
        head = tail = ""
    first, slash, rest = names[len(head) :].partition("/")
    first = first.removesuffix(tail)
    return f"{head}transpose({first}){tail}{slash}{rest}" if first else around


def _check_types(eqn: Eqn, operands: Sequence[Any], results: Sequence[Cotangent]) -> None:
    """Raise when a transpose rule gave a cotangent of another shape than its operand."""
    for i, (operand, result) in enumerate(zip(operands, results, strict=True)):
        if result is None or type(operand) is not LinearInput or type(result) is Zero:
            continue
        given, expected = typeof(result), operand.aval.to_cotangent()
        if getattr(given, "shape", None) != getattr(expected, "shape", None):
            raise AssertionError(
                f"transpose rule of {eqn.primitive.name!r}: cotangent {i} has type "
                f"{given.str_short(False)}, but the operand has type {expected.str_short(False)}"
            )


def _transpose_eqn(
    eqn: Eqn,
    rule: Any,
    known: Env,
    ct: Any,
    cotangents: Env,
    accums: dict[Any, GradAccum],
) -> None:
    operands = [
        v.val if type(v) is Literal else known[v] if v in known else LinearInput(v.aval)
        for v in eqn.invars
    ]
    if accums and all(accums[v].kind == "null" if v in accums else v in known for v in _vars(eqn)):
        return
    try:
        if type(rule) is ContextRule:
            results = rule.rule(transpose_context, ct, *operands, **eqn.op.params)
        else:
            results = rule(ct, *operands, **eqn.op.params)
    except (NotImplementedError, TypeError) as error:
        _raise_if_not_linear(eqn, operands, error)
        raise
    if enable_checks.value:
        _check_types(eqn, operands, results)
    for var, operand, result in zip(eqn.invars, operands, results, strict=True):
        if result is None or type(result) is Zero or type(operand) is not LinearInput:
            continue
        found = _with_sharding(result, operand.aval)
        if accums and var in accums:
            accums[var].accum(found)
        else:
            before = cotangents.get(var)
            cotangents[var] = found if before is None else add_tangents(before, found)


def _vars(eqn: Eqn) -> list[Any]:
    return [v for v in eqn.invars if type(v) is not Literal]


def _with_sharding(ct: Value, aval: Any) -> Value:
    """Give a cotangent the sharding that the primal type dictates, when there is any."""
    given = getattr(getattr(ct, "aval", None), "_sharding", None)
    own = getattr(aval, "_sharding", None)
    if getattr(aval, "manual_axes", None):
        ct = vary_like(ct, aval)
    return ct if given is None and own is None else reshard_to_type(ct, aval.to_cotangent())


def _raise_if_not_linear(eqn: Eqn, operands: Sequence[Any], error: Exception) -> None:
    """Name the operation when its rule failed because a tangent was used non-linearly."""
    name = eqn.primitive.name
    linear = [i for i, x in enumerate(operands) if type(x) is LinearInput]
    if isinstance(error, NotImplementedError):
        if f"{name!r}" not in str(error):
            raise NotImplementedError(f"transpose rule of {name!r}: {error}") from error
    elif len(linear) > 1:
        types = ", ".join(v.aval.str_short(False) for v in eqn.invars)
        raise NotImplementedError(
            message(
                f"transpose rule of {name!r}",
                f"operands of type {types}, of which {linear} depend on a linear input",
                "an operation that is linear in those operands together",
                "Transpose linear functions only; a custom_jvp rule must be linear in its "
                "tangents.",
            )
        ) from error


def backward_pass(
    closed: ClosedJaxpr,
    inputs: Sequence[Value],
    cotangents: Sequence[Cotangent],
    logs: Logs | None = None,
) -> list[Cotangent]:
    """Transpose a program that is linear in some of its inputs, at given values of the others.

    Args:
      closed: the program.
      inputs: one per input: its value, a `LinearInput`, or an accumulator for its cotangent.
      cotangents: one per output; may be symbolic zeros.
      logs: what the rules report is put here.

    Returns:
      The cotangents of the inputs given as `LinearInput`, in order; symbolic zeros where there is
      none.
    """
    jaxpr = closed.jaxpr
    known: Env = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    linear: list[Any] = []
    accums: dict[Any, GradAccum] = {}
    for v, x in zip(jaxpr.invars, inputs, strict=True):
        if type(x) is LinearInput:
            linear.append(v)
        elif isinstance(x, GradAccum):
            accums[v] = x
        else:
            known[v] = x
    eqns = evaluate_known(jaxpr.eqns, known)
    bound = list(accums.items())
    if bound:
        spread_nulls(eqns, known, accums)
    sums: Env = {}
    seed(sums, jaxpr.outvars, cotangents, known)
    pull_back(eqns, known, sums, accums, logs)
    for v, accum in bound:
        accum.accum(sums.pop(v, None))
    return [sums[v] if v in sums else Zero(v.aval.to_cotangent()) for v in linear]


def seed(
    sums: Env,
    outvars: Sequence[Atom],
    cotangents: Sequence[Cotangent],
    known: Env,
) -> None:
    """Put the cotangents of the outputs where the backward walk looks for them."""
    for v, ct in zip(outvars, cotangents, strict=True):
        if type(ct) is Zero or type(v) is Literal or v in known:
            continue
        sums[v] = add_tangents(sums[v], ct) if v in sums else ct


def evaluate_known(eqns: Sequence[Eqn], known: Env) -> list[Eqn]:
    """Run the equations without linear operands; return the others."""
    linear: list[Eqn] = []
    refs = linear_refs(eqns, known)
    old_source, old_names = state.source, state.name_stack
    metadata, around = None, xla_metadata.value
    try:
        for eqn in eqns:
            if not all(type(v) is Literal or v in known for v in eqn.invars) or (
                refs and not refs.isdisjoint(eqn.outvars)
            ):
                linear.append(eqn)
                continue
            state.source = eqn.traceback
            if eqn.metadata is not metadata:
                metadata = eqn.metadata
                swap_metadata(around, metadata)
            values = [v.val if type(v) is Literal else known[v] for v in eqn.invars]
            outs = eqn.op.primitive.bind(*values, **eqn.op.params)
            results = outs if eqn.op.primitive.multiple_results else [outs]
            known.update(zip(eqn.outvars, results, strict=True))
    finally:
        state.source, state.name_stack = old_source, old_names
        if metadata is not None:
            xla_metadata.set_local(around)
    return linear


@memoised_on_body
def transpose_into(
    body: ClosedJaxpr, linear: Mask, ct_nonzero: Mask, kinds: tuple[Kind, ...]
) -> Transposed:
    """Transpose a body for accumulators; see `tans_core.context.TransposeContext`.

    Args:
      body: a program, linear in the inputs that `linear` marks.
      linear: which inputs are linear.
      ct_nonzero: which outputs have a cotangent.
      kinds: per linear input the kind of its accumulator.
    """
    has_cotangent: Mask = ()
    log_tree: Any = None
    of_input = iter(kinds)
    kind_of = [next(of_input) if lin else None for lin in linear]
    pairs = list(zip(body.in_avals, kind_of, strict=True))
    nonlinear_avals = [a for a, kind in pairs if kind is None]
    ref_avals = [ref_type_of(a) for a, kind in pairs if kind == "ref"]
    ct_avals = [a.to_cotangent() for a, nz in zip(body.out_avals, ct_nonzero, strict=True) if nz]
    n_refs = len(ref_avals)

    def transposed(*args: Value) -> list[Value]:
        nonlocal has_cotangent, log_tree
        n_known = len(nonlinear_avals)
        nonlinear, refs = iter(args[:n_known]), iter(args[n_known : n_known + n_refs])
        given = iter(args[n_known + n_refs :])
        inputs = [
            next(nonlinear) if kind is None else input_mark(aval, kind, refs)
            for aval, kind in pairs
        ]
        cts = [
            next(given) if nz else Zero(aval.to_cotangent())
            for aval, nz in zip(body.out_avals, ct_nonzero, strict=True)
        ]
        logs = Logs()
        results = backward_pass(body, inputs, cts, logs)
        has_cotangent = tuple(type(ct) is not Zero for ct in results)
        leaves, log_tree = logs.flat()
        return [ct for ct in results if type(ct) is not Zero] + leaves

    avals = nonlinear_avals + ref_avals + ct_avals
    closed = trace_to_jaxpr(transposed, avals, body.jaxpr.debug_info)
    closed, _ = dce_jaxpr(closed, [True] * len(closed.out_avals), instantiate=True)
    return Transposed(closed, has_cotangent, log_tree)


@memoised_on_body
def transpose_jaxpr(body: ClosedJaxpr, linear: Mask, ct_nonzero: Mask) -> tuple[ClosedJaxpr, Mask]:
    """Return ``(*nonlinear_ins, *nonzero_cts) -> (*nonzero cotangents of linear ins)``.

    Backward-pass logs are dropped.

    Args:
      body: a program, linear in the inputs that `linear` marks.
      linear: which inputs are linear.
      ct_nonzero: which outputs have a cotangent.

    Returns:
      The program, and which linear inputs (in order) have a cotangent.
    """
    found = transpose_into(body, linear, ct_nonzero, ("value",) * sum(linear))
    program, count = found.program, sum(found.nonzero)
    if len(program.out_avals) > count:
        used = [i < count for i in range(len(program.out_avals))]
        program, _ = dce_jaxpr(program, used, instantiate=True)
    return program, found.nonzero


class TransposeRowContext:
    """What transpose rows of call-like primitives are given."""

    __slots__ = ()

    def transpose_jaxpr(
        self, body: ClosedJaxpr, linear: Mask, ct_nonzero: Mask
    ) -> tuple[ClosedJaxpr, Mask]:
        """Transpose a body; see `tans_core.context.TransposeContext`."""
        return transpose_jaxpr(body, tuple(linear), tuple(ct_nonzero))

    def transpose_into(
        self, body: ClosedJaxpr, linear: Mask, ct_nonzero: Mask, kinds: tuple[Kind, ...]
    ) -> Transposed:
        """Transpose a body for accumulators; see `tans_core.context.TransposeContext`."""
        return transpose_into(body, tuple(linear), tuple(ct_nonzero), tuple(kinds))


transpose_context = TransposeRowContext()
