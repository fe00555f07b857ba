"""Callbacks under vmap: the loop, or the broadcasting, happens on the host.

No traced operation is needed: a batched callback takes the mapped operands as they are and returns
results with the mapped dimension in front.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core.types import ShapedArray

VMAP_METHODS: Final = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


class BatchedCallback:
    """A callback over one more dimension.

    Args:
      callback: the callback without the dimension.
      dims: position of the mapped dimension per operand; None for operands that have none.
      size: size of the dimension.
      method: one of `VMAP_METHODS`.
    """

    __slots__ = ("callback", "dims", "method", "size")

    def __init__(
        self, callback: Callable[..., Any], dims: Sequence[int | None], size: int, method: str
    ) -> None:
        self.callback = callback
        self.dims = tuple(dims)
        self.size = size
        self.method = method

    def __repr__(self) -> str:
        return f"BatchedCallback({self.callback!r}, {self.dims}, {self.method})"

    def __call__(self, *arrays: np.ndarray, avals: Sequence[ShapedArray]) -> list[np.ndarray]:
        """Call the inner callback once, or once per index of the mapped dimension."""
        fronted = [
            x if dim is None else np.moveaxis(np.asarray(x), dim, 0)
            for x, dim in zip(arrays, self.dims, strict=True)
        ]
        if self.method in ("sequential", "sequential_unrolled"):
            return self._loop(fronted, avals)
        return self.callback(*map(self._widen, fronted, self.dims), avals=avals)

    def _loop(self, arrays: list[np.ndarray], avals: Sequence[ShapedArray]) -> list[np.ndarray]:
        inner = [aval.update(shape=aval.shape[1:]) for aval in avals]
        rows = [
            self.callback(
                *(x if dim is None else x[i] for x, dim in zip(arrays, self.dims, strict=True)),
                avals=inner,
            )
            for i in range(self.size)
        ]
        if not rows:
            return [np.zeros(aval.shape, aval.dtype) for aval in avals]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    def _widen(self, x: np.ndarray, dim: int | None) -> np.ndarray:
        """Give an unmapped operand the dimension that the method promises."""
        if dim is not None or self.method == "legacy_vectorized":
            return x
        size = 1 if self.method == "expand_dims" else self.size
        x = np.asarray(x)
        return np.broadcast_to(x, (size, *x.shape))
