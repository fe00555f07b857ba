"""`map`: apply a function to the elements of arrays one after another, or in batches."""

from collections.abc import Callable
from typing import Any

from tans_batching.vmap import vmap
from tans_core import tree
from tans_core.errors import message
from tans_core.values import typeof
from tans_lax.concatenation import concatenate
from tans_lax.control_flow.scan import scan
from tans_lax.shape import reshape
from tans_lax.slicing import slice_in_dim

type Tree = Any


def map(f: Callable[[Any], Any], xs: Tree, *, batch_size: int | None = None) -> Tree:
    """Apply a function to each element along the first axis of arrays, in a compiled loop.

    Args:
      f: takes one element (a tree like `xs`, without the first axis) and returns a tree of arrays.
      xs: tree of arrays with first axes of one length n.
      batch_size: number of elements done at once with `vmap` in each step of the loop; None or 0
        does one at a time. What is left over at the end is one smaller batch.

    Returns:
      A tree like the result of `f`, whose arrays have a first axis of length n.

    Raises:
      ValueError: the first axes differ in length, there is nothing to map over, or `batch_size` is
        negative.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> map(lambda x: lax.mul(x, x), np.arange(5.0), batch_size=2)
      Array([ 0.,  1.,  4.,  9., 16.], dtype=float32)
    """
    if not batch_size:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    if batch_size < 0:
        raise ValueError(
            message(
                "map",
                f"batch_size={batch_size}",
                "a positive number of elements, or None",
                "Pass None to do one element at a time.",
            )
        )
    length = _length(xs)
    whole = length // batch_size * batch_size
    parts = []
    if whole or not length:
        parts.append(_in_batches(f, xs, whole, batch_size))
    if whole < length:
        parts.append(vmap(f)(tree.map(lambda x: slice_in_dim(x, whole, length), xs)))
    if len(parts) == 1:
        return parts[0]
    return tree.map(lambda *pieces: concatenate(pieces, 0), *parts)


def _in_batches(f: Callable[[Any], Any], xs: Tree, whole: int, batch_size: int) -> Tree:
    """Map over the first `whole` elements, a multiple of the batch size."""
    steps = whole // batch_size

    def into_batches(x: Any) -> Any:
        shape = typeof(x).shape  # type: ignore[union-attr]
        x = x if shape[0] == whole else slice_in_dim(x, 0, whole)
        return reshape(x, (steps, batch_size, *shape[1:]))

    def out_of_batches(y: Any) -> Any:
        return reshape(y, (whole, *typeof(y).shape[2:]))  # type: ignore[union-attr]

    ys = scan(lambda _, batch: ((), vmap(f)(batch)), (), tree.map(into_batches, xs))[1]
    return tree.map(out_of_batches, ys)


def _length(xs: Tree) -> int:
    sizes = {}
    for path, x in tree.leaves_with_path(xs):
        shape = typeof(x).shape  # type: ignore[union-attr]
        name = "xs" + "".join(str(key) for key in path)
        sizes.setdefault(shape[0] if shape else None, f"{name} of shape {shape}")
    if len(sizes) == 1 and None not in sizes:
        return next(iter(sizes))
    found = " and ".join(sizes.values()) or "no arrays"
    raise ValueError(
        message(
            "map",
            found,
            "arrays whose first axes have one length",
            "Close over the values that each element shares: lambda x: f(x, other).",
        )
    )
