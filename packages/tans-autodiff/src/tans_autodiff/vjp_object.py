"""The VJP object: a backward pass as a pytree of the values it reads."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.accumulation import Logs, contents_type
from tans_autodiff.arguments import dtype_of, how_to_convert
from tans_autodiff.backward_program import BackwardProgram, described
from tans_autodiff.jvp import Value
from tans_autodiff.ref_entries import (
    backward_inputs,
    check_entries,
    check_no_ref_arguments,
    entry_result,
)
from tans_autodiff.residual_table import ResidualTable, bytes_of
from tans_autodiff.residuals import NotSaveable, argument_path, is_mark, missing_text
from tans_autodiff.structured import given_back
from tans_autodiff.transpose import backward_pass
from tans_core import dtypes, tree
from tans_core.errors import message
from tans_core.hi_types import is_hi_type
from tans_core.jaxpr import ClosedJaxpr
from tans_core.tracebacks import api_boundary
from tans_core.tree_util import register_pytree_node
from tans_core.types import AbstractValue, ShapedArray, same_but_weak
from tans_core.values import is_value, typeof
from tans_core.zeros import LinearInput, Zero
from tans_xla.wide_arrays import fitting

type Pytree = Any


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
        needs it, `NotNeeded` or `NotSaveable` elsewhere. Assign to it, or to the lists and dicts
        inside it, to put values back; a tuple inside is assigned as a whole.
      opaque_residuals: other values computed by the forward pass.
      structured_residuals: values that rules of user primitives named, one entry per equation
        that saves some; exchange them, as with `replace`, to change what the backward pass reads.
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
          ValueError: the cotangent doesn't fit the output, a residual was not restored, or it has
            the wrong type.
        """
        if extra:
            raise TypeError(
                message(
                    "VJP function",
                    f"{1 + len(extra)} arguments",
                    "one, with the structure of the output",
                    f"Where {self.fun.name} returns a tuple, pass its cotangents as one tuple: "
                    "f_vjp((a, b)).",
                )
            )
        check_no_ref_arguments(self.fun, self.in_tree)
        return self._pull(out_ct, None)

    def with_refs(self, *entries: Pytree) -> Callable[[Pytree], Any]:
        """Say what is to become of each gradient.

        Args:
          *entries: one tree per argument, like the arguments. A leaf is a ref of the gradient's
            type, which the gradient is added to in place; ``GradValue()``, for a gradient to
            return; or ``DontWant()``, for one not to compute.

        Returns:
          A function from a cotangent of the output to a tuple like that of a call: gradients,
          ``GradRef()`` where one was added to a ref, ``DidntWant()`` where none was computed.

        Raises:
          ValueError: the entries' structure isn't that of the arguments, a ref has another type
            than the gradient, or an argument that is a ref has no ref for its gradient.

        Example:
          >>> import tans_lax as lax
          >>> from tans_autodiff import ad, vjp
          >>> _, f_vjp = vjp(lax.mul, 2.0, 3.0)
          >>> slope, other = f_vjp.with_refs(ad.GradValue(), ad.DontWant())(1.0)
          >>> float(slope), other
          (3.0, DidntWant())
        """
        leaves = check_entries(self.fun, self.in_tree, entries)

        @api_boundary
        def pull_into_refs(out_ct: Pytree) -> Any:
            return self._pull(out_ct, leaves)

        return pull_into_refs

    def _pull(self, out_ct: Pytree, entries: Sequence[Any] | None) -> Any:
        cts = self._check_cotangents(out_ct)
        program = self.fun
        lead = self._residuals()
        inputs = [*lead, *backward_inputs(program, entries)]
        used = [ct for ct, nz in zip(cts, program.nonzero_out, strict=True) if nz]
        logs = Logs()
        given = inputs[len(lead) :]
        found = iter(backward_pass(program.linear, inputs, used, logs))
        linear = iter([next(found) if type(x) is LinearInput else None for x in given])
        moved = [next(linear) if nz else None for nz in program.nonzero_in]
        results = [
            entry_result(entry, Zero(contents_type(aval)) if ct is None else ct, aval)
            for entry, ct, aval in zip(
                entries or [None] * len(moved), moved, program.in_avals, strict=True
            )
        ]
        arguments_cts = self.in_tree.unflatten(results)
        return (arguments_cts, logs.entries) if self.want_logs else arguments_cts

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The linear program: residuals, then tangents."""
        return self.fun.linear

    @property
    def out_nzs(self) -> Pytree:
        """Tree of bools like the output: where the tangent may be nonzero."""
        return self.out_tree.unflatten(self.fun.nonzero_out)

    @property
    def nbytes(self) -> int:
        """Size of the saved values in bytes; a value at two positions counts once."""
        return sum(bytes_of(x) for x in {id(x): x for x in tree.leaves(self)}.values())

    @property
    def residual_table(self) -> ResidualTable:
        """What the backward pass reads: per value its origin, type, bytes and first reader.

        Printed, it is a table with the largest values first.
        """
        return ResidualTable.of(self.fun, self.in_tree)

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
        """Return the linear program's leading inputs."""
        program = self.fun
        leaves = self._argument_leaves()
        opaque = self.opaque_residuals
        counts = len(program.in_avals), program.sources.count(None)
        if (len(leaves), len(opaque)) != counts:
            raise ValueError(
                message(
                    f"VJP function of {program.name}",
                    f"args_res with {len(leaves)} and opaque_residuals with {len(opaque)} values",
                    f"{counts[0]} and {counts[1]}, as they were made",
                    "Replace values in args_res without changing its structure; NotNeeded() stands "
                    "for what the backward pass doesn't read.",
                )
            )
        if any(s is not None and type(leaves[s]) is NotSaveable for s in program.sources):
            raise ValueError(missing_text(self.args_res, described(program)))
        rest = iter(opaque)
        values = [next(rest) if s is None else leaves[s] for s in program.sources]
        for i, (x, aval) in enumerate(zip(values, program.residual_avals, strict=True)):
            if not _fits(x, aval):
                raise self._wrong_residual(i, x, aval)
        return values + given_back(program.name, program.structure, self.structured_residuals)

    def _argument_leaves(self) -> list[Value]:
        """Return one entry per argument leaf; a mark in place of an argument stands for all."""
        children = self.in_tree.children()
        leaves: list[Value] = []
        if not isinstance(self.args_res, list | tuple):
            raise ValueError(
                message(
                    f"VJP function of {self.fun.name}",
                    f"args_res of type {type(self.args_res).__name__}",
                    f"a list with {len(children)} entries, one per argument",
                    "Assign to its entries, as in f_vjp.args_res[0] = value.",
                )
            )
        for i, entry in enumerate(self.args_res):
            own = tree.leaves(entry, is_leaf=is_mark)
            if is_mark(entry) and i < len(children):
                own = [entry] * children[i].num_leaves
            leaves += own
        return leaves

    def _wrong_residual(self, index: int, x: Value, aval: AbstractValue) -> ValueError:
        source = self.fun.sources[index]
        if source is None:
            name = f"opaque_residuals[{self.fun.sources[:index].count(None)}]"
        else:
            name = f"args_res{argument_path(self.in_tree, source)}"
        given = typeof(x).str_short(False) if is_value(x) else f"{x!r} of type {type(x).__name__}"
        return ValueError(
            message(
                f"VJP function of {self.fun.name}",
                f"{name}, which is {given}",
                aval.str_short(False),
                "Put back the value that the forward pass used. Values stacked by scan or vmap "
                "belong to a VJP object that is applied under scan or vmap.",
            )
        )

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
            self._check_cotangent(i, ct, aval)
            for i, (ct, aval) in enumerate(zip(leaves, self.fun.out_avals, strict=True))
        ]

    def _check_cotangent(self, index: int, ct: Value, out_aval: AbstractValue) -> Value:
        expected = out_aval.to_cotangent()
        ct = fitting(ct, expected)
        is_float0 = getattr(ct, "dtype", None) == dtypes.float0
        given = ShapedArray(ct.shape, dtypes.float0) if is_float0 else typeof(ct)
        if same_but_weak(given, expected):
            return Zero(expected) if is_float0 else ct
        nothing = dtype_of(expected) == dtypes.float0 and not is_hi_type(expected)
        if nothing and getattr(given, "shape", None) == getattr(expected, "shape", ()):
            return Zero(expected)
        path = argument_path(self.out_tree, index)
        raise ValueError(
            message(
                f"VJP function of {self.fun.name}",
                f"a cotangent of type {given.str_short(False)} for the output{path and ' '}{path}",
                f"{expected.str_short(False)}, because that output had type "
                f"{out_aval.str_short(False)}",
                how_to_convert("the cotangent", given, expected),
            )
        )


def _fits(x: Value, aval: AbstractValue) -> bool:
    given = getattr(x, "aval", None)
    if given is aval:
        return True
    if given is None:
        if not is_value(x):
            return False
        given = typeof(x)
    # Weak marks and places may differ: values are moved and restored by the user.
    return all(getattr(given, n, None) == getattr(aval, n, None) for n in ("shape", "dtype"))


def _flatten_vjp(v: VJP) -> tuple[Any, Any]:
    children = (v.args_res, v.opaque_residuals, v.structured_residuals)
    return children, (v.fun, v.in_tree, v.out_tree, v.want_logs)


def _unflatten_vjp(static: Any, children: Any) -> VJP:
    fun, in_tree, out_tree, want_logs = static
    args_res, opaque, structured = children
    return VJP(fun, in_tree, out_tree, args_res, opaque, structured, want_logs)


register_pytree_node(VJP, _flatten_vjp, _unflatten_vjp)
