"""`jacfwd`, `jacrev`, `jacobian` and `hessian`: derivatives of functions with array results."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
from tans_autodiff.arguments import (
    Argnums,
    canonical_argnums,
    check_grad_input,
    check_grad_output,
    dtype_of,
    positions,
    put,
    type_of_leaf,
)
from tans_autodiff.forward import jvp
from tans_autodiff.vjp import pullback
from tans_batching import vmap
from tans_core import dtypes, tree
from tans_core.dtypes import float0
from tans_core.errors import message
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import named_sharding
from tans_core.tracebacks import api_boundary
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_lax.mesh import reshard_array
from tans_lax.mesh.states import vary_like
from tans_lax.rows import zeros_like_aval
from tans_lax.sizes import size_value
from tans_xla.jit.signature import check_callable
from tans_xla.sizes import Size, has_symbolic

type Function = Callable[..., Any]
type Pytree = Any


def jacfwd(
    fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function that computes the Jacobian column by column, in forward mode.

    Best when there are fewer inputs than outputs.

    Args:
      fun: takes arrays (or pytrees of them) of any shape and returns a pytree of arrays; with
        `has_aux`, a pair of that and any pytree.
      argnums: position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns ``(output, aux)``.
      holomorphic: promise that `fun` is holomorphic; inputs are then complex.

    Returns:
      A function with the arguments of `fun`. Its result has the tree of the output, in each leaf
      the tree of the argument (a tuple over `argnums` when that is a sequence), and leaves of
      shape ``out.shape + in.shape``. With `has_aux` it returns ``(jacobian, aux)``.

    Raises:
      TypeError: an input is not real (not complex under `holomorphic`).

    Example:
      >>> import tans_lax as lax
      >>> jacfwd(lambda x: (lax.sin(x), lax.mul(2.0, x)))(0.0)
      (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable("jacfwd", fun)
    nums = canonical_argnums("jacfwd", argnums)

    @api_boundary
    @functools.wraps(fun)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        where = positions("jacfwd", nums, len(args))
        inputs = tuple(args[i] for i in where)
        leaves = tree.leaves(inputs)
        for x in leaves:
            _check_forward_input(type_of_leaf("jacfwd", x), holomorphic)

        def of_selected(*selected: Any) -> Any:
            return fun(*put(args, where, selected), **kwargs)

        def push(tangents: tuple[Pytree, ...]) -> Any:
            return jvp(of_selected, inputs, tangents, has_aux)

        aux, columns = _push_basis(push, inputs, has_aux)
        example = args[where[0]] if isinstance(nums, int) else inputs
        jacobian = tree.map(lambda y: _unstack(example, y, -1), columns)
        return (jacobian, aux) if has_aux else jacobian

    return jacobian_of


def _push_basis(push: Function, inputs: tuple[Pytree, ...], has_aux: bool) -> tuple[Any, Any]:
    basis = _standard_basis(inputs)
    if has_aux:
        aux, y_dot = vmap(lambda t: push(t)[:0:-1], out_axes=(None, -1))(basis)
        return aux, y_dot
    # The primal output isn't asked for: it is mapped too when the function makes refs.
    return None, vmap(lambda t: push(t)[1], out_axes=-1)(basis)


def jacrev(
    fun: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Function:
    """Return a function that computes the Jacobian row by row, in reverse mode.

    Best when there are fewer outputs than inputs.

    Args:
      fun: as for `jacfwd`.
      argnums: as for `jacfwd`.
      has_aux: as for `jacfwd`.
      holomorphic: promise that `fun` is holomorphic; outputs are then complex.
      allow_int: accept integer inputs; their part of the Jacobian is zeros of the input's dtype.

    Returns:
      As for `jacfwd`.

    Raises:
      TypeError: an output is not real (not complex under `holomorphic`), or an input is not
        inexact.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> jacrev(lax.square)(np.array([1.0, 3.0], np.float32))
      Array([[2., 0.],
             [0., 6.]], dtype=float32)
    """
    check_callable("jacrev", fun)
    nums = canonical_argnums("jacrev", argnums)

    @api_boundary
    @functools.wraps(fun)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        where = positions("jacrev", nums, len(args))
        inputs = tuple(args[i] for i in where)
        for x in tree.leaves(inputs):
            check_grad_input("jacrev", type_of_leaf("jacrev", x), holomorphic, allow_int)

        def of_selected(*selected: Any) -> Any:
            return fun(*put(args, where, selected), **kwargs)

        y, f_vjp, *aux = pullback(of_selected, inputs, {}, has_aux, True, None)
        for leaf in tree.leaves(y):
            check_grad_output("jacrev", typeof(leaf), holomorphic)
        rows = vmap(f_vjp)(_standard_basis(y))
        example = args[where[0]] if isinstance(nums, int) else inputs
        jacobian = _rows_by_output(y, rows[0] if isinstance(nums, int) else rows, example)
        return (jacobian, aux[0]) if has_aux else jacobian

    return jacobian_of


jacobian = jacrev


def hessian(
    fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function that computes the Hessian: `jacfwd` of `jacrev`.

    Args:
      fun: takes arrays of any shape and returns a pytree of arrays, usually one scalar; with
        `has_aux`, a pair of that and any pytree.
      argnums: position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns ``(output, aux)``.
      holomorphic: promise that `fun` is holomorphic.

    Returns:
      A function with the arguments of `fun`. Its result nests the trees of output, argument and
      argument; leaves have shape ``out.shape + in.shape + in.shape``.

    Raises:
      TypeError: as for `jacfwd` and `jacrev`.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> hessian(lambda w: lax.dot(w, w))(np.zeros(2, np.float32))
      Array([[2., 0.],
             [0., 2.]], dtype=float32)
    """
    inner = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic)


def _check_forward_input(aval: AbstractValue, holomorphic: bool) -> None:
    if holomorphic:
        check_grad_input("jacfwd", aval, True, False)
    elif not dtypes.is_inexact(dtype_of(aval)) or dtypes.is_complex(dtype_of(aval)):
        raise TypeError(
            message(
                "jacfwd",
                f"an input of type {aval.str_short(False)}",
                "a real floating-point dtype",
                "Pass holomorphic=True if the function is holomorphic; if not, take single "
                "directions with jvp.",
            )
        )


def _standard_basis(template: Pytree) -> Pytree:
    """Return the unit vectors of a tree of arrays, stacked along a leading axis."""
    leaves, treedef = tree.flatten(template)
    avals = [typeof(x) for x in leaves]
    total = sum(aval.size for aval in avals)  # pyright: ignore[reportAttributeAccessIssue]
    basis, row = [], 0
    for aval in avals:
        size, shape, dtype = aval.size, aval.shape, aval.to_tangent().dtype  # pyright: ignore[reportAttributeAccessIssue]
        if dtype == float0:
            basis.append(np.zeros((total, *shape), float0))
        else:
            block = _unit_rows(total, size, row, dtype)
            basis.append(_lying_like(block.reshape(total, *shape), aval))
        row += size
    return treedef.unflatten(basis)


def _unit_rows(total: Size, size: Size, row: Size, dtype: Any) -> Any:
    """Return rows of zeros, but for the unit vectors that start at one of them."""
    if has_symbolic((total, size, row)):
        int32 = np.dtype(np.int32)
        rows = lax.broadcasted_iota(int32, (total, size), 0)
        columns = lax.broadcasted_iota(int32, (total, size), 1)
        ones = lax.eq(lax.sub(rows, size_value(row, int32)), columns)
        return lax.convert_element_type(ones, dtype)
    block = np.zeros((total, size), dtype)
    block[row : row + size] = np.eye(size, dtype=dtype)
    return block


def _lying_like(rows: Any, aval: Any) -> Any:
    """Give stacked unit vectors the sharding of the type of one of them."""
    if aval.is_sharded and any(p is not None for p in aval.sharding.spec.partitions):
        spec = PartitionSpec(None, *aval.sharding.spec.partitions)
        rows = reshard_array(rows, named_sharding(aval.sharding.mesh, spec))
    return vary_like(rows, aval) if aval.manual_axes else rows


def _unstack(template: Pytree, stacked: Any, axis: int) -> Pytree:
    """Split the basis axis of an array into a tree like the template."""
    leaves, treedef = tree.flatten(template)
    axis %= stacked.ndim
    before, after = stacked.shape[:axis], stacked.shape[axis + 1 :]
    parts, start = [], 0
    for x in leaves:
        aval = typeof(x)
        size, shape = aval.size, aval.shape  # pyright: ignore[reportAttributeAccessIssue]
        part = lax.slice_in_dim(stacked, start, start + size, axis=axis)
        parts.append(lax.reshape(part, (*before, *shape, *after)))
        start += size
    return treedef.unflatten(parts)


def _rows_by_output(y: Pytree, rows: Pytree, inputs: Pytree) -> Pytree:
    """Turn a tree (input) of stacked rows into a tree (output, input)."""
    row_leaves, in_tree = tree.flatten(rows)
    in_avals = [typeof(x) for x in tree.leaves(inputs)]
    out_leaves, out_tree = tree.flatten(y)
    blocks: list[list[Any]] = [
        tree.leaves(_unstack(y, _not_float0(x, aval), 0))
        for x, aval in zip(row_leaves, in_avals, strict=True)
    ]
    return out_tree.unflatten(
        [in_tree.unflatten([block[i] for block in blocks]) for i in range(len(out_leaves))]
    )


def _not_float0(x: Any, aval: AbstractValue) -> Any:
    if x.dtype != float0:
        return x
    return zeros_like_aval(aval.update(shape=x.shape))  # pyright: ignore[reportAttributeAccessIssue]
