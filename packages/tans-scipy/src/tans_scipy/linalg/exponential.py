"""The matrix exponential."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_scipy.linalg.operands import check_square
from tans_scipy.linalg.solving import solve
from tans_xla import composite

type Array = Any

# Coefficients of the Padé approximants of order 7 and 13, and the 1-norm up to which they are
# exact to the precision of float32 and float64 (Higham 2005, table 2.3).
_ORDER_7: Final = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_ORDER_13: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_NARROW: Final = (_ORDER_7, 3.925724783138660)
_WIDE: Final = (_ORDER_13, 5.371920351148152)


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Return the exponential of square matrices.

    Args:
      A: [..., n, n].
      upper_triangular: accepted; the same method is used.
      max_squarings: nan results where more squarings would be needed.

    Raises:
      ValueError: the matrices are not square.

    Example:
      >>> expm(jnp.zeros((2, 2))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]

    References:
      Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
    """
    del upper_triangular
    return _expm(A, max_squarings=int(max_squarings))


@composite(static_argnames=("max_squarings",))
def _expm(a: Any, *, max_squarings: int) -> Array:
    (a,) = promote_dtypes_inexact("expm", a)
    a = jnp.asarray(a)
    check_square("expm", a)
    real = typeof(jnp.real(a)).dtype
    coefficients, bound = _WIDE if real == np.float64 else _NARROW
    sums = jnp.sum(jnp.abs(lax.stop_gradient(a)), -2)
    norm = lax.reduce_max(sums, (sums.ndim - 1,))
    ratio = jnp.maximum(norm / bound, 1)
    squarings = jnp.ceil(jnp.log2(jnp.where(jnp.isfinite(ratio), ratio, 1)))
    too_many = (squarings > max_squarings) | ~jnp.isfinite(ratio)
    squarings = jnp.minimum(squarings, max_squarings)
    out = _pade(a * jnp.exp2(-squarings)[..., None, None].astype(a.dtype), coefficients)

    def step(out: Array, i: Array) -> tuple[Array, None]:
        return jnp.where((i < squarings)[..., None, None], out @ out, out), None

    out, _ = lax.scan(step, out, jnp.arange(max_squarings, dtype=real))
    return jnp.where(too_many[..., None, None], jnp.nan, out)


def _pade(a: Array, coefficients: tuple[float, ...]) -> Array:
    identity = jnp.eye(a.shape[-1], dtype=a.dtype)
    square = a @ a
    even, odd = coefficients[-2] * identity, coefficients[-1] * identity
    for c_even, c_odd in zip(coefficients[-4::-2], coefficients[-3::-2], strict=True):
        even, odd = square @ even + c_even * identity, square @ odd + c_odd * identity
    odd = a @ odd
    return solve(even - odd, even + odd)
