"""A cheap lower bound of what marked inputs reach, to start fixpoints near their end.

Whether a carry has a tangent, or is mapped, is found by transforming the body again and again. The
usual answer shows in the equations: a tangent goes through a product. Only primitives for which
that is certain count, so the bound never exceeds the answer.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.context import Mask
from tans_core.jaxpr import ClosedJaxpr, Eqn
from tans_lax.control_flow.memo import BodyMemo

type Passes = Callable[[Eqn], bool]

# Linear or smooth, with a tangent whenever an operand has one, and mapped whenever one is.
_CERTAIN_NAMES: Final = """
    add add_any sub mul div neg square one_minus_square exp exp2 expm1 log log1p logistic tanh sin
    cos sqrt rsqrt select_n copy reduce_sum cumsum dot_general conv_general_dilated reshape
    transpose broadcast_in_dim concatenate squeeze expand_dims slice pad rev
"""
_CERTAIN: Final = frozenset(_CERTAIN_NAMES.split())

_MEMO: Final[BodyMemo[Mask]] = BodyMemo()


def through_smooth(eqn: Eqn) -> bool:
    """Whether tangents and mapped dimensions surely pass this equation."""
    return eqn.primitive.name in _CERTAIN


def through_recorded(eqn: Eqn) -> bool:
    """Whether an unknown operand surely makes the results unknown."""
    return not eqn.primitive.call_like and not eqn.primitive.custom_staging


def reached_carry(
    body: ClosedJaxpr,
    consts: Sequence[bool],
    carry: Sequence[bool],
    xs: Sequence[bool],
    passes: Passes,
) -> Mask:
    """Return carries that the marked inputs surely reach, those marked included.

    Args:
      body: ``(*consts, *carry, *xs) -> (*carry, ...)``.
      consts: which constants are marked.
      carry: which carries are.
      xs: which xs are.
      passes: whether a mark surely passes an equation.
    """
    marks = (*consts, *carry, *xs)
    if not any(marks) or all(carry):
        return tuple(carry)
    key = (marks, len(consts), len(carry), passes)
    return _MEMO.get(body, key, lambda: _reached(body, marks, len(consts), len(carry), passes))


def _reached(
    body: ClosedJaxpr, marks: Mask, num_consts: int, num_carry: int, passes: Passes
) -> Mask:
    jaxpr = body.jaxpr
    reached: set[Any] = {v for v, m in zip(jaxpr.invars, marks, strict=True) if m}
    carry = jaxpr.invars[num_consts : num_consts + num_carry]
    while True:
        for eqn in body.eqns:
            if passes(eqn) and not reached.isdisjoint(eqn.invars):
                reached.update(eqn.outvars)
        new = [
            v
            for v, out in zip(carry, jaxpr.outvars, strict=False)
            if out in reached and v not in reached
        ]
        if not new:
            return tuple(v in reached for v in carry)
        reached.update(new)
