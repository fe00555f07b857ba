"""How accumulators, refs and logs take part in the backward walk."""

from collections.abc import Iterator, Sequence
from typing import Any

from tans_autodiff.accumulators import NullAccum, RefAccum, ValAccum
from tans_autodiff.jvp import Value
from tans_core import rules, tree
from tans_core.accumulators import AccumRule, GradAccum, Kind
from tans_core.context import Transposed
from tans_core.errors import message
from tans_core.jaxpr import Eqn, Literal
from tans_core.refs import AbstractRef, is_ref_type
from tans_core.types import AbstractValue
from tans_core.values import is_value
from tans_core.zeros import LinearInput, Zero
from tans_lax.rows import instantiate_zeros
from tans_xla.lo import UserPrimitive

type Env = dict[Any, Value]
type Accums = dict[Any, GradAccum]


class Logs:
    """What the rules of one backward pass report; keys are unique."""

    __slots__ = ("_rules", "entries")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self._rules: dict[Any, str] = {}

    def add(self, found: Any, rule: str) -> None:
        """Add the entries that a rule returned: None or a dict.

        Raises:
          TypeError: it is something else.
          ValueError: a key is taken.
        """
        if found is None:
            return
        if not isinstance(found, dict):
            raise TypeError(
                message(
                    f"backward pass of {rule}",
                    f"logs {found!r} of type {type(found).__name__}",
                    "None or a dict of log entries",
                    "Return a dict from keys to pytrees of arrays.",
                )
            )
        for key, value in found.items():
            if key in self.entries:
                raise ValueError(
                    message(
                        f"backward pass of {rule}",
                        f"a second log entry under the key {key!r}",
                        "a key that nothing else in the same backward pass logs under; duplicate "
                        "keys would hide each other",
                        "Make the key an argument of the function that logs, such as a static tag.",
                    )
                )
            self.entries[key] = value
            self._rules[key] = rule

    def flat(self) -> tuple[list[Value], Any]:
        """Return the entries as results of a program, and their structure; zeros become arrays.

        Raises:
          TypeError: an entry is no tree of arrays, or the keys can't be sorted.
        """
        for key, entry in self.entries.items():
            for x in tree.leaves(entry):
                if type(x) is not Zero and not is_value(x):
                    raise TypeError(
                        message(
                            f"backward pass of {self._rules[key]}",
                            f"a log entry under {key!r} with {x!r} of type {type(x).__name__}",
                            "arrays, because the rule runs inside of a loop, branch or jit",
                            "Log arrays; a static text can be part of the key.",
                        )
                    )
        try:
            leaves, structure = tree.flatten(self.entries)
        except ValueError as error:
            raise TypeError(
                message(
                    f"backward pass of {', '.join(dict.fromkeys(self._rules.values()))}",
                    f"log entries under the keys {list(self.entries)}",
                    "keys that can be sorted, because they are part of a program",
                    "Use strings.",
                )
            ) from error
        return list(map(instantiate_zeros, leaves)), structure


def touches_linear_refs(eqn: Eqn, known: Env) -> bool:
    """Whether an equation without cotangents of its results must be transposed nevertheless."""
    return bool(eqn.effects) and any(
        is_ref_type(v.aval) and (type(v) is Literal or v not in known)
        for v in (*eqn.invars, *eqn.outvars)
    )


def linear_refs(eqns: Sequence[Eqn], known: Env) -> set[Any]:
    """Return the refs made by a linear program that something linear is written to.

    The others hold known values, such as those that a checkpointed call computes anew.
    """
    made = {v for eqn in eqns if eqn.effects for v in eqn.outvars if is_ref_type(v.aval)}
    linear: set[Any] = set()
    while made:
        found = set(known)
        more: set[Any] = set()
        for eqn in eqns:
            operands = [v for v in eqn.invars if type(v) is not Literal]
            if all(v in found for v in operands):
                found.update(v for v in eqn.outvars if v not in linear)
            else:
                more.update(v for v in operands if v in made and v in found)
        if not more:
            break
        linear |= more
    return linear


def frozen_cotangent(var: Any, accums: Accums) -> Any:
    """Return the cotangent of a result that is a ref, which ends its accumulator."""
    accum = accums.pop(var, None)
    return Zero(contents_type(var.aval)) if accum is None else accum.freeze()


def contents_type(aval: AbstractValue) -> AbstractValue:
    """Return the cotangent type of a value, or of the contents of a ref."""
    ct = aval.to_cotangent()
    return ct.inner_aval if isinstance(ct, AbstractRef) else ct


def ref_type_of(aval: AbstractValue) -> AbstractRef:
    """Return the type of the ref in which cotangents of a value, or of a ref, are summed."""
    ct = aval.to_cotangent()
    return ct if isinstance(ct, AbstractRef) else AbstractRef(ct)


def input_mark(aval: AbstractValue, kind: Kind, refs: Iterator[Value]) -> Any:
    """Return what `backward_pass` takes for a linear input with an accumulator of a kind."""
    if kind == "value":
        return LinearInput(aval)
    if kind == "ref":
        return RefAccum(contents_type(aval), next(refs))
    return NullAccum(contents_type(aval))


def spread_nulls(eqns: Sequence[Eqn], known: Env, accums: Accums) -> None:
    """Drop the cotangents of values of which only inputs that nobody wants depend.

    A row that takes accumulators runs nevertheless: it may log, or write to refs.
    """
    if all(accum.kind != "null" for accum in accums.values()):
        return
    for eqn in eqns:
        linear = [v for v in eqn.invars if type(v) is not Literal and v not in known]
        wanted = any(v not in accums or accums[v].kind != "null" for v in linear)
        if not wanted and type(rules.transpose[eqn.op.primitive]) is not AccumRule:
            for v in eqn.outvars:
                accums[v] = NullAccum(contents_type(v.aval))


def push_cotangents(
    eqn: Eqn,
    rule: AccumRule,
    ctx: Any,
    ct: Any,
    known: Env,
    cotangents: Env,
    accums: Accums,
    logs: Logs,
) -> None:
    """Transpose an equation whose row takes accumulators."""
    sums: dict[Any, ValAccum] = {}
    operands: list[Any] = []
    for v in eqn.invars:
        if type(v) is Literal:
            operands.append(v.val)
        elif v in known:
            operands.append(known[v])
        elif v in accums:
            operands.append(accums[v])
        elif is_ref_type(v.aval):
            accums[v] = RefAccum(contents_type(v.aval))
            operands.append(accums[v])
        else:
            if v not in sums:
                sums[v] = ValAccum(v.aval.to_cotangent(), cotangents.get(v))
            operands.append(sums[v])
    found = rule.rule(ctx, ct, *operands, **eqn.op.params)
    for v, total in sums.items():
        ct_in = total.freeze()
        if type(ct_in) is not Zero:
            cotangents[v] = ct_in
    if found is not None:
        logs.add(found, _owner(eqn))


def _owner(eqn: Eqn) -> str:
    """Return how messages call what an equation applies."""
    params = eqn.op.params
    if isinstance(eqn.op.primitive, UserPrimitive):
        return type(params["prim"]).__name__
    return f"function {params.get('name', eqn.op.primitive.name)}"


def take_results(
    body: Transposed, accums: Sequence[GradAccum], results: Sequence[Value]
) -> dict[Any, Any] | None:
    """Hand the results of a transposed body to accumulators; return the logs."""
    values = [a for a in accums if a.kind == "value"]
    summed = [a for a, nz in zip(values, body.nonzero, strict=True) if nz]
    for accum, ct in zip(summed, results, strict=False):
        accum.accum(ct)
    logs = results[len(summed) :]
    return body.logs.unflatten(logs) if logs else None
