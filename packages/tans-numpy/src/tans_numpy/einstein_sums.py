"""`einsum`: sums of products in Einstein's notation; opt_einsum plans the order."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import opt_einsum

import tans_lax as lax
from tans_core import typeof
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_lax.mesh.specs import before_transpose
from tans_numpy.creation import requested_dtype
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes
from tans_xla import composite
from tans_xla.sizes import typical_size

type Array = Any
type Step = tuple[tuple[int, ...], str]


class _Shaped:
    """A shape in the place of an array; all that the planner needs."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


@functools.lru_cache(maxsize=1024)
def plan(subscripts: str, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> tuple[Step, ...]:
    """Return the pairwise contractions, as (operand positions, subscripts)."""
    kind = "optimal" if optimize is True else "auto" if optimize is False else optimize
    operands = [_Shaped(tuple(map(typical_size, s))) for s in shapes]
    _, info = opt_einsum.contract_path(subscripts, *operands, optimize=kind, einsum_call=True)
    return tuple((tuple(step[0]), step[2]) for step in info)


@functools.lru_cache(maxsize=2048)
def _explicit(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> str:
    try:
        inputs, output, _ = opt_einsum.parser.parse_einsum_input(
            (subscripts, *(_Shaped(s) for s in shapes))
        )
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(
            f"einsum: given the subscripts {subscripts!r} for operands with shapes {shapes}; "
            f"expected one letter per dimension, as in 'ij,jk->ik' ({error})."
        ) from None
    _check_sizes(inputs, shapes, subscripts)
    return f"{inputs}->{output}"


def _check_sizes(inputs: str, shapes: tuple[tuple[int, ...], ...], subscripts: str) -> None:
    sizes: dict[str, int] = {}
    for i, (names, shape) in enumerate(zip(inputs.split(","), shapes, strict=True)):
        if len(names) != len(shape):
            raise ValueError(
                f"einsum: operand {i} has shape {shape}, but {subscripts!r} names {len(names)} "
                "dimensions for it; expected one letter per dimension."
            )
        for name, size in zip(names, shape, strict=True):
            if size != 1 and sizes.setdefault(name, size) not in (1, size):
                raise ValueError(
                    f"einsum: index {name!r} has size {sizes[name]} and, in operand {i} with shape "
                    f"{shape}, size {size}; expected one size per letter."
                )


def einsum(
    subscripts: str, /, *operands: ArrayLike, out: None = None, optimize: Any = "auto",
    precision: Any = None, preferred_element_type: Any = None, _dot_general: Any = None,
    out_sharding: Any = None,
) -> Array:  # fmt: skip
    """Sum products of array elements, written in Einstein's notation.

    Args:
      subscripts: such as ``'ij,jk->ik'``; or operands and index lists in turn, as in NumPy.
      *operands: arrays, one per group of indices.
      out: not supported.
      optimize: how opt_einsum orders the contractions.
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.
      _dot_general: replaces `lax.dot_general` for each contraction.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: subscripts and shapes do not fit.

    Example:
      >>> einsum("ij,j->i", jnp.ones((2, 3)), jnp.arange(3.0))
      Array([3., 3.], dtype=float32)

    References:
      Smith and Gray, "opt_einsum", Journal of Open Source Software, 2018.
    """
    if out is not None:
        raise NotImplementedError("einsum: given out=, expected None: arrays can't be written to.")
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists(subscripts, operands)
    check_arraylike("einsum", *operands)
    preferred = (
        None if preferred_element_type is None
        else requested_dtype(preferred_element_type, "einsum")
    )  # fmt: skip
    if not isinstance(out_sharding, PartitionSpec | NamedSharding | None):
        raise TypeError(
            f"einsum: given out_sharding={out_sharding!r} of type {type(out_sharding).__name__}, "
            "expected a PartitionSpec or a NamedSharding. Write P('x', None)."
        )
    return _einsum(
        tuple(operands), subscripts=subscripts, optimize=_order(optimize), precision=precision,
        preferred=preferred, dot_general=_dot_general, out_sharding=out_sharding,
    )  # fmt: skip


def _order(optimize: Any) -> Any:
    """Return how to order the contractions as a key of caches."""
    if optimize is None:
        return "auto"
    if isinstance(optimize, str | bool):
        return optimize
    steps = tuple(map(tuple, optimize))
    if any(len(step) > 2 for step in steps):
        raise NotImplementedError(
            f"einsum: given optimize={optimize!r}, expected steps of at most two operands. Split "
            "the longer steps, or leave optimize out."
        )
    return steps


def _from_lists(first: Any, rest: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    items = [first, *rest]
    output = items.pop() if len(items) % 2 else None
    lists = [*items[1::2], *([] if output is None else [output])]
    found = {index for indices in lists for index in indices if index is not Ellipsis}
    try:
        # Without a list for the output, its dimensions are in the order of the indices.
        names = {index: opt_einsum.get_symbol(n) for n, index in enumerate(sorted(found))}
    except TypeError:
        raise TypeError(
            f"einsum: given the indices {found}, expected ones that can be compared with each "
            "other. Number them."
        ) from None

    def letters(indices: Any) -> str:
        return "".join("..." if index is Ellipsis else names[index] for index in indices)

    inputs = ",".join(letters(i) for i in items[1::2])
    text = inputs if output is None else f"{inputs}->{letters(output)}"
    return text, tuple(items[::2])


def einsum_path(subscripts: str, /, *operands: ArrayLike, optimize: Any = "auto") -> Any:
    """Return the order of contractions that `einsum` uses, and its printed cost."""
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists(subscripts, operands)
    if optimize is False:  # from left to right
        optimize = [(0, 1)] * (len(operands) - 1) or [(0,)]
    shaped = [np.broadcast_to(np.float32(0), typeof(x).shape) for x in operands]
    path, info = opt_einsum.contract_path(
        subscripts, *shaped, optimize="auto" if optimize is None else optimize
    )
    return path, info


@composite(
    static_argnames=(
        "subscripts", "optimize", "precision", "preferred", "dot_general", "out_sharding",
    )
)  # fmt: skip
def _einsum(
    operands: tuple[Array, ...], *, subscripts: str, optimize: Any, precision: Any, preferred: Any,
    dot_general: Any, out_sharding: Any,
) -> Array:  # fmt: skip
    shapes = tuple(typeof(x).shape for x in operands)
    text = _explicit(subscripts, shapes)
    stack = list(promote_dtypes("einsum", *operands))
    dtype = typeof(stack[0]).dtype if preferred is None else preferred
    weak = preferred is None and all(typeof(x).weak_type for x in stack)
    accumulated = None if weak else dtype  # a dtype that is asked for is strong
    product = dot_general or lax.dot_general
    steps = list(plan(text, shapes, optimize))
    for number, (positions, step) in enumerate(steps):
        wanted = out_sharding if number == len(steps) - 1 else None
        inputs, _, output = step.partition("->")
        taken = [stack.pop(i) for i in sorted(positions, reverse=True)]
        taken = [taken[sorted(positions, reverse=True).index(i)] for i in positions]
        names = inputs.split(",")
        if len(taken) == 1:
            stack.append(_one(taken[0], names[0], output, wanted))
        else:
            stack.append(_two(taken, names, output, precision, accumulated, product, wanted))
    (out,) = stack
    return out if typeof(out).dtype == dtype else lax.convert_element_type(out, dtype)


def _added(x: Array, axes: tuple[int, ...], **options: Any) -> Array:
    """Sum along axes; of booleans, whether one is True, as a product of booleans gives."""
    if typeof(x).dtype == np.bool_:
        return lax.reduce_or(x, axes)
    return lax.reduce_sum(x, axes, **options)


def _one(x: Array, names: str, output: str, out_sharding: Any) -> Array:
    """Take diagonals, sum what the output lacks, and transpose."""
    x, names = _diagonals(x, names)
    summed = tuple(i for i, name in enumerate(names) if name not in output)
    if summed:
        names = "".join(name for name in names if name in output)
        wanted = before_transpose(out_sharding, [names.index(name) for name in output])
        x = _added(x, summed, out_sharding=wanted)
    return _ordered(x, names, output)


def _diagonals(x: Array, names: str) -> tuple[Array, str]:
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            i = names.index(name)
            j = names.index(name, i + 1)
            shape = typeof(x).shape
            rows = lax.broadcasted_iota(np.dtype(np.int32), shape, i)
            columns = lax.broadcasted_iota(np.dtype(np.int32), shape, j)
            x = lax.select(lax.eq(rows, columns), x, lax.full_like(x, 0))
            gone = i if shape[i] == 1 else j  # a size of 1 is repeated
            x = _added(x, (gone,))
            names = names[:gone] + names[gone + 1 :]
    return x, names


def _ordered(x: Array, names: str, output: str) -> Array:
    order = tuple(names.index(name) for name in output)
    return x if order == tuple(range(len(order))) else lax.transpose(x, order)


def _two(
    operands: list[Array], names: list[str], output: str, precision: Any, dtype: Any, product: Any,
    out_sharding: Any,
) -> Array:  # fmt: skip
    (lhs, rhs), (lhs_names, rhs_names) = operands, names
    lhs, lhs_names = _diagonals(lhs, lhs_names)
    rhs, rhs_names = _diagonals(rhs, rhs_names)
    lhs, lhs_names, rhs, rhs_names = _without_ones(lhs, lhs_names, rhs, rhs_names)
    lhs, lhs_names = _alone(lhs, lhs_names, rhs_names, output)
    rhs, rhs_names = _alone(rhs, rhs_names, lhs_names, output)
    shared = [n for n in lhs_names if n in rhs_names]
    batch = [n for n in shared if n in output]
    contracted = [n for n in shared if n not in output]
    numbers = (
        (tuple(map(lhs_names.index, contracted)), tuple(map(rhs_names.index, contracted))),
        (tuple(map(lhs_names.index, batch)), tuple(map(rhs_names.index, batch))),
    )
    rest_lhs = [n for n in lhs_names if n not in shared]
    rest_rhs = [n for n in rhs_names if n not in shared]
    natural = "".join([*batch, *rest_lhs, *rest_rhs])
    swapped = "".join([*batch, *rest_rhs, *rest_lhs])
    if swapped == output and natural != output:
        # The operands in the other order need no transposition of the result.
        numbers = tuple((b, a) for a, b in numbers)
        lhs, rhs, natural = rhs, lhs, swapped
    options = {"precision": precision, "preferred_element_type": dtype}
    if out_sharding is not None:
        order = [natural.index(name) for name in output]
        options["out_sharding"] = before_transpose(out_sharding, order)
    out = product(lhs, rhs, numbers, **options)
    return _ordered(out, natural, output)


def _alone(x: Array, names: str, other: str, output: str) -> tuple[Array, str]:
    """Sum dimensions that neither the other operand nor the output has."""
    summed = tuple(i for i, n in enumerate(names) if n not in other and n not in output)
    if summed:
        x = _added(x, summed)
        names = "".join(n for i, n in enumerate(names) if i not in summed)
    return x, names


def _without_ones(lhs: Array, lhs_names: str, rhs: Array, rhs_names: str) -> Any:
    """Drop a dimension of size 1 that the other operand has with another size."""
    for name in [n for n in lhs_names if n in rhs_names]:
        i, j = lhs_names.index(name), rhs_names.index(name)
        m, n = typeof(lhs).shape[i], typeof(rhs).shape[j]
        if m == 1 and n != 1:
            lhs = lax.squeeze(lhs, (i,))
            lhs_names = lhs_names[:i] + lhs_names[i + 1 :]
        elif n == 1 and m != 1:
            rhs = lax.squeeze(rhs, (j,))
            rhs_names = rhs_names[:j] + rhs_names[j + 1 :]
    return lhs, lhs_names, rhs, rhs_names
