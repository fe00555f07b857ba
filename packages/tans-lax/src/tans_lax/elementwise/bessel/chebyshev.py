"""Chebyshev expansions of the modified Bessel function of order 0.

With t in [-1, 1], i0e(x) = sum c_k T_k(t) for abs(x) = 4 (t + 1), at most 8, and
i0e(x) = sum d_k T_k(t) / sqrt(abs(x)) for abs(x) = 16 / (t + 1), at least 8. The coefficients are
discrete cosine transforms of i0e at 400 Chebyshev nodes; those below 1e-16 are left out.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import typeof
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import abs as abs_
from tans_lax.elementwise.arithmetic import add, div, mul, sub
from tans_lax.elementwise.comparison import le
from tans_lax.elementwise.powers import rsqrt
from tans_lax.elementwise.selection import select

type Value = Any

_SMALL: Final = (
    0.33839763720473803,
    -0.30468267234319835,
    0.17162090152220869,
    -0.09490109704804757,
    0.04930528423967058,
    -0.023737414805899387,
    0.010546460394594972,
    -0.004324309995050517,
    0.0016394756169412757,
    -0.000576375574538531,
    0.0001885028850957348,
    -5.754195010049643e-05,
    1.6448448070696383e-05,
    -4.4167383585657045e-06,
    1.1173875390782382e-06,
    -2.6707938512809084e-07,
    6.04699501016194e-08,
    -1.3000250110377604e-08,
    2.659823644248036e-09,
    -5.189793414136536e-10,
    9.675803075100999e-11,
    -1.7268291240836974e-11,
    2.954749072909928e-12,
    -4.855255813281806e-13,
    7.669088047989117e-14,
    -1.1666697339110522e-14,
    1.6918969480625435e-15,
    -2.1771375934703797e-16,
    -3.267549533898795e-16,
    5.2605760459539795e-17,
    -3.736334158732646e-16,
    5.328823862206511e-16,
    -1.0347679744310278e-16,
    2.3728415066148755e-16,
)
_LARGE: Final = (
    0.4022452055070544,
    0.0033691164782557108,
    6.88975834691481e-05,
    2.8913705208415045e-06,
    2.0489185888968065e-07,
    2.266668992874886e-08,
    3.396232036287014e-09,
    4.940602587807929e-10,
    1.1889131365061361e-11,
    -3.149916320615773e-11,
    -1.32158462710745e-11,
    -1.7940464825533242e-12,
    7.179894325566247e-13,
    3.852330206135374e-13,
    1.5399443872854414e-14,
    -4.139575075952362e-14,
    -9.606039379737863e-15,
    3.768833118852899e-15,
    1.7552203180476457e-15,
    -2.493979415346681e-16,
    -3.2336871895466414e-16,
    4.4362300291589387e-17,
    -1.0492366524228469e-16,
    2.5514529725101377e-17,
    -2.895145061188043e-17,
    7.686993402922227e-18,
    4.9060148304969076e-18,
    3.5423053379446404e-17,
    -2.5313681272648437e-16,
)


def i0e(x: Value) -> Value:
    """Compute i0e for an array of any shape."""
    kind = typeof(x).dtype.type
    size = abs_(x)
    is_small = le(size, kind(8))
    near = select(is_small, size, full_like(x, 8))
    far = select(is_small, full_like(x, 8), size)
    small = _sum(_SMALL, sub(mul(near, kind(0.25)), kind(1)))
    large = mul(_sum(_LARGE, sub(div(kind(16), far), kind(1))), rsqrt(far))
    return select(is_small, small, large)


def _sum(coefficients: Sequence[float], t: Value) -> Value:
    # Clenshaw's recurrence: b_k = c_k + 2 t b_(k+1) - b_(k+2), and the sum is b_0 - t b_1.
    kind = typeof(t).dtype.type
    twice = add(t, t)
    after, later = full_like(t, 0), full_like(t, 0)
    for c in reversed(coefficients[1:]):
        after, later = add(sub(mul(twice, after), later), kind(c)), after
    return add(sub(mul(t, after), later), kind(coefficients[0]))
