"""Functions given by samples: interp; and phases without jumps: unwrap."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_numpy.cumulative import cumsum, diff
from tans_numpy.indexing import take
from tans_numpy.joining import concatenate
from tans_numpy.operands import (
    ArrayLike,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
)
from tans_numpy.searching import searchsorted
from tans_numpy.selection import where
from tans_numpy.ufuncs.arithmetic import remainder
from tans_xla import composite
from tans_xla.sizes import max_size

type Array = Any


@composite(static_argnames=("extrapolate",), is_whole=True)
def _interp(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, *, extrapolate: tuple[bool, bool]
) -> Array:
    x, xp = promote_dtypes_inexact("interp", x, xp)
    (fp,) = promote_dtypes_inexact("interp", fp)
    if period is not None:
        (period,) = promote_dtypes_inexact("interp", period)
        period = lax.abs(period)
        x, xp = remainder(x, period), remainder(xp, period)
        xp, fp = lax.sort((xp, fp), num_keys=1)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    n = typeof(xp).shape[0]
    after = searchsorted(xp, x, "right").clip(1, max_size(n - 1, 1))
    before = after - 1
    x0, x1 = take(xp, before, mode="clip"), take(xp, after, mode="clip")
    f0, f1 = take(fp, before, mode="clip"), take(fp, after, mode="clip")
    width = x1 - x0
    # Two samples at one place make a jump; the slope there is not used, and must not divide by 0.
    jump = lax.abs(width) <= np.finfo(np.float32).tiny
    safe = where(jump, 1, width)
    out = where(jump, f0, f0 + (x - x0) / safe * (f1 - f0))
    if period is not None:
        return out
    if not extrapolate[0]:
        out = where(x < xp[0], fp[0] if left is None else left, out)
    if not extrapolate[1]:
        out = where(x > xp[-1], fp[-1] if right is None else right, out)
    return out


def interp(
    x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None,
    period: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Interpolate linearly between samples.

    Args:
      x: where to evaluate, any shape.
      xp: places of the samples [n], ascending unless `period` is given.
      fp: values of the samples [n].
      left, right: values below the first and above the last place; those of the samples there if
        None, and "extrapolate" continues the line.
      period: period of the places; `left` and `right` then have no effect.

    Raises:
      ValueError: samples that are not vectors of one size, complex places, or period 0.

    Example:
      >>> interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
      Array(15., dtype=float32)
    """
    ends = [v for v in (left, right) if v is not None and not isinstance(v, str)]
    check_arraylike("interp", x, xp, fp, *ends, *(() if period is None else (period,)))
    if typeof(xp).ndim != 1 or typeof(xp).shape != typeof(fp).shape or not typeof(xp).size:
        raise ValueError(
            f"interp: given samples of the shapes {typeof(xp).shape} and {typeof(fp).shape}, "
            "expected vectors of one size, at least 1."
        )
    if typeof(x).dtype.kind == "c" or typeof(xp).dtype.kind == "c":
        raise ValueError(
            f"interp: given x of dtype {typeof(x).dtype} and xp of dtype {typeof(xp).dtype}, "
            "expected real places. Pass their real parts; only fp may be complex."
        )
    if isinstance(period, int | float) and period == 0:
        raise ValueError("interp: given period=0, expected another number.")
    for name, v in (("left", left), ("right", right)):
        if isinstance(v, str) and v != "extrapolate":
            raise ValueError(f"interp: given {name}={v!r}, expected a number or 'extrapolate'.")
    extrapolate = (isinstance(left, str), isinstance(right, str))
    left, right = (None if isinstance(v, str) else v for v in (left, right))
    return _interp(x, xp, fp, left, right, period, extrapolate=extrapolate)


@composite(static_argnames=("axis",), is_whole=True)
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * np.pi
) -> Array:
    """Add multiples of the period so that neighbours differ by at most half of it.

    Args:
      p: at least one dimension, real.
      discont: jumps smaller than this are left; half the period if None.
      axis: the dimension.
      period: the period.
    """
    check_arraylike("unwrap", p, period, *(() if discont is None else (discont,)))
    axis = canonicalize_axis(axis, typeof(p).ndim, "unwrap")
    return _unwrap(p, discont, period, axis=axis)


def _unwrap(p: Any, discont: Any, period: Any, *, axis: int) -> Array:
    if all(np.issubdtype(typeof(v).dtype, np.integer) for v in (p, period)):
        p, period = promote_dtypes("unwrap", p, period)
    else:
        p, period = promote_dtypes_inexact("unwrap", p, period)
    integer = np.issubdtype(typeof(p).dtype, np.integer)
    half = period // 2 if integer else period / 2
    step = diff(p, axis=axis)
    folded = remainder(step + half, period) - half
    # Exactly half a period up stays up.
    folded = where((folded == -half) & (step > 0), half, folded)
    correction = where(lax.abs(step) < (half if discont is None else discont), 0, folded - step)
    n = typeof(p).shape[axis]
    first = lax.slice_in_dim(p, 0, min(1, n), 1, axis)
    rest = lax.slice_in_dim(p, min(1, n), n, 1, axis)
    return concatenate([first, rest + cumsum(correction, axis)], axis)
