"""A gamma sample from one normal and four exponential numbers, without rejection.

A sample for a + 4 is close to (a + 4) q**3, where q is a polynomial in z / sqrt(2 (a + 4)) and
1 / (2 (a + 4)) for a standard normal z: the cube-root approximation, with more terms. A sample for
a is that times u_0**(1/a) u_1**(1/(a+1)) u_2**(1/(a+2)) u_3**(1/(a+3)).

References:
  Wilson, Hilferty, "The distribution of chi-square", 1931.
"""

from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_random.implementations import Implementation
from tans_random.samplers.arguments import split_words
from tans_random.samplers.inverse_transform import exponential_numbers
from tans_random.samplers.normal import real_normal

type Value = Any

_SHIFT: Final = 4
# Row i belongs to the power i of z / sqrt(2 (a + 4)), column j to the power j of 1 / (2 (a + 4)).
_COEFFICIENTS: Final = (
    (1.0, -0.22373679280281067, -0.015139039605855942),
    (0.4713940918445587, 0.02607082948088646, -0.008986007422208786),
    (0.00013480280176736414, 0.011281860060989857, 0.022776789963245392),
    (-0.008553069084882736, -0.011537609621882439, -0.01323292963206768),
    (0.0031255800276994705, 0.005169653799384832, -0.006950356066226959),
    (-0.0008426812128163874, 0.00253000995144248, 0.0010604379931464791),
    (9.780498658074066e-05, -0.001450116978958249, 0.0015653260052204132),
)


def approximate_gamma(words: Any, a: Value, impl: Implementation, log_space: bool) -> Value:
    """Sample for each element of `a`, at least in single precision."""
    own = typeof(a).dtype
    dtype = np.dtype(np.float32) if own.itemsize < 4 else own
    a = lax.convert_element_type(a, dtype)
    shape, kind = typeof(a).shape, dtype.type
    first, second = split_words(words, impl, 2)

    shifted = lax.add(a, kind(_SHIFT))
    twice = lax.mul(kind(2), shifted)
    z = lax.mul(real_normal(first, impl, shape, dtype), lax.rsqrt(twice))
    w = lax.div(kind(1), twice)
    root = _polynomial(z, [_polynomial(w, [kind(c) for c in row]) for row in _COEFFICIENTS])
    root = lax.max(root, kind(finfo(dtype).tiny))
    logs = lax.add(lax.log(shifted), lax.mul(kind(3), lax.log(root)))

    steps = lax.reshape(lax.iota(dtype, _SHIFT), (_SHIFT, *(1,) * len(shape)))
    e = exponential_numbers(second, impl, (_SHIFT, *shape), dtype)
    falls = lax.div(lax.neg(e), lax.add(lax.expand_dims(a, (0,)), steps))
    logs = lax.add(logs, jnp.sum(falls, 0))
    out = logs if log_space else lax.exp(logs)
    return lax.convert_element_type(out, own)


def _polynomial(x: Value, coefficients: list[Value]) -> Value:
    out = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        out = lax.add(c, lax.mul(x, out))
    return out
