"""Products of a tangent with a slope that may be infinite.

A tangent of exactly 0 stays 0 whatever the slope: along a direction in which the input does not
move, the output does not either. ``sqrt(relu(x))`` at a negative x thus has derivative 0 forwards,
as it has backwards, where the zero comes last. Transposed, these are an ordinary product and
quotient, so reverse mode pays nothing.
"""

from typing import Any, Final

from tans_core import Primitive

type Value = Any  # an array, a Python scalar or a tracer

mul_tangent_p: Final = Primitive("mul_tangent", family=__name__)
div_tangent_p: Final = Primitive("div_tangent", family=__name__)


def mul_tangent(t: Value, slope: Value) -> Value:
    """Compute ``t * slope``, or `t` where it is 0.

    Args:
      t: tangent: any shape, float or complex dtype.
      slope: same dtype and shape as `t`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> float(mul_tangent(0.0, float("inf")))
      0.0
    """
    return mul_tangent_p.bind(t, slope)


def div_tangent(t: Value, y: Value) -> Value:
    """Compute ``t / y``, or `t` where it is 0.

    Args:
      t: tangent: any shape, float or complex dtype.
      y: same dtype and shape as `t`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> float(div_tangent(0.0, 0.0))
      0.0
    """
    return div_tangent_p.bind(t, y)
