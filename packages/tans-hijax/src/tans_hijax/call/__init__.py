"""The two primitives behind `HiPrim`: an application, and its linearised form.

The linearised one stands only in linear programs: operands are the residuals, then the tangents
that may be nonzero. It is transposed by `vjp_bwd`, and never runs.
"""

from typing import Any, Final

from tans_xla.lo import UserPrimitive

hi_call_p: Final = UserPrimitive("hi_call", __name__, multiple_results=True, call_like=True)
hi_lin_p: Final = UserPrimitive("hi_lin", __name__, multiple_results=True, call_like=True)

type Tree = Any
