"""Runs `vjp_fwd` and `lin`, and checks what they return."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tans_autodiff.jvp import has_tangent
from tans_autodiff.residuals import spread_flags
from tans_core import tree
from tans_core.errors import message
from tans_core.values import is_value
from tans_hijax.errors import brief, check_types, flat_values, naming, where

type Tree = Any


class Forward(NamedTuple):
    """What a forward rule returned.

    Attributes:
      out: the result, a tree; `outs` are its leaves.
      outs: leaves of the result.
      res: residuals, a tree of values.
      nz_out: per leaf of the result whether its tangent may be nonzero.
      sres: structured residuals, a tree of values, or None.
      structured: whether the rule returned any.
    """

    out: Tree
    outs: list[Any]
    res: Tree
    nz_out: tuple[bool, ...]
    sres: Tree
    structured: bool


def run_forward(prim: Any, rule: str, nz: Sequence[bool], leaves: Sequence[Any]) -> Forward:
    """Run the rule named `rule` on flat arguments.

    Raises:
      TypeError: the rule returned no tuple of two to four, another structure or other types.
      ValueError: the flags for the outputs don't fit.
    """
    nzs_in = prim.in_tree.unflatten(nz)
    with naming(prim, rule):
        found = getattr(prim, rule)(nzs_in, *prim.in_tree.unflatten(leaves))
    if not isinstance(found, tuple) or not 2 <= len(found) <= 4:
        given = f"a tuple of {len(found)} values" if isinstance(found, tuple) else brief(found)
        raise TypeError(
            message(
                where(prim, rule),
                f"a result, {given}",
                "a tuple of 2 to 4: the output, residuals, and optionally which outputs have a "
                "tangent and structured residuals",
                "Return (out, None) when there is nothing to save.",
            )
        )
    out, res, *rest = found
    outs = flat_values(prim, rule, out, prim.out_tree, "an output")
    check_types(prim, rule, outs, prim.out_avals_flat, "output")
    sres = rest[1] if len(rest) == 2 else None
    for what, saved in (("residuals", res), ("structured residuals", sres)):
        _check_saved(prim, rule, what, saved)
    flags: Tree = rest[0] if rest and rest[0] is not None else any(nz)
    nz_out = spread_flags(where(prim, rule), flags, prim.out_tree.unflatten(outs))
    with_tangent = tuple(
        f and has_tangent(a) for f, a in zip(nz_out, prim.out_avals_flat, strict=True)
    )
    return Forward(out, outs, res, with_tangent, sres, len(rest) == 2)


def _check_saved(prim: Any, rule: str, what: str, saved: Tree) -> None:
    for x in tree.leaves(saved):
        if not is_value(x):
            raise TypeError(
                message(
                    where(prim, rule),
                    f"{what} with {x!r} of type {type(x).__name__}",
                    "arrays, scalars, or values of registered types",
                    "Keep static values in `params`.",
                )
            )
