"""One product of a program at its operands: exact, as the backend runs it, and emulated."""

import math
from typing import Any, Final

import numpy as np

from tans_core import Eqn
from tans_core import config_module as config
from tans_core.dtype_queries import issubdtype
from tans_lax import Precision
from tans_precision.arithmetic import Arithmetic
from tans_precision.emulation import PAIRS, multiply
from tans_precision.rounding import rounded, split

_HIGHEST: Final = (Precision.HIGHEST, Precision.HIGHEST)
_NAMES: Final = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}

_OPERATIONS: Final = {
    "dot_general": "dot", "conv_general_dilated": "conv", "ragged_dot_general": "ragged dot"
}  # fmt: skip


def is_real(eqn: Eqn) -> bool:
    """Whether the operands are real floats, for which precisions differ."""
    return all(issubdtype(v.aval.dtype, np.floating) for v in eqn.invars[:2])


def describe(eqn: Eqn) -> str:
    """Return the operation with its operand types."""
    name = _OPERATIONS[eqn.primitive.name]
    return f"{name} {' x '.join(v.aval.str_short() for v in eqn.invars[:2])}"


def in_result_type(x: np.ndarray, eqn: Eqn) -> np.ndarray:
    """Round a float64 product to the type of the equation's result, as float64."""
    kind = _NAMES.get(eqn.outvars[0].aval.dtype.name)
    return x if kind is None else rounded(x, kind)


def sampled(eqn: Eqn, values: list[Any], limit: int) -> list[np.ndarray]:
    """Return the operands of a dot as ``[b, m, k]`` and ``[b, k, n]``, at most `limit` of b, m, n.

    Rows and columns are taken at equal distances, so all of a large product is represented. The
    operands of a convolution are returned whole.
    """
    lhs, rhs = (np.asarray(x) for x in values)
    if eqn.primitive.name != "dot_general":
        return [lhs, rhs]
    lhs, rhs = as_matmul(eqn, lhs, rhs)
    batch, rows, columns = (_spread(n, limit) for n in (*lhs.shape[:2], rhs.shape[2]))
    return [lhs[batch][:, rows], rhs[batch][:, :, columns]]


def _spread(size: int, limit: int) -> Any:
    return np.unique(np.linspace(0, size - 1, limit).astype(int)) if size > limit else slice(None)


def as_matmul(eqn: Eqn, lhs: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the operands of a `dot_general` as ``[b, m, k]`` and ``[b, k, n]``."""
    (lhs_sum, rhs_sum), (lhs_batch, rhs_batch) = eqn.params["dimension_numbers"]
    free = [
        [d for d in range(x.ndim) if d not in (*summed, *batch)]
        for x, summed, batch in ((lhs, lhs_sum, lhs_batch), (rhs, rhs_sum, rhs_batch))
    ]
    b = math.prod(lhs.shape[d] for d in lhs_batch)
    k = math.prod(lhs.shape[d] for d in lhs_sum)
    left = lhs.transpose(*lhs_batch, *free[0], *lhs_sum)
    right = rhs.transpose(*rhs_batch, *rhs_sum, *free[1])
    m = math.prod(lhs.shape[d] for d in free[0])
    n = math.prod(rhs.shape[d] for d in free[1])
    return left.reshape(b, m, k), right.reshape(b, k, n)


def exact(eqn: Eqn, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Compute a product in double precision."""
    wide = lhs.astype(np.float64), rhs.astype(np.float64)
    return np.matmul(*wide) if eqn.primitive.name == "dot_general" else _convolve(eqn, *wide)


def emulate(eqn: Eqn, lhs: np.ndarray, rhs: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Compute a product in an arithmetic, rounded to the result's type."""
    if eqn.primitive.name == "dot_general":
        return in_result_type(multiply(lhs, rhs, arithmetic), eqn)
    # The order of a convolution's sums is not known: they are exact here and rounded once.
    pairs = PAIRS[arithmetic.passes]
    count = 1 + max(i for pair in pairs for i in pair)
    left, right = (split(x, arithmetic.operands, count) for x in (lhs, rhs))
    total = sum(_convolve(eqn, left[i], right[j]) for i, j in pairs)
    return in_result_type(rounded(total, arithmetic.sums), eqn)


def run_on_backend(eqn: Eqn, lhs: np.ndarray, rhs: np.ndarray, precision: Any) -> np.ndarray:
    """Run a product with a precision on the default backend; return float64."""
    params = eqn.params | {"precision": precision}
    if eqn.primitive.name == "dot_general":
        params["dimension_numbers"] = (((2,), (1,)), ((0,), (0,)))
        params["out_sharding"] = None
    return np.asarray(eqn.primitive.bind(lhs, rhs, **params)).astype(np.float64)


def _convolve(eqn: Eqn, lhs: Any, rhs: Any) -> np.ndarray:
    params = {"precision": _HIGHEST, "preferred_element_type": np.dtype(np.float64)}
    with config.enable_x64(True):
        return np.asarray(eqn.primitive.bind(lhs, rhs, **eqn.params | params))


def restored(eqn: Eqn, product: np.ndarray) -> np.ndarray:
    """Bring a product of `as_matmul` operands into the shape and dtype of the equation's result."""
    aval = eqn.outvars[0].aval
    with np.errstate(over="ignore"):
        return product.reshape(aval.shape).astype(aval.dtype)
