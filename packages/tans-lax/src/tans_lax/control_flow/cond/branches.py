"""Branches of one cond: the same inputs, and results of one structure and the same types."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import tree
from tans_core.jaxpr import ClosedJaxpr
from tans_core.tree_paths import keystr, prefix_mismatches
from tans_core.types import AbstractValue, same_but_weak, same_type
from tans_lax.control_flow.carry import joined_dtype, leaf_names, shown
from tans_lax.control_flow.functions import Body, Call, TreeDef, Value, describe
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import extended, widened
from tans_lax.conversion import convert_element_type

type Jaxprs = tuple[ClosedJaxpr, ...]

_MEMO: Final[BodyMemo[ClosedJaxpr | None]] = BodyMemo()


def join_branches(
    where: str, names: Sequence[str], functions: Sequence[Call], bodies: Sequence[Body]
) -> tuple[Jaxprs, list[Value], TreeDef]:
    """Give traced functions common inputs and results.

    Returns:
      The branches ``(*consts, *operands) -> outs``, the values of their constants, each once, and
      the structure of the results.
    """
    _check_structures(where, names, functions, bodies)
    first = bodies[0]
    out_avals = _common_types(where, names, functions, bodies)
    consts: dict[int, Value] = {id(c): c for body in bodies for c in body.consts}
    places = {key: i for i, key in enumerate(consts)}
    const_avals: list[AbstractValue] = [None] * len(consts)  # pyright: ignore[reportAssignmentType]
    for body in bodies:
        for c, aval in zip(body.consts, body.jaxpr.in_avals, strict=False):
            const_avals[places[id(c)]] = aval
    jaxprs = []
    for body in bodies:
        own = {places[id(c)]: i for i, c in enumerate(body.consts)}
        n = len(body.consts)
        operands = range(n, len(body.jaxpr.in_avals))
        positions = [*(own.get(i) for i in range(len(consts))), *operands]
        avals = [*const_avals, *body.jaxpr.in_avals[n:]]
        jaxpr = body.jaxpr
        if len(consts) != n or positions != list(range(len(positions))):
            jaxpr = widened(jaxpr, positions, avals)
        jaxprs.append(_converted(jaxpr, out_avals))
    return tuple(jaxprs), list(consts.values()), first.out_tree


def _converted(jaxpr: ClosedJaxpr, out_avals: tuple[AbstractValue, ...]) -> ClosedJaxpr:
    if all(same_type(a, b) for a, b in zip(jaxpr.out_avals, out_avals, strict=True)):
        return jaxpr

    def epilogue(*outs: Value) -> list[Value]:
        return [
            x if same_but_weak(x.aval, a) else convert_element_type(x, a.dtype)  # pyright: ignore[reportAttributeAccessIssue]
            for x, a in zip(outs, out_avals, strict=True)
        ]

    converted = _MEMO.get(jaxpr, out_avals, lambda: extended(jaxpr, (), epilogue))
    assert converted is not None
    return converted


def _check_structures(
    where: str, names: Sequence[str], functions: Sequence[Call], bodies: Sequence[Body]
) -> None:
    first = bodies[0].out_tree
    for name, fun, body in zip(names[1:], functions[1:], bodies[1:], strict=True):
        if body.out_tree == first:
            continue
        expected = tree.unflatten(first, range(first.num_leaves))
        given = tree.unflatten(body.out_tree, range(body.out_tree.num_leaves))
        found = list(prefix_mismatches(given, expected)) or list(prefix_mismatches(expected, given))
        lines = [f"  result{keystr(m.path)} differs" for m in found]
        raise TypeError(
            f"{where}: the functions return different structures: {names[0]} "
            f"({describe(functions[0])}) returns {first}, {name} ({describe(fun)}) returns "
            f"{body.out_tree}; expected one structure.\n"
            + "\n".join(lines)
            + "\nMake all functions return the same containers, keys and lengths."
        )


def _common_types(
    where: str, names: Sequence[str], functions: Sequence[Call], bodies: Sequence[Body]
) -> tuple[AbstractValue, ...]:
    columns = list(zip(*(b.jaxpr.out_avals for b in bodies), strict=True))
    common = [_join(column) for column in columns]
    if all(a is not None for a in common):
        return tuple(common)  # pyright: ignore[reportReturnType]
    paths = leaf_names(bodies[0].out_tree, "result")
    lines = []
    for path, column, aval in zip(paths, columns, common, strict=True):
        if aval is None:
            given = ", ".join(f"{n}: {shown(a)}" for n, a in zip(names, column, strict=True))
            lines.append(f"  {path}: {given}")
    places = ", ".join(f"{n} is {describe(f)}" for n, f in zip(names, functions, strict=True))
    raise TypeError(
        f"{where}: the functions return different types; expected equal output types.\n"
        + "\n".join(lines)
        + f"\n{places}. Convert the results with .astype, or reshape or broadcast them."
    )


def _join(column: Sequence[Any]) -> AbstractValue | None:
    """Return the common type of a result, or None; weak types adapt to strong ones."""
    strong = [a for a in column if not getattr(a, "weak_type", False)]
    joined = strong[0] if strong else column[0]
    for aval in column:
        if same_but_weak(aval, joined):
            continue
        if not hasattr(aval, "dtype") or aval.shape != getattr(joined, "shape", None):
            return None
        dtype = joined_dtype(joined, aval)
        if strong and (not aval.weak_type or dtype != joined.dtype):
            return None
        joined = joined.update(dtype=dtype)
    return joined
