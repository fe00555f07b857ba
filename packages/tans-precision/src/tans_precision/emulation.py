"""Products as hardware computes them: operands rounded, split into parts, sums rounded."""

from typing import Any, Final

import numpy as np

from tans_precision.arithmetic import Arithmetic, arithmetic_of
from tans_precision.rounding import rounded, split

# Pairs of parts, the smallest products first, by number of passes.
PAIRS: Final = {
    1: [(0, 0)],
    3: [(1, 0), (0, 1), (0, 0)],
    6: [(2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0)],
    9: [(2, 2), (2, 1), (1, 2), (2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0)],
}


def emulated_matmul(lhs: Any, rhs: Any, precision: Any, *, platform: str = "gpu") -> np.ndarray:
    """Multiply matrices as hardware with this precision would.

    Operands are rounded to the precision's format, or split into parts of it. Products of parts are
    exact. Sums of 16 bits are rounded after each addition, in order; those of 32 and 64 bits are
    those of NumPy, whose order is that of its library.

    Args:
      lhs: ``[..., m, k]``, real.
      rhs: ``[..., k, n]``, real.
      precision: preset, its name, a level or a `DotAlgorithm`.
      platform: "cpu", "gpu" or "tpu": what levels mean.

    Returns:
      float64 array ``[..., m, n]`` of numbers of the format of the sums.

    Raises:
      ValueError: not a precision, or one for 8-bit floats.

    Example:
      >>> emulated_matmul([[1.001]], [[1.0]], "BF16_BF16_F32").tolist()
      [[1.0]]
    """
    return multiply(np.asarray(lhs), np.asarray(rhs), arithmetic_of(precision, platform))


def multiply(lhs: np.ndarray, rhs: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Multiply ``[..., m, k]`` and ``[..., k, n]``; return float64."""
    pairs = PAIRS[arithmetic.passes]
    count = 1 + max(i for pair in pairs for i in pair)
    left, right = (split(x, arithmetic.operands, count) for x in (lhs, rhs))
    total: np.ndarray | None = None
    with np.errstate(all="ignore"):
        for i, j in pairs:
            part = _summed(left[i], right[j], arithmetic.sums)
            total = part if total is None else rounded(total + part, arithmetic.sums)
    assert total is not None
    return total


def _summed(lhs: np.ndarray, rhs: np.ndarray, sums: str) -> np.ndarray:
    if sums == "f64":
        return np.matmul(lhs, rhs)
    if sums == "f32":
        return np.matmul(lhs.astype(np.float32), rhs.astype(np.float32)).astype(np.float64)
    total = np.zeros((*np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2]), 1, 1))
    for k in range(lhs.shape[-1]):
        total = rounded(total + lhs[..., :, k, None] * rhs[..., k, None, :], sums)
    return np.broadcast_to(total, (*total.shape[:-2], lhs.shape[-2], rhs.shape[-1]))
