"""`vjp`, and the VJP object: a backward pass as a pytree of the values it reads."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import (
    check_callable,
    check_pair,
    check_reduce_axes,
    dtype_of,
    type_of_leaf,
)
from tans_autodiff.jvp import Value, has_tangent
from tans_autodiff.linearize import Linearization, open_linearization
from tans_autodiff.residuals import (
    NotNeeded,
    NotSaveable,
    is_mark,
    mirror,
    missing_text,
    spread_flags,
)
from tans_autodiff.results import as_array, cotangent_result
from tans_autodiff.split import close_program
from tans_autodiff.transpose import backward_pass
from tans_core import dtypes, tree
from tans_core.context import Mask
from tans_core.debug_info import debug_info_of
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr
from tans_core.tracebacks import api_boundary
from tans_core.tree_util import register_pytree_node
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import typeof
from tans_core.zeros import LinearInput, Zero

type Function = Callable[..., Any]
type Pytree = Any


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class BackwardProgram:
    """The static part of a VJP object.

    Attributes:
      name: the differentiated function and its place.
      linear: ``(*residuals, *nonzero_tangents) -> (*nonzero_out_tangents)``, without constants.
      sources: per residual the flat argument that it is, or None for an opaque residual.
      in_avals: types of the arguments.
      nonzero_in: which arguments have a tangent.
      out_avals: types of the outputs.
      nonzero_out: which outputs have a tangent.
    """

    name: str
    linear: ClosedJaxpr
    sources: tuple[int | None, ...]
    in_avals: tuple[AbstractValue, ...]
    nonzero_in: Mask
    out_avals: tuple[AbstractValue, ...]
    nonzero_out: Mask


@dataclasses.dataclass(eq=False)
class VJP:
    """The backward pass of a function at a point, as returned by `vjp`.

    It is a pytree whose leaves are the saved values, so it passes through ``jit``, ``scan``,
    ``vmap`` and ``device_put``. Call it with a cotangent of the output to get a tuple of
    cotangents of the arguments.

    Attributes:
      fun: static backward program.
      in_tree: structure of the argument tuple.
      out_tree: structure of the output.
      args_res: one entry per argument, mirroring it: the argument's value where the backward pass
        needs it, `NotNeeded` or `NotSaveable` elsewhere.
      opaque_residuals: other values computed by the forward pass.
      structured_residuals: one entry per equation with a channel of its own.
      want_logs: whether calls return logs.
    """

    fun: BackwardProgram
    in_tree: Any
    out_tree: Any
    args_res: list[Pytree]
    opaque_residuals: list[Value]
    structured_residuals: list[Pytree] = dataclasses.field(default_factory=list)
    want_logs: bool = False

    @api_boundary
    def __call__(self, out_ct: Pytree, *extra: Any) -> Any:
        """Return the cotangents of the arguments.

        Args:
          out_ct: cotangent of the output: its structure, shapes and dtypes.
          *extra: nothing; other arguments are an error.

        Returns:
          A tuple of cotangents with the arguments' structure; with `want_logs`, a pair of that and
          a dict.

        Raises:
          TypeError: more than one argument.
          ValueError: the cotangent doesn't fit the output, or a residual was not restored.
        """
        if extra:
            raise TypeError(
                message(
                    "VJP function",
                    f"{1 + len(extra)} arguments",
                    "one, with the structure of the output",
                    f"The function returned by `jax.vjp` for {self.fun.name} was called with "
                    f"{1 + len(extra)} arguments but takes a single argument; pass a tuple for a "
                    "tuple of outputs.",
                )
            )
        cts = self._check_cotangents(out_ct)
        program = self.fun
        inputs: list[Any] = self._residuals()
        inputs += [
            LinearInput(aval.to_tangent())
            for aval, nz in zip(program.in_avals, program.nonzero_in, strict=True)
            if nz
        ]
        used = [ct for ct, nz in zip(cts, program.nonzero_out, strict=True) if nz]
        results = iter(backward_pass(program.linear, inputs, used))
        cts_in = [
            cotangent_result(next(results) if nz else Zero(aval), aval)
            for aval, nz in zip(program.in_avals, program.nonzero_in, strict=True)
        ]
        arguments_cts = self.in_tree.unflatten(cts_in)
        # No equation of the linear programs so far writes logs.
        return (arguments_cts, {}) if self.want_logs else arguments_cts

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The linear program: residuals, then tangents."""
        return self.fun.linear

    @property
    def out_nzs(self) -> Pytree:
        """Tree of bools like the output: where the tangent may be nonzero."""
        return self.out_tree.unflatten(self.fun.nonzero_out)

    @property
    def with_logs(self) -> "VJP":
        """A copy whose calls return logs too."""
        return self.replace(want_logs=True)

    def replace(self, **fields: Any) -> "VJP":
        """Return a copy with some fields replaced.

        Raises:
          TypeError: there is no such field.
        """
        return dataclasses.replace(self, **fields)

    def _residuals(self) -> list[Value]:
        leaves = tree.leaves(self.args_res, is_leaf=is_mark)
        sources = self.fun.sources
        if any(s is not None and type(leaves[s]) is NotSaveable for s in sources):
            raise ValueError(missing_text(self.args_res, self.fun.name))
        opaque = iter(self.opaque_residuals)
        return [next(opaque) if s is None else leaves[s] for s in sources]

    def _check_cotangents(self, out_ct: Pytree) -> list[Value]:
        leaves, treedef = tree.flatten(out_ct)
        if treedef != self.out_tree:
            raise ValueError(
                message(
                    f"VJP function of {self.fun.name}",
                    f"a cotangent with unexpected tree structure {treedef}",
                    f"the structure of the output, {self.out_tree}",
                    "Pass one cotangent per output, in the output's containers.",
                )
            )
        return [
            _check_cotangent(self.fun.name, i, ct, aval)
            for i, (ct, aval) in enumerate(zip(leaves, self.fun.out_avals, strict=True))
        ]


def _check_cotangent(name: str, index: int, ct: Value, out_aval: AbstractValue) -> Value:
    expected = out_aval.to_cotangent()
    given = typeof(ct) if getattr(ct, "dtype", None) != dtypes.float0 else None
    if given is not None and same_but_weak(given, expected):
        return ct
    if dtype_of(expected) == dtypes.float0:
        if getattr(ct, "shape", ()) == expected.shape:  # pyright: ignore[reportAttributeAccessIssue]
            return Zero(expected)
        given = given or expected
    shown = given.str_short(False) if given is not None else f"float0{list(ct.shape)}"
    raise ValueError(
        message(
            f"VJP function of {name}",
            f"a cotangent of unexpected JAX type (e.g. shape/dtype) for output {index}: {shown}",
            f"{expected.str_short(False)}, because that output had type "
            f"{out_aval.str_short(False)}",
            "Convert the cotangent with .astype or .reshape.",
        )
    )


def _flatten_vjp(v: VJP) -> tuple[Any, Any]:
    children = (v.args_res, v.opaque_residuals, v.structured_residuals)
    return children, (v.fun, v.in_tree, v.out_tree, v.want_logs)


def _unflatten_vjp(static: Any, children: Any) -> VJP:
    fun, in_tree, out_tree, want_logs = static
    args_res, opaque, structured = children
    return VJP(fun, in_tree, out_tree, args_res, opaque, structured, want_logs)


register_pytree_node(VJP, _flatten_vjp, _unflatten_vjp)


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
    given, in_tree = tree.flatten(primals)
    in_avals = tuple(type_of_leaf("vjp", x) for x in given)
    leaves = [as_array(x) for x in given]
    nonzero = tuple(has_tangent(a) for a in in_avals)
    if in_nzs is not None:
        wanted = spread_flags("in_nzs", in_nzs, primals)
        nonzero = tuple(a and b for a, b in zip(nonzero, wanted, strict=True))
    saveable = spread_flags("saveable_args", saveable_args, primals)
    running = open_linearization(leaves, nonzero)
    aux = None
    with running:
        out = fun(*in_tree.unflatten(running.inputs), **kwargs)
        if has_aux:
            out, aux = check_pair("vjp", out)
        outs, out_tree = tree.flatten(out)
        out_avals = tuple(type_of_leaf("vjp", x, "output") for x in outs)
    run = running.result(outs)
    nonzero_out, linear, residuals = close(run)
    sources = argument_sources(residuals, leaves, given)
    needed = {id(r) for r, s in zip(residuals, sources, strict=True) if s is not None}
    entries = iter(
        NotNeeded() if id(x) not in needed else x if save else NotSaveable()
        for x, save in zip(leaves, saveable, strict=True)
    )
    program = BackwardProgram(
        debug_info_of("vjp", fun).name, linear, sources, in_avals, nonzero, out_avals, nonzero_out
    )
    f_vjp = VJP(
        program,
        in_tree,
        out_tree,
        [mirror(x, lambda: next(entries)) for x in primals],
        [r for r, s in zip(residuals, sources, strict=True) if s is None],
    )
    result = out_tree.unflatten([as_array(x) for x in run.outs])
    return (result, f_vjp, tree.map(running.lower, aux)) if has_aux else (result, f_vjp)


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
