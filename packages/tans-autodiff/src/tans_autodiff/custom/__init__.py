"""The primitives behind custom derivative rules.

`custom_jvp_call` and `custom_vjp_call` apply a function that carries a rule of its own. Their
param `call_jaxpr` is a function of flat values while the call is made, and a `ClosedJaxpr` once it
has been recorded. `custom_lin` stands in linear programs for the linear map of which only the
transpose, a backward rule, is known.
"""

from typing import Final

from tans_core.primitive import Primitive

custom_jvp_call_p: Final = Primitive(
    "custom_jvp_call",
    family=__name__,
    multiple_results=True,
    call_like=True,
    custom_staging=True,
)
"""Params: name, call_jaxpr, jvp (a flat rule), symbolic_zeros, captured (leading operands that the
rule doesn't know)."""

custom_vjp_call_p: Final = Primitive(
    "custom_vjp_call",
    family=__name__,
    multiple_results=True,
    call_like=True,
    custom_staging=True,
)
"""Params: name, call_jaxpr, rule (a flat forward rule), symbolic_zeros, captured, generic_batching
(how cotangents of outputs without the mapped axis are treated)."""

custom_lin_p: Final = Primitive(
    "custom_lin", family=__name__, multiple_results=True, call_like=True
)
"""Operands: residuals, then nonzero tangents. Params: name, pull (from residuals and cotangents to
cotangents), num_residuals, in_nonzero, out_avals, out_inexact."""

remat_opt_p: Final = Primitive("remat_opt", family=__name__, multiple_results=True, call_like=True)
"""Operands: what each of two programs captured, then the arguments. Params: jaxpr (a forward rule,
to outputs and residuals), fun_jaxpr (to the outputs only; None when it is no choice any more),
num_captured (of the two)."""
