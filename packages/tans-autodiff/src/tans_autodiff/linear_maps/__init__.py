"""The primitives of linear maps whose transpose is given: calls and linear solves."""

from typing import Final

from tans_core.primitive import Primitive

linear_call_p: Final = Primitive(
    "linear_call", family=__name__, multiple_results=True, call_like=True
)
"""Operands: residuals, then linear ones. Params: jaxpr ``(*residuals, *linear) -> outs``, transpose
``(*residuals, *cts) -> (*cts of the linear operands)``, num_res."""

custom_linear_solve_p: Final = Primitive(
    "custom_linear_solve", family=__name__, multiple_results=True, call_like=True
)
"""Operands: the values that matvec, solve and transpose_solve capture, then the right-hand side.

Params: matvec ``(*captured, *x) -> b``, solve ``(*captured, *b) -> (*x, *aux)``, transpose_solve
(the same for the transposed map) or None, and lengths, the numbers of captured values."""
