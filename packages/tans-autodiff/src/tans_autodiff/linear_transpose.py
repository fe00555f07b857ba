"""`linear_transpose`: from a linear function to the one that maps cotangents back."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import (
    check_reduce_axes,
    dtype_of,
    flatten_arguments,
    how_to_convert,
    type_of_leaf,
)
from tans_autodiff.jvp import Value
from tans_autodiff.results import as_array, cotangent_result
from tans_autodiff.transpose import backward_pass
from tans_core import dtypes, tree
from tans_core.dtypes import float0
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr
from tans_core.staging import hoist_consts, trace_to_jaxpr
from tans_core.tracebacks import api_boundary
from tans_core.tree_util import Partial
from tans_core.types import AbstractValue, ShapedArray, same_but_weak
from tans_core.values import typeof
from tans_core.zeros import LinearInput, Zero
from tans_lax.rows import zeros_like_aval
from tans_xla.jit.signature import check_callable
from tans_xla.wide_arrays import fitting

type Function = Callable[..., Any]
type Pytree = Any


@api_boundary
def linear_transpose(fun: Function, *primals: Pytree, reduce_axes: Sequence[Any] = ()) -> Function:
    """Transpose a function that is linear.

    Args:
      fun: a linear function of the primals; added constants are ignored.
      primals: arguments; only their shapes and dtypes are read, so that `ShapeDtypeStruct`s do.
      reduce_axes: deprecated; leave empty.

    Returns:
      A function from a cotangent of the output to the tuple of cotangents of the primals, each
      with its primal's dtype.

    Raises:
      TypeError: integer and inexact types are mixed; the cotangent doesn't fit the output.
      NotImplementedError: `fun` isn't linear; the text names the operation.

    Example:
      >>> import tans_lax as lax
      >>> transposed = linear_transpose(lambda x, y: lax.sub(x, lax.mul(2.0, y)), 0.0, 0.0)
      >>> [float(ct) for ct in transposed(1.0)]
      [1.0, -2.0]
    """
    check_callable("linear_transpose", fun)
    check_reduce_axes("linear_transpose", reduce_axes)
    leaves, in_tree = flatten_arguments(primals)
    in_avals = [_type_of_struct(x) for x in leaves]
    out_tree: Any = None

    def flat(*args: Value) -> list[Value]:
        nonlocal out_tree
        outs, out_tree = tree.flatten(fun(*in_tree.unflatten(args)))
        return outs

    closed = trace_to_jaxpr(flat, in_avals)
    _check_linear_signature(in_avals, closed.out_avals)
    closed, consts = hoist_consts(closed)
    return Partial(_Transposed(closed, len(in_avals), in_tree, out_tree), *consts)


@dataclasses.dataclass(frozen=True, eq=False)
class _Transposed:
    closed: ClosedJaxpr  # (*constants, *linear inputs) -> outputs
    count: int
    in_tree: Any
    out_tree: Any

    @api_boundary
    def __call__(self, *consts_and_ct: Any) -> tuple[Pytree, ...]:
        *consts, out_ct = consts_and_ct
        cts, ct_tree = tree.flatten(out_ct)
        if ct_tree != self.out_tree:
            raise TypeError(
                message(
                    "transposed function",
                    f"a cotangent tree {ct_tree} that does not match the function output",
                    f"{self.out_tree}",
                    "Pass one cotangent per output, in the same containers.",
                )
            )
        out_avals = self.closed.out_avals
        cts = [fitting(ct, a.to_cotangent()) for ct, a in zip(cts, out_avals, strict=True)]
        for ct, aval in zip(cts, out_avals, strict=True):
            if not same_but_weak(typeof(ct), aval.to_cotangent()) and not _integers(aval):
                raise TypeError(
                    message(
                        "transposed function",
                        f"a cotangent of type {typeof(ct).str_short(False)}, which does not "
                        "match the function output",
                        aval.str_short(False),
                        how_to_convert("the cotangent", typeof(ct), aval.to_cotangent()),
                    )
                )
        in_avals = self.closed.in_avals[len(consts) :]
        inputs = [*consts, *(LinearInput(aval) for aval in in_avals)]
        results = backward_pass(self.closed, inputs, cts)
        return self.in_tree.unflatten(
            [_like_primal(ct, aval) for ct, aval in zip(results, in_avals, strict=True)]
        )


def _like_primal(ct: Value, aval: AbstractValue) -> Value:
    if _integers(aval):
        return as_array(zeros_like_aval(aval) if type(ct) is Zero else ct)
    return cotangent_result(ct, aval)


def _integers(aval: AbstractValue) -> bool:
    return dtype_of(aval) != float0 and not dtypes.is_inexact(dtype_of(aval))


def _type_of_struct(x: Any) -> AbstractValue:
    if not hasattr(x, "_trace") and type(x).__name__ == "ShapeDtypeStruct":
        return ShapedArray(x.shape, x.dtype, getattr(x, "weak_type", False))
    return type_of_leaf("linear_transpose", x)


def _check_linear_signature(
    in_avals: Sequence[AbstractValue], out_avals: Sequence[AbstractValue]
) -> None:
    ints = [_integers(a) for a in [*in_avals, *out_avals]]
    if any(ints) and not all(ints):
        shown = ", ".join(a.str_short(False) for a in in_avals)
        results = ", ".join(a.str_short(False) for a in out_avals)
        raise TypeError(
            message(
                "linear_transpose",
                f"a function ({shown}) -> ({results})",
                "only float, complex or float0 types, or only integer types",
                "Close over arguments of the other kind.",
            )
        )
