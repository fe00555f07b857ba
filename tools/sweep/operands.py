"""Operands of the calls: the same arrays in every process, made with NumPy alone.

``A("f32", (3, 5), "n", 0)`` is a float32 matrix; the third argument names its values.
"""

import ml_dtypes
import numpy as np

DTYPES = {
    "b1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 1e-3, 3e4, -2.5]
EXTREME = {"i": [0, -1, 1], "u": [0, 1, 2]}


def array(dtype: str, shape: tuple[int, ...], values: str = "n", seed: int = 0) -> np.ndarray:
    """Make an operand.

    Args:
      dtype: short name, a key of `DTYPES`.
      shape: its shape.
      values: ``n`` normal, ``p`` between 0.1 and 2, ``u`` between 0 and 1, ``s`` special values,
        ``m`` a well-conditioned stack of symmetric positive matrices, ``o`` ascending,
        ``i`` small whole numbers, ``x`` indices from 0 to 2.
      seed: a number that differs between the operands of a call.
    """
    kind = np.dtype(DTYPES[dtype]).kind
    kind = "f" if dtype == "bf16" else kind
    rng = np.random.default_rng(100 + seed)
    if values == "m":
        return _definite(rng, shape, kind).astype(DTYPES[dtype])
    if kind in "iub":
        return _whole(rng, dtype, shape, values, kind)
    x = _real(rng, shape, values)
    if kind == "c":
        x = x + 1j * _real(rng, shape, values)
    return np.asarray(x).astype(DTYPES[dtype])


def _real(rng: np.random.Generator, shape: tuple[int, ...], values: str) -> np.ndarray:
    if values == "p":
        return rng.uniform(0.1, 2.0, shape)
    if values == "u":
        return rng.uniform(0.05, 0.95, shape)
    if values in "ix":
        return rng.integers(0, 4 if values == "i" else 3, shape).astype(float)
    if values == "s":
        return rng.permutation(np.resize(SPECIAL, int(np.prod(shape)))).reshape(shape)
    if values == "o":
        return np.sort(rng.normal(size=shape), axis=-1) if shape else rng.normal(size=shape)
    return rng.normal(size=shape) * 1.5


def _whole(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...], values: str, kind: str
) -> np.ndarray:
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape).astype(bool))
    if values == "s":
        info = np.iinfo(DTYPES[dtype])
        pool = np.array([info.min, info.max, *EXTREME[kind]], DTYPES[dtype])
        return np.asarray(rng.choice(pool, shape)).astype(DTYPES[dtype])
    low, high = {"p": (1, 6), "u": (0, 2), "x": (0, 3), "i": (0, 4)}.get(
        values, (0, 9) if kind == "u" else (-5, 6)
    )
    x = rng.integers(low, high, shape)
    return np.asarray(np.sort(x, axis=-1) if values == "o" and shape else x).astype(DTYPES[dtype])


def _definite(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    x = rng.normal(size=shape)
    if kind == "c":
        x = x + 1j * rng.normal(size=shape)
    n = shape[-1]
    square = x @ np.conj(np.swapaxes(x, -1, -2)) + n * np.eye(n)
    return np.round(square.real) if kind in "iub" else square
