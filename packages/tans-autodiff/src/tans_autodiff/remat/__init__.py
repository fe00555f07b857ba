"""The primitives of checkpointing: a call whose inner values are computed anew, and a name."""

from typing import Final

from tans_core.primitive import Primitive

remat_p: Final = Primitive("remat2", family=__name__, multiple_results=True, call_like=True)
"""Params: jaxpr (without constants), prevent_cse, differentiated (whether this is the copy that
computes values anew), policy."""

name_p: Final = Primitive("name", family=__name__)
"""The identity; param name is what policies see."""

phase_p: Final = Primitive("phase", family=__name__)
"""Operands: a value as the forward pass computes it, and the same value as it is computed anew.
The result is the first, and the second in a program that computes values anew."""

ALWAYS_SAVED: Final = "custom_vjp residual"
"""Name (of `name_p`) of the values that every policy saves."""
