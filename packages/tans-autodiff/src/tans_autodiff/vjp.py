"""`vjp`: compute a function, and the object that pulls cotangents back."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import check_pair, check_reduce_axes, flatten_arguments, type_of_leaf
from tans_autodiff.backward_program import BackwardProgram
from tans_autodiff.jvp import Value, has_tangent
from tans_autodiff.linearize import Linearization, open_linearization
from tans_autodiff.residuals import NotNeeded, NotSaveable, mirror, spread_flags
from tans_autodiff.results import as_array
from tans_autodiff.split import close_program
from tans_autodiff.structured import opened
from tans_autodiff.vjp_object import VJP
from tans_core import dtypes, tree
from tans_core.context import Mask
from tans_core.debug_info import debug_info_of
from tans_core.jaxpr import ClosedJaxpr
from tans_core.state import transformed_names
from tans_core.tracebacks import api_boundary
from tans_core.zeros import Zero
from tans_xla.jit.signature import check_callable

type Function = Callable[..., Any]
type Pytree = Any


@api_boundary
def vjp(
    fun: Function,
    *primals: Pytree,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    saveable_args: Pytree = True,
    in_nzs: Pytree = None,
) -> Any:
    """Compute a function, and the object that pulls cotangents of its output back.

    Args:
      fun: takes the primals and returns a pytree of arrays of any shapes; with `has_aux`, a pair
        of that and any pytree.
      primals: arguments, pytrees of arrays of any shapes and dtypes.
      has_aux: whether `fun` returns ``(output, aux)``.
      reduce_axes: deprecated; leave empty.
      saveable_args: tree of bools, a prefix of the argument tuple: which arguments the VJP object
        may keep. Others are left out as `NotSaveable` and must be put back before the call.
      in_nzs: tree of bools, a prefix of the argument tuple: which arguments have a tangent; None
        means all.

    Returns:
      ``(output, f_vjp)`` or ``(output, f_vjp, aux)``; `f_vjp` is a `VJP`.

    Raises:
      TypeError: `fun` is not callable, or a leaf is not an array.
      ValueError: `saveable_args` or `in_nzs` doesn't fit the arguments.

    Example:
      >>> import tans_lax as lax
      >>> y, f_vjp = vjp(lax.mul, 2.0, 3.0)
      >>> [float(ct) for ct in f_vjp(1.0)]
      [3.0, 2.0]
    """
    check_callable("vjp", fun)
    check_reduce_axes("vjp", reduce_axes)
    return pullback(fun, primals, {}, has_aux, saveable_args, in_nzs)


def pullback(
    fun: Function,
    primals: tuple[Pytree, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    saveable_args: Pytree,
    in_nzs: Pytree,
) -> Any:
    """Do the work of `vjp`; keyword arguments are passed on to `fun`."""
    given, in_tree = flatten_arguments(primals)
    in_avals = tuple(type_of_leaf("vjp", x) for x in given)
    leaves = [as_array(x) for x in given]
    nonzero = tuple(has_tangent(a) for a in in_avals)
    if in_nzs is not None:
        wanted = spread_flags("in_nzs", in_nzs, primals)
        nonzero = tuple(a and b for a, b in zip(nonzero, wanted, strict=True))
    saveable = spread_flags("saveable_args", saveable_args, primals)
    running = open_linearization(leaves, nonzero)
    running.trace.origin = "vjp", fun
    aux = None
    with transformed_names("jvp"), running:
        out = fun(*in_tree.unflatten(running.inputs), **kwargs)
        if has_aux:
            out, aux = check_pair("vjp", out)
        outs, out_tree = tree.flatten(out)
        out_avals = tuple(type_of_leaf("vjp", x, "output") for x in outs)
    run = running.result(outs)
    nonzero_out, linear, residuals = close(run)
    linear, residuals, structure, entries = opened(linear, residuals, as_array)
    sources = argument_sources(residuals, leaves, given)
    args_res = saved_arguments(primals, leaves, residuals, sources, saveable)
    info = debug_info_of("vjp", fun)
    program = BackwardProgram(
        info.name,
        info.location,
        linear,
        sources,
        in_avals,
        nonzero,
        out_avals,
        nonzero_out,
        structure,
    )
    f_vjp = VJP(
        program,
        in_tree,
        out_tree,
        args_res,
        [r for r, s in zip(residuals, sources, strict=True) if s is None],
        entries,
    )
    result = out_tree.unflatten([as_array(x) for x in run.outs])
    return (result, f_vjp, tree.map(running.lower, aux)) if has_aux else (result, f_vjp)


def saved_arguments(
    primals: tuple[Pytree, ...],
    leaves: Sequence[Value],
    residuals: Sequence[Value],
    sources: Sequence[int | None],
    saveable: Sequence[bool],
) -> list[Pytree]:
    """Mirror the arguments: the value where it is a residual, a mark where it isn't or may not."""
    needed = {id(r) for r, s in zip(residuals, sources, strict=True) if s is not None}
    entries = iter(
        NotNeeded() if id(x) not in needed else x if save else NotSaveable()
        for x, save in zip(leaves, saveable, strict=True)
    )
    return [mirror(x, lambda: next(entries)) for x in primals]


def close(run: Linearization) -> tuple[Mask, ClosedJaxpr, list[Value]]:
    """Finish a linearisation.

    Returns:
      Which outputs have a tangent, the linear program ``(*residuals, *nonzero_tangents) ->
      (*nonzero_out_tangents)``, and the residuals' values.
    """
    nonzero_out = tuple(type(t) is not Zero for t in run.tangents)
    kept = [t for t, nz in zip(run.tangents, nonzero_out, strict=True) if nz]
    linear, residuals = close_program(run.split, kept, concrete=True)
    return nonzero_out, linear, [as_array(r) for r in residuals]


def argument_sources(
    residuals: Sequence[Value], arguments: Sequence[Value], given: Sequence[Value]
) -> tuple[int | None, ...]:
    """Say which residuals are arguments, by identity; Python numbers aren't kept as arguments.

    Args:
      residuals: what the backward pass reads.
      arguments: the arguments as arrays.
      given: the arguments as the caller passed them.
    """
    pairs = reversed(list(enumerate(zip(arguments, given, strict=True))))
    where = {id(x): i for i, (x, raw) in pairs if not dtypes.is_python_scalar(raw)}
    return tuple(where.get(id(r)) for r in residuals)
