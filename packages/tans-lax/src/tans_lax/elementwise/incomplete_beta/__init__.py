"""The regularised incomplete beta function."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.operands import PYTHON_SCALARS, typed_scalar

type Value = Any  # an array, a Python scalar or a tracer

regularized_incomplete_beta_p: Final = Primitive("regularized_incomplete_beta", family=__name__)


def betainc(a: Value, b: Value, x: Value) -> Value:
    """Compute the regularised incomplete beta function.

    It is the distribution function of the beta distribution with shapes `a` and `b`, at `x`.

    Args:
      a: positive, any shape, float dtype. No derivative exists in it.
      b: positive; same dtype and shape as `a`, or of rank 0. No derivative exists in it.
      x: between 0 and 1; same dtype and shape as `a`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.betainc(2.0, 1.0, 0.5)), 4)
      0.25
    """
    typed = next((v for v in (a, b, x) if type(v) not in PYTHON_SCALARS), None)
    if typed is not None:
        a, b, x = (
            typed_scalar(v, typed.dtype) if type(v) in PYTHON_SCALARS else v for v in (a, b, x)
        )
    return regularized_incomplete_beta_p.bind(a, b, x)
