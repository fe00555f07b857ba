"""The type checker of jaxprs, for tests and debug flags."""

from tans_core import rules
from tans_core.errors import JaxprTypeError
from tans_core.jaxpr import ClosedJaxpr, Effects, Eqn, Jaxpr, Literal, Var, subjaxprs
from tans_core.types import same_but_weak


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Check that variables are defined once before use and that types agree with the rules.

    Raises:
      JaxprTypeError: with the offending equation.
    """
    if isinstance(jaxpr, ClosedJaxpr):
        jaxpr = jaxpr.jaxpr
    defined: set[Var] = set()
    for var in [*jaxpr.constvars, *jaxpr.invars]:
        _define(var, defined, "an input")
    for eqn in jaxpr.eqns:
        for var in eqn.invars:
            if type(var) is not Literal and var not in defined:
                raise JaxprTypeError(f"{eqn} reads {var} before it is defined")
        _check_types(eqn)
        for var in eqn.outvars:
            _define(var, defined, repr(eqn))
        for body in subjaxprs(eqn.params):
            check_jaxpr(body)
    for var in jaxpr.outvars:
        if type(var) is not Literal and var not in defined:
            raise JaxprTypeError(f"output {var} is never defined")


def _define(var: Var, defined: set[Var], where: str) -> None:
    if var in defined:
        raise JaxprTypeError(f"{var} is defined twice, the second time by {where}")
    defined.add(var)


def _check_types(eqn: Eqn) -> None:
    if tuple(v.aval for v in eqn.invars) != eqn.op.in_avals:
        raise JaxprTypeError(f"{eqn}: the operands' types are not those of the operation")
    result = rules.types[eqn.primitive](*eqn.op.in_avals, **eqn.params)
    effects: Effects = frozenset()
    if type(result) is rules.Typed:
        result, effects = result
    outs = tuple(result) if eqn.primitive.multiple_results else (result,)
    if len(outs) != len(eqn.outvars):
        raise JaxprTypeError(f"{eqn}: {len(eqn.outvars)} results, but its type rule gives {outs}")
    for var, aval in zip(eqn.outvars, outs, strict=True):
        if not same_but_weak(var.aval, aval):
            raise JaxprTypeError(
                f"{eqn}: result {var} has type {var.aval.str_short()}, "
                f"but its type rule gives {aval.str_short()}"
            )
    if effects != eqn.effects:
        raise JaxprTypeError(f"{eqn}: effects {eqn.effects}, but its type rule gives {effects}")
