"""Products with logarithms that have limits at 0, entropies, logit and Box-Cox."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_jvp
from tans_lax.elementwise.tangents import mul_tangent
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.special.operands import broadcast, refuse_complex
from tans_xla import composite

type Array = Any
type Value = Any  # an array, a Python scalar or a tracer


@custom_jvp
def _xlogy(x: Value, y: Value) -> Array:
    return jnp.where(x == 0, 0, x * jnp.log(jnp.where(x == 0, 1, y)))


@_xlogy.defjvp
def _xlogy_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    is_zero = x == 0
    in_y = jnp.where(is_zero, 0, x / jnp.where(is_zero, 1, y))
    return _xlogy(x, y), mul_tangent(x_dot, jnp.log(y)) + y_dot * in_y


@custom_jvp
def _xlog1py(x: Value, y: Value) -> Array:
    return jnp.where(x == 0, 0, x * jnp.log1p(jnp.where(x == 0, 0, y)))


@_xlog1py.defjvp
def _xlog1py_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    is_zero = x == 0
    in_y = jnp.where(is_zero, 0, x / jnp.where(is_zero, 1, 1 + y))
    return _xlog1py(x, y), mul_tangent(x_dot, jnp.log1p(y)) + y_dot * in_y


@composite
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute ``x * log(y)``; 0 where `x` is 0, whatever `y` is.

    Args:
      x, y: shapes that broadcast; integers become floats.

    Example:
      >>> float(xlogy(0.0, 0.0))
      0.0
    """
    return _xlogy(*broadcast("xlogy", x, y))


@composite
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """Compute ``x * log(1 + y)``; 0 where `x` is 0, whatever `y` is.

    Args:
      x, y: shapes that broadcast; integers become floats.

    Example:
      >>> float(xlog1py(0.0, -1.0))
      0.0
    """
    return _xlog1py(*broadcast("xlog1py", x, y))


@composite
def entr(x: ArrayLike) -> Array:
    """Compute ``-x * log(x)``; 0 at 0 and -inf for negative `x`.

    Args:
      x: any shape, real; integers become floats.

    Example:
      >>> float(entr(1.0)) == 0.0
      True
    """
    (x,) = promote_dtypes_inexact("entr", x)
    refuse_complex("entr", x)
    safe = jnp.where(x < 0, 1, x)
    return jnp.where(x < 0, -np.inf, -_xlogy(safe, safe))


@composite
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """Compute ``p * log(p / q)``; 0 at ``p = 0``, infinite for negative operands and ``q = 0``.

    Args:
      p, q: shapes that broadcast, real; integers become floats.

    Example:
      >>> float(rel_entr(0.0, 1.0))
      0.0
    """
    p, q = broadcast("rel_entr", p, q)
    refuse_complex("rel_entr", p)
    both = (p > 0) & (q > 0)
    safe_p, safe_q = jnp.where(both, p, 1), jnp.where(both, q, 1)
    inside = safe_p * jnp.log(safe_p / safe_q)
    return jnp.where(both, inside, jnp.where((p == 0) & (q >= 0), 0, np.inf))


@composite
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Compute ``p * log(p / q) - p + q``, with the limits of `rel_entr`.

    Args:
      p, q: shapes that broadcast, real; integers become floats.

    Example:
      >>> float(kl_div(0.0, 2.0))
      2.0
    """
    p, q = broadcast("kl_div", p, q)
    return rel_entr(p, q) - p + q


@custom_jvp
def _logit(x: Value) -> Array:
    return jnp.log(x / (1 - x))


@_logit.defjvp
def _logit_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return _logit(x), x_dot / (x * (1 - x))


@composite
def logit(x: ArrayLike) -> Array:
    """Compute ``log(x / (1 - x))``, the inverse of `expit`.

    Args:
      x: any shape; integers become floats.

    Example:
      >>> float(logit(0.5))
      0.0
    """
    return _logit(*promote_dtypes_inexact("logit", x))


@composite
def expit(x: ArrayLike) -> Array:
    """Compute ``1 / (1 + exp(-x))``.

    Args:
      x: any shape; integers become floats.

    Example:
      >>> float(expit(0.0))
      0.5
    """
    return lax.logistic(*promote_dtypes_inexact("expit", x))


def _power_of(log_x: Array, lmbda: Array) -> Array:
    is_zero = lmbda == 0
    safe = jnp.where(is_zero, 1, lmbda)
    return jnp.where(is_zero, log_x, jnp.expm1(safe * log_x) / safe)


@composite
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Compute ``(x**lmbda - 1) / lmbda``, and ``log(x)`` for ``lmbda = 0``.

    Args:
      x, lmbda: shapes that broadcast; integers become floats.

    Example:
      >>> round(float(boxcox(2.0, 0.0)), 4)
      0.6931
    """
    x, lmbda = broadcast("boxcox", x, lmbda)
    return _power_of(jnp.log(x), lmbda)


@composite
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Compute ``boxcox(1 + x, lmbda)``, accurate near ``x = 0``.

    Args:
      x, lmbda: shapes that broadcast; integers become floats.

    Example:
      >>> round(float(boxcox1p(1.0, 0.0)), 4)
      0.6931
    """
    x, lmbda = broadcast("boxcox1p", x, lmbda)
    return _power_of(jnp.log1p(x), lmbda)
