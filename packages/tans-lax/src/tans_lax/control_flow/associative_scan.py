"""`associative_scan`: all prefixes of a product, in parallel.

The recursion of Blelloch, "Prefix sums and their applications", 1990: combine neighbours, scan the
half as many products, and fill in the places between. Depth O(log n), O(n) combinations.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core import tree
from tans_core.errors import message
from tans_core.tree_paths import keystr
from tans_core.values import typeof
from tans_lax.concatenation import concatenate
from tans_lax.control_flow.carry import flatten_carry, shown
from tans_lax.control_flow.functions import Value, check_callable, describe
from tans_lax.shape import reshape, rev
from tans_lax.slicing import slice_in_dim
from tans_xla.sizes import is_symbolic

type Elements = Any
type Combine = Callable[[list[Value], list[Value]], list[Value]]


def associative_scan(
    fn: Callable[[Elements, Elements], Elements],
    elems: Elements,
    reverse: bool = False,
    axis: int = 0,
) -> Elements:
    """Combine elements from the first up to each one, with an associative function.

    Result i along `axis` is ``fn(...fn(fn(x[0], x[1]), x[2])..., x[i])``, computed by O(log n)
    levels of combinations that run in parallel.

    Args:
      fn: ``fn(a, b)`` combines two trees of the structure of `elems`, whose arrays hold several
        elements along `axis`; associative, and working element by element along `axis`.
      elems: tree of arrays of equal length n along `axis`.
      reverse: combine from the last element down to each one.
      axis: the dimension to scan along; negative counts from the last.

    Returns:
      Tree of arrays of the shapes of `elems`.

    Raises:
      NotImplementedError: the length is a symbolic size.
      TypeError: `fn` is not callable, or returns another structure or other types.
      ValueError: there are no arrays, `axis` is out of range, or lengths differ.

    Example:
      >>> import numpy as np
      >>> from tans_lax import mul
      >>> associative_scan(mul, np.array([1, 2, 3, 4], np.int32)).tolist()
      [1, 2, 6, 24]
    """
    check_callable(fn, "associative_scan", "fn")
    leaves, structure = flatten_carry("associative_scan", "elems", elems)
    axis = _check_axis(elems, leaves, axis)
    size = typeof(leaves[0]).shape[axis]  # pyright: ignore[reportAttributeAccessIssue]
    if is_symbolic(size):
        raise NotImplementedError(
            message(
                "associative_scan",
                f"an axis of the symbolic size '{size}'",
                "a size that is a number: the program has a level for each power of two in it",
                "Use scan, or lax.cumsum and its relatives, or a constant size.",
            )
        )
    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]

    def combine(a: list[Value], b: list[Value]) -> list[Value]:
        out = fn(tree.unflatten(structure, a), tree.unflatten(structure, b))
        given, out_structure = tree.flatten(out)
        if out_structure != structure:
            raise TypeError(
                message(
                    "associative_scan",
                    f"{describe(fn)} returning {out_structure}",
                    f"the structure of its arguments, {structure}",
                    "Return the containers and keys that the function receives.",
                )
            )
        _check_types(fn, a, given)
        return given

    outs = _scan(combine, leaves, axis)
    if reverse:
        outs = [rev(x, (axis,)) for x in outs]
    return tree.unflatten(structure, outs)


def _check_axis(elems: Elements, leaves: Sequence[Value], axis: int) -> int:
    shapes: list[tuple[int, ...]] = [typeof(x).shape for x in leaves]  # pyright: ignore[reportAttributeAccessIssue]
    if not leaves:
        raise ValueError(
            message("associative_scan", "no arrays", "at least one", "Pass an array to scan over.")
        )
    ndim = len(shapes[0])
    if not -ndim <= axis < ndim:
        raise ValueError(
            message(
                "associative_scan",
                f"axis={axis} for an array of shape {shapes[0]}",
                f"an axis from {-ndim} to {ndim - 1}" if ndim else "an array with a dimension",
                "Reshape a scalar to (1,) to scan over it.",
            )
        )
    axis %= ndim
    if any(len(s) <= axis or s[axis] != shapes[0][axis] for s in shapes):
        lines = [
            f"  elems{keystr(path)}: {shown(typeof(x))}"
            for path, x in tree.flatten_with_path(elems)[0]
        ]
        raise ValueError(
            f"associative_scan: expected arrays of one length along axis {axis}, given\n"
            + "\n".join(lines)
            + "\nBroadcast values that are the same for all elements, or capture them in fn."
        )
    return axis


def _check_types(fn: Any, given: Sequence[Value], returned: Sequence[Value]) -> None:
    for x, y in zip(given, returned, strict=True):
        a, b = typeof(x), typeof(y)
        if a.shape != b.shape:  # pyright: ignore[reportAttributeAccessIssue]
            raise TypeError(
                message(
                    "associative_scan",
                    f"{describe(fn)} that makes {shown(b)} of {shown(a)}",
                    "results of the shape of the arguments",
                    "The arguments hold several elements along the axis: write fn for arrays, or "
                    "use vmap.",
                )
            )


def _scan(combine: Combine, elems: list[Value], axis: int) -> list[Value]:
    n = typeof(elems[0]).shape[axis]  # pyright: ignore[reportAttributeAccessIssue]
    if n < 2:
        return elems
    pairs = combine(
        [slice_in_dim(x, 0, n - 1, 2, axis) for x in elems],
        [slice_in_dim(x, 1, n, 2, axis) for x in elems],
    )
    odd = _scan(combine, pairs, axis)
    first = [slice_in_dim(x, 0, 1, 1, axis) for x in elems]
    if n == 2:
        return [concatenate([f, o], axis) for f, o in zip(first, odd, strict=True)]
    # Results 2, 4, ... : the odd result before, combined with the element itself.
    last = n // 2 if n % 2 else n // 2 - 1
    before = [slice_in_dim(x, 0, last, 1, axis) for x in odd] if last < n // 2 else odd
    even = combine(before, [slice_in_dim(x, 2, n, 2, axis) for x in elems])
    return [_interleave(f, o, e, axis) for f, o, e in zip(first, odd, even, strict=True)]


def _interleave(first: Value, odd: Value, even: Value, axis: int) -> Value:
    """Return first, odd[0], even[0], odd[1], even[1], ... along `axis`."""
    count = typeof(odd).shape[axis]  # pyright: ignore[reportAttributeAccessIssue]
    if typeof(even).shape[axis] == count:  # pyright: ignore[reportAttributeAccessIssue]
        return concatenate([first, _alternate(odd, even, axis)], axis)
    return _alternate(concatenate([first, even], axis), odd, axis)


def _alternate(a: Value, b: Value, axis: int) -> Value:
    """Return a[0], b[0], a[1], b[1], ... along `axis`."""
    shape: tuple[int, ...] = typeof(a).shape  # pyright: ignore[reportAttributeAccessIssue]
    apart = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    both = concatenate([reshape(a, apart), reshape(b, apart)], axis + 1)
    return reshape(both, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))
