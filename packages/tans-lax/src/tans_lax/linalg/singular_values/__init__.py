"""Singular values and vectors."""

import enum
from typing import Any, Final

from tans_core import Array, Primitive
from tans_xla.sizes import as_ints

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

svd_p: Final = Primitive("svd", family=__name__, multiple_results=True)


class SvdAlgorithm(enum.Enum):
    """How `svd` is computed, where a platform offers a choice."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Factor matrices as ``x = u @ diag(s) @ vh``.

    The singular values are differentiable wherever a symmetric function of them is, also where
    several are equal. Singular vectors of equal singular values are determined up to a rotation; a
    derivative is right when the function doesn't change under these rotations.

    Args:
      x: ``[*batch, m, n]``, real or complex.
      full_matrices: whether `u` and `vh` are square; otherwise they belong to the
        ``min(m, n)`` singular values.
      compute_uv: whether to return the singular vectors.
      subset_by_index: ``(start, stop)``: only the singular values from `start` to before `stop`,
        counted from the largest; not with square `u` and `vh`.
      algorithm: a method, on platforms that have several; None chooses.

    Returns:
      ``(u, s, vh)``, or `s` alone: ``[*batch, m, k]``, real and descending ``[*batch, k]``,
      ``[*batch, k, n]``.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the subset is out of range, or given together with `full_matrices`.

    Example:
      >>> import numpy as np
      >>> svd(np.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False).tolist()
      [4.0, 3.0]
    """
    if subset_by_index is not None:
        start, stop = as_ints(subset_by_index)
        subset_by_index = (start, stop)
    outs = svd_p.bind(
        x,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        subset_by_index=subset_by_index,
        algorithm=algorithm,
    )
    if not compute_uv:
        return outs[0]
    s, u, vh = outs
    return u, s, vh
