"""Derivative of a gamma sample in the shape parameter, at a fixed probability.

Write P(a, x) for the distribution function. A sample is x(a) = P(a, .)^-1(u), so that
x'(a) = -(dP/da) / (dP/dx): `lax.random_gamma_grad`.

References:
  Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", 2018.
"""

from typing import Any, Final

import tans_lax as lax
from tans_core import Zero, typeof, zero_tangent
from tans_core.dtype_queries import finfo
from tans_lax.rows import not_linear
from tans_random.implementations import Implementation
from tans_random.random_gamma import random_gamma, random_gamma_p


def _gamma_jvp(
    primals: tuple[Any, Any], tangents: tuple[Any, Any], *, impl: Implementation, log_space: bool
) -> tuple[Any, Any]:
    words, a = primals
    out = random_gamma(words, a, impl, log_space)
    if type(tangents[1]) is Zero:
        return out, zero_tangent(typeof(out))
    slope = _log_slope(a, out) if log_space else lax.random_gamma_grad(a, out)
    return out, lax.mul(tangents[1], slope)


def _log_slope(a: Any, log_x: Any) -> Any:
    # Where x underflows, P(a, x) = x**a / Gamma(a + 1) to all digits, hence
    # log(x)' = (digamma(a + 1) - log(x)) / a.
    kind = typeof(a).dtype.type
    x = lax.exp(log_x)
    is_tiny = lax.lt(x, kind(finfo(typeof(a).dtype).tiny))
    x = lax.select(is_tiny, lax.full_like(x, 1), x)
    slope = lax.div(lax.random_gamma_grad(a, x), x)
    limit = lax.div(lax.sub(lax.digamma(lax.add(a, kind(1))), log_x), a)
    return lax.select(is_tiny, limit, slope)


JVP: Final[dict[Any, Any]] = {random_gamma_p: _gamma_jvp}
TRANSPOSE: Final[dict[Any, Any]] = {random_gamma_p: not_linear}
