"""What is to become of each gradient of a VJP object: a value, a sum in a ref, or nothing."""

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from tans_autodiff.accumulation import contents_type, ref_type_of
from tans_autodiff.accumulators import NullAccum, RefAccum
from tans_autodiff.backward_program import BackwardProgram, described
from tans_autodiff.residuals import argument_path
from tans_autodiff.results import cotangent_result
from tans_core import tree
from tans_core.accumulators import GradAccum
from tans_core.errors import message
from tans_core.refs import is_ref_type
from tans_core.tree_util import register_pytree_node
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import is_value, typeof
from tans_core.zeros import LinearInput

type Pytree = Any


@dataclasses.dataclass(frozen=True)
class GradValue:
    """Asks `VJP.with_refs` to return a gradient, as calls do without it."""


@dataclasses.dataclass(frozen=True)
class DontWant:
    """Tells `VJP.with_refs` not to compute a gradient."""


@dataclasses.dataclass(frozen=True)
class GradRef:
    """Stands for a gradient that was added to a ref."""


@dataclasses.dataclass(frozen=True)
class DidntWant:
    """Stands for a gradient that was not asked for."""


register_pytree_node(GradRef, lambda _: ((), None), lambda *_: GradRef())
register_pytree_node(DidntWant, lambda _: ((), None), lambda *_: DidntWant())

ad: Final = SimpleNamespace(
    GradValue=GradValue, GradRef=GradRef, DontWant=DontWant, DidntWant=DidntWant
)


def check_entries(program: BackwardProgram, in_tree: Any, entries: tuple[Pytree, ...]) -> list[Any]:
    """Return one entry per argument leaf.

    Raises:
      ValueError: the entries' structure isn't that of the arguments, or a ref has another type
        than the gradient.
    """
    leaves, treedef = tree.flatten(entries)
    if treedef != in_tree:
        raise ValueError(
            message(
                f"with_refs of the VJP function of {described(program)}",
                f"entries with the unexpected tree structure {treedef}",
                f"that of the arguments, {in_tree}, with one entry per array",
                "Each entry is a ref to add the gradient to, GradValue() or DontWant(). None is an "
                "empty pytree, and can't stand for an array.",
            )
        )
    for i, (entry, aval) in enumerate(zip(leaves, program.in_avals, strict=True)):
        if is_value(entry) and is_ref_type(given := typeof(entry)):
            _check_ref(program, in_tree, i, given, aval)
        elif is_ref_type(aval) and not isinstance(entry, DontWant):
            raise ValueError(
                message(
                    f"with_refs of the VJP function of {described(program)}",
                    f"{entry!r} for args{argument_path(in_tree, i)}, which is a "
                    f"{aval.str_short(False)}; its gradient can't be returned as a value",
                    f"a {ref_type_of(aval).str_short(False)}, or DontWant()",
                    "Pass a ref of zeros of that type; the gradient is added to it.",
                )
            )
    return leaves


def _check_ref(
    program: BackwardProgram, in_tree: Any, index: int, given: Any, aval: AbstractValue
) -> None:
    expected = ref_type_of(aval)
    if not same_but_weak(given.inner_aval, expected.inner_aval):
        raise ValueError(
            message(
                f"with_refs of the VJP function of {described(program)}",
                f"a gradient ref with the unexpected JAX type {given.str_short(False)} for "
                f"args{argument_path(in_tree, index)}",
                f"one of type {expected.str_short(False)}, because the argument is "
                f"{aval.str_short(False)}",
                "Make it with new_ref of zeros of that shape, dtype and sharding.",
            )
        )


def check_no_ref_arguments(program: BackwardProgram, in_tree: Any) -> None:
    """Raise when an argument is a ref, whose gradient a plain call has no place for."""
    for i, aval in enumerate(program.in_avals):
        if is_ref_type(aval):
            raise ValueError(
                message(
                    f"VJP function of {described(program)}",
                    f"a call without a gradient ref for args{argument_path(in_tree, i)}, which is "
                    f"Ref-typed: {aval.str_short(False)}",
                    "a ref to add its gradient to",
                    "Write f_vjp.with_refs(grad_ref)(ct), or pass DontWant() in its place.",
                )
            )


def backward_inputs(program: BackwardProgram, entries: Sequence[Any] | None) -> list[Any]:
    """Return what `backward_pass` takes for the linear program's tangents."""
    pairs = zip(program.in_avals, program.nonzero_in, strict=True)
    if entries is None:
        return [LinearInput(aval.to_tangent()) for aval, nz in pairs if nz]
    triples = zip(entries, program.in_avals, program.nonzero_in, strict=True)
    return [_input(entry, aval) for entry, aval, nz in triples if nz]


def _input(entry: Any, aval: AbstractValue) -> LinearInput | GradAccum:
    if isinstance(entry, DontWant):
        # What is read from a ref may have been written to it: that must reach who wrote it.
        return (RefAccum if is_ref_type(aval) else NullAccum)(contents_type(aval))
    if is_value(entry) and is_ref_type(typeof(entry)):
        return RefAccum(contents_type(aval), entry)
    return LinearInput(aval.to_tangent())


def entry_result(entry: Any, ct: Any, aval: AbstractValue) -> Any:
    """Return what a call gives for an argument."""
    if isinstance(entry, DontWant):
        return DidntWant()
    if is_value(entry) and is_ref_type(typeof(entry)):
        return GradRef()
    return cotangent_result(ct, aval)
