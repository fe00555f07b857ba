"""Windows for spectra: bartlett, blackman, hamming, hanning, kaiser."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes
from tans_numpy.number_parts import i0
from tans_numpy.operands import ArrayLike, check_arraylike
from tans_xla import composite

type Array = Any


def _positions(count: int) -> Array:
    return lax.iota(dtypes.default_float(), count)


def _window(name: str, formula: Callable[[Array, int], Array], summary: str) -> Any:
    @composite(static_argnames=("count",))
    def compute(*, count: int) -> Array:
        if count <= 1:
            return lax.full((max(count, 0),), 1, dtypes.default_float())
        return formula(_positions(count), count - 1)

    def window(M: int) -> Array:
        return compute(count=operator.index(M))

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"{summary}\n\n    Args:\n      M: static number of samples.\n"
    return window


def _cosines(*terms: float) -> Callable[[Array, int], Array]:
    def formula(n: Array, last: int) -> Array:
        out: Any = terms[0]
        for k, term in enumerate(terms[1:], 1):
            out = out + term * lax.cos(n * (2 * np.pi * k / last))
        return out

    return formula


bartlett = _window(
    "bartlett",
    lambda n, last: 1 - lax.abs(2 * n - last) / last,
    "Return the triangular window.",
)
blackman = _window("blackman", _cosines(0.42, -0.5, 0.08), "Return the Blackman window.")
hamming = _window("hamming", _cosines(0.54, -0.46), "Return the Hamming window.")
hanning = _window("hanning", _cosines(0.5, -0.5), "Return the Hann window.")


@composite(static_argnames=("count",))
def _kaiser(beta: Any, *, count: int) -> Array:
    dtype = dtypes.default_float()
    if count <= 1:
        return lax.full((max(count, 0),), 1, dtype)
    beta = lax.convert_element_type(beta, dtype)
    middle = (count - 1) / 2
    place = (_positions(count) - middle) / middle
    return i0(beta * lax.sqrt(1 - place * place)) / i0(beta)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Return the Kaiser window.

    Args:
      M: static number of samples.
      beta: scalar; larger is narrower.
    """
    check_arraylike("kaiser", beta)
    return _kaiser(beta, count=operator.index(M))
