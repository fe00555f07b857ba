"""Carried values: their types settle by a fixpoint, and what comes out must be what went in.

A weakly typed carry (a Python scalar) takes the dtype that the body gives it. One promotion can
cause another, so the body is traced again until nothing changes; each pass makes at least one
carry strong, so there are at most as many passes as weak carries, plus one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core import promotion, tree
from tans_core.errors import TypePromotionError
from tans_core.manual_mode import in_mesh_order
from tans_core.tree_paths import keystr
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import is_value, typeof
from tans_lax.control_flow.functions import Body, TreeDef, Value, check_leaves, describe
from tans_lax.conversion import convert_element_type
from tans_xla.structures import structure_mismatches
from tans_xla.wide_arrays import narrow_all

type Avals = list[AbstractValue]


def settle_carry(
    init: Sequence[Value], trace: Callable[[Avals], tuple[Body, Sequence[AbstractValue]]]
) -> tuple[Body, list[Value]]:
    """Trace a loop's body until the types of the carry stand still.

    Args:
      init: leaves of the initial carry.
      trace: given the carry's types, traces the body and returns it with the types of its carry
        outputs (checked to have the carry's structure).

    Returns:
      The body and the initial carry, converted where its types were promoted. Types that still
      differ are for `check_carry_types`.
    """
    avals = [typeof(x) for x in init]
    while True:
        body, outs = trace(avals)
        promoted = [_promoted(a, b) for a, b in zip(avals, outs, strict=True)]
        if all(p is a for p, a in zip(promoted, avals, strict=True)):
            break
        avals = promoted
    return body, [
        x if same_but_weak(typeof(x), a) else convert_element_type(x, a.dtype)  # pyright: ignore[reportAttributeAccessIssue]
        for x, a in zip(init, avals, strict=True)
    ]


def _promoted(carry: Any, out: Any) -> AbstractValue:
    """Return the carry's next type: a weak one of another dtype joins with the body's result."""
    if same_but_weak(carry, out) or not getattr(carry, "weak_type", False):
        return carry
    if not hasattr(out, "dtype") or carry.shape != out.shape:
        return carry
    return carry.update(dtype=joined_dtype(carry, out), weak_type=False)


def joined_dtype(a: Any, b: Any) -> Any:
    """Return the dtype that two types promote to; that of `a` when they have none in common."""
    try:
        return promotion.join_types(a, b)[0]
    except TypePromotionError:  # reported as a mismatch of types
        return a.dtype


def check_carry_structure(where: str, fun: Any, name: str, carry: TreeDef, out: TreeDef) -> None:
    """Raise TypeError unless the body returned the carry's structure."""
    if carry == out:
        return
    lines = structure_mismatches(name, out, carry)
    raise TypeError(
        f"{where}: the body function {describe(fun)} was given a carry of one structure and "
        f"returned another; expected the same.\n{lines}\n"
        "Return a carry with the containers, keys and lengths that the function receives."
    )


def check_carry_types(
    where: str,
    fun: Any,
    name: str,
    carry_tree: TreeDef,
    given: Sequence[AbstractValue],
    returned: Sequence[AbstractValue],
) -> None:
    """Raise TypeError with one line per carry whose type changes in the body."""
    wrong = [
        i for i, (a, b) in enumerate(zip(given, returned, strict=True)) if not same_but_weak(a, b)
    ]
    if not wrong:
        return
    paths = leaf_names(carry_tree, name)
    lines = [f"  {paths[i]}: given {shown(given[i])}, returned {shown(returned[i])}" for i in wrong]
    remedies = dict.fromkeys(_remedy(paths[i], given[i], returned[i]) for i in wrong)
    raise TypeError(
        f"{where}: the body function {describe(fun)} changes the type of the carry; expected equal "
        "types: every part is returned with the type it was given.\n"
        + "\n".join(lines)
        + "\n"
        + " ".join(remedies)
    )


def _remedy(path: str, given: Any, returned: Any) -> str:
    if getattr(given, "shape", None) != getattr(returned, "shape", None):
        return f"Make the initial {path} as large as the result, or reshape the result."
    if getattr(given, "dtype", None) != getattr(returned, "dtype", None):
        return (
            f"Start with {path} of dtype {returned.dtype}, or return it converted with "
            f".astype({str(given.dtype)!r})."
        )
    missing = getattr(returned, "manual_axes", frozenset()) - getattr(
        given, "manual_axes", frozenset()
    )
    if missing:
        names = in_mesh_order(missing)
        axes = repr(names[0] if len(names) == 1 else names)
        return f"Start with {path} as lax.pcast({path}, {axes}, to='varying')."
    return f"Bring {path} to one sharding and one set of varying axes before and in the loop."


def leaf_names(structure: TreeDef, name: str) -> list[str]:
    """Return the printed key path of each leaf of a tree that the user knows as `name`."""
    count = structure.num_leaves
    leaves, _ = tree.flatten_with_path(tree.unflatten(structure, range(count)))
    return [f"{name}{keystr(path)}" for path, _ in leaves]


def shown(aval: AbstractValue) -> str:
    """Return a type as messages print it, with the full name of its dtype."""
    return aval.str_short(short_dtypes=False)


def flatten_carry(where: str, name: str, value: Any) -> tuple[list[Value], TreeDef]:
    """Flatten what a loop or branch is given, as values of the types that its body sees.

    Raises:
      TypeError: a leaf is of a class that no program can hold.
    """
    leaves, structure = tree.flatten(value)
    if not all(map(is_value, leaves)):
        check_leaves(value, where, name)
    return narrow_all(leaves), structure
