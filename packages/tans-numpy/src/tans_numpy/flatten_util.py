"""`ravel_pytree`: a pytree of arrays as one vector, and back."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, tree, typeof
from tans_core.promotion import result_type
from tans_numpy.filled import zeros
from tans_numpy.operands import check_arraylike

__all__ = ("ravel_pytree",)

type Array = Any
type Pytree = Any


def ravel_pytree(pytree: Pytree) -> tuple[Array, Callable[[Array], Pytree]]:
    """Return the leaves of a pytree as one vector, with the function that takes it apart.

    Args:
      pytree: leaves are arrays or scalars of any shape.

    Returns:
      A vector [total size] of the common dtype of the leaves, and a function that maps such a
      vector to a pytree of the same structure, shapes and dtypes.

    Example:
      >>> vector, unravel = ravel_pytree({"a": jnp.zeros(2), "b": 1.0})
      >>> vector.tolist()
      [0.0, 0.0, 1.0]
      >>> unravel(vector)["a"].shape
      (2,)
    """
    leaves, structure = tree.flatten(pytree)
    check_arraylike("ravel_pytree", *leaves)
    avals = [typeof(x) for x in leaves]
    dtype = result_type(*leaves) if leaves else dtypes.default_float()
    parts = [
        lax.reshape(lax.convert_element_type(x, dtype), (a.size,))
        for x, a in zip(leaves, avals, strict=True)
    ]
    vector = lax.concatenate(parts, 0) if parts else zeros(0, dtype)
    layout = _Layout(structure, tuple((a.shape, a.dtype) for a in avals), np.dtype(dtype))
    return vector, layout


class _Layout:
    """The way back: where each leaf lies in the vector. Equal layouts are equal functions."""

    __slots__ = ("dtype", "leaves", "sizes", "structure")

    def __init__(self, structure: Any, leaves: tuple[Any, ...], dtype: Any) -> None:
        self.structure = structure
        self.leaves = leaves
        self.dtype = dtype
        self.sizes = tuple(int(np.prod(shape, dtype=np.int64)) for shape, _ in leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.structure, self.leaves, self.dtype

    def __call__(self, vector: Array) -> Pytree:
        """Return the pytree that a vector stands for.

        Args:
          vector: [total size], of the common dtype.

        Raises:
          TypeError: the dtype differs.
          ValueError: the shape differs.
        """
        aval = typeof(vector)
        total = sum(self.sizes)
        if aval.shape != (total,):
            raise ValueError(
                f"unravel: given a vector of shape {aval.shape}, expected ({total},): the sizes of "
                "the leaves added up. Pass a vector that ravel_pytree of such a pytree gives."
            )
        if self.leaves and aval.dtype != self.dtype:
            raise TypeError(
                f"unravel: given a vector of {aval.dtype}, expected {self.dtype}: the common dtype "
                f"of the leaves. Convert it with vector.astype({str(self.dtype)!r})."
            )
        if not self.leaves:
            return self.structure.unflatten([])
        parts = lax.split(vector, self.sizes, 0)
        return self.structure.unflatten(
            [_as_leaf(p, *leaf) for p, leaf in zip(parts, self.leaves, strict=True)]
        )


def _as_leaf(part: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    with warnings.catch_warnings():
        # Real leaves beside complex ones: their imaginary parts are zero on the way in.
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return lax.convert_element_type(lax.reshape(part, shape), dtype)
