"""What an application means: the result of `expand`."""

from collections.abc import Sequence
from typing import Any, NoReturn

from tans_core.errors import message
from tans_hijax.errors import check_types, flat_values, naming


def expanded(prim: Any, args: Sequence[Any]) -> list[Any]:
    """Run `expand` on flat arguments.

    Raises:
      TypeError: the result has another structure or other types than `out_aval`.
    """
    with naming(prim, "expand"):
        out = prim.expand(*prim.in_tree.unflatten(args))
    outs = flat_values(prim, "expand", out, prim.out_tree, "a result")
    check_types(prim, "expand", outs, prim.out_avals_flat, "result")
    return outs


def refuse_forward_mode(*_: Any, prim: Any, **__: Any) -> NoReturn:
    """Raise: the linearised form exists to be transposed only."""
    name = type(prim).__name__
    raise TypeError(
        message(
            name,
            "forward mode through a rule for reverse mode",
            "reverse mode, the only one that vjp_fwd and vjp_bwd describe",
            f"Use grad or vjp, or define {name}.jvp.",
        )
    )
