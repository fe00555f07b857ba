"""The incomplete gamma functions, and the derivatives that gamma distributions need."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer

igamma_p: Final = Primitive("igamma", family=__name__)
igammac_p: Final = Primitive("igammac", family=__name__)
igamma_grad_a_p: Final = Primitive("igamma_grad_a", family=__name__)
random_gamma_grad_p: Final = Primitive("random_gamma_grad", family=__name__)


def igamma(a: Value, x: Value) -> Value:
    """Compute the regularised lower incomplete gamma function.

    It is the distribution function of the gamma distribution with shape `a`, at `x`.

    Args:
      a: positive, any shape, float dtype.
      x: not negative; same dtype and shape as `a`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.igamma(1.0, 1.0)), 4)
      0.6321
    """
    return _bind(igamma_p, a, x)


def igammac(a: Value, x: Value) -> Value:
    """Compute the regularised upper incomplete gamma function, ``1 - igamma(a, x)``.

    Args:
      a: positive, any shape, float dtype.
      x: not negative; same dtype and shape as `a`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.igammac(1.0, 1.0)), 4)
      0.3679
    """
    return _bind(igammac_p, a, x)


def igamma_grad_a(a: Value, x: Value) -> Value:
    """Compute the derivative of `igamma` in `a`.

    Args:
      a: positive, any shape, float dtype.
      x: not negative; same dtype and shape as `a`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.igamma_grad_a(1.0, 1.0)), 4)
      -0.4317
    """
    return _bind(igamma_grad_a_p, a, x)


def random_gamma_grad(a: Value, x: Value) -> Value:
    """Compute the derivative in `a` of a sample `x` of the gamma distribution with shape `a`.

    The probability of a smaller sample is held fixed.

    Args:
      a: positive, any shape, float dtype.
      x: the sample, not negative; same dtype and shape as `a`, or of rank 0.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is not a float.

    Example:
      >>> round(float(lax.random_gamma_grad(1.0, 1.0)), 4)
      1.1736
    """
    return _bind(random_gamma_grad_p, a, x)


def _bind(primitive: Primitive, a: Value, x: Value) -> Value:
    if type(a) in PYTHON_SCALARS or type(x) in PYTHON_SCALARS:
        a, x = adapt(a, x)
    return primitive.bind(a, x)
