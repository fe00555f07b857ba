"""Operands that the tables name, in float64."""

import numpy as np


def make(n: int, m: int, seed: int) -> dict[str, np.ndarray]:
    """Return the operands: matrices [n, m], vectors [m], square matrices [n, n].

    `x`, `y` are positive, `z` has signs, `u` lies between 0 and 1, `v`, `w` are vectors, `q` one
    that ascends, `P` probabilities, `s` a scalar, `A` positive definite, `B` square; `i`, `j` are
    integers, `k` indices [m], `k3` three of them, `b` booleans.
    """
    rng = np.random.default_rng(seed)
    square = rng.normal(size=(n, n))
    p = rng.uniform(0.5, 1.5, m)
    return {
        "x": rng.uniform(0.4, 1.7, (n, m)),
        "y": rng.uniform(0.4, 1.7, (n, m)),
        "z": rng.normal(size=(n, m)),
        "u": rng.uniform(0.15, 0.85, (n, m)),
        "v": rng.normal(size=m),
        "w": rng.uniform(0.4, 1.7, m),
        "q": np.cumsum(rng.uniform(0.3, 0.8, m)) - 1,
        "P": p / p.sum(),
        "s": rng.uniform(0.5, 1.5),
        "A": square @ square.T + n * np.eye(n),
        "B": rng.normal(size=(n, n)),
        "i": rng.integers(0, 6, (n, m)),
        "j": rng.integers(1, 5, (n, m)),
        "k": np.resize([0, 2, 1, 3], m),
        "k3": np.array([0, 2, 1]),
        "b": rng.integers(0, 2, (n, m)).astype(bool),
    }


def typed(operands: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Return them with floats of a dtype, integers of 32 bits."""
    kinds = {"f": np.dtype(dtype), "i": np.dtype(np.int32), "b": np.dtype(bool)}
    return {k: np.asarray(v).astype(kinds[np.asarray(v).dtype.kind]) for k, v in operands.items()}
