"""`scan`: a loop over the leading dimension of arrays that carries state."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import Array, tree
from tans_core.config import disable_jit
from tans_core.errors import ConcretizationTypeError, message
from tans_core.hi_types import is_hi_type, is_hi_value
from tans_core.primitive import Primitive
from tans_core.refs import RefCell
from tans_core.trace import Tracer
from tans_core.tree_paths import keystr
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_lax.control_flow.carry import (
    check_carry_structure,
    check_carry_types,
    flatten_carry,
    settle_carry,
)
from tans_lax.control_flow.element_types import element_type
from tans_lax.control_flow.functions import (
    Body,
    Call,
    TreeDef,
    Value,
    check_callable,
    check_refs,
    describe,
    trace_body,
)
from tans_lax.control_flow.scan.forwarding import forwarded
from tans_lax.control_flow.scan.python_loop import scan_in_python
from tans_xla.sizes import Size, as_int, as_size, is_symbolic
from tans_xla.transfer.place import put_leaf

type Carry = Any
type X = Any
type Y = Any

scan_p: Final = Primitive("scan", family=__name__, multiple_results=True, call_like=True)


def scan(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]:
    """Apply a function along the leading dimension of arrays, carrying state from step to step.

    Means the same as::

        def scan(f, init, xs):
            carry, ys = init, []
            for x in xs:
                carry, y = f(carry, x)
                ys.append(y)
            return carry, stack(ys)

    but `f` is traced once and the program holds one loop, whatever the length. Forward and reverse
    derivatives exist; the gradient of a scan is one scan.

    Args:
      f: ``f(carry, x) -> (carry, y)``; the carry's structure, shapes and dtypes must not change. A
        weakly typed carry (a Python number) takes the dtype that `f` returns for it.
      init: initial carry, any tree of arrays.
      xs: tree of arrays ``[length, ...]``; `f` sees one element of each. None to loop without.
      length: number of steps; needed only when `xs` has no arrays.
      reverse: go from the last element to the first; results are stacked in the order of `xs`.
      unroll: steps per iteration of the compiled loop; True unrolls the loop entirely.
      _split_transpose: accepted for compatibility; the derivative is the same.

    Returns:
      The final carry, and the results `y` stacked along a new leading dimension.

    Raises:
      TypeError: `f` is not callable, does not return a pair, or changes the carry's structure or
        types; a leaf is not an array.
      ValueError: the lengths of `xs` differ from one another or from `length`, there is neither
        `xs` nor `length`, or `unroll` is negative.
      ConcretizationTypeError: `length` is a traced value.

    Example:
      >>> import numpy as np
      >>> from tans_lax import add
      >>> total, before = scan(lambda c, x: (add(c, x), c), 0, np.arange(4, dtype=np.int32))
      >>> int(total), before.tolist()
      (6, [0, 0, 1, 3])
    """
    check_callable(f, "scan", "f")
    xs_leaves, xs_tree = flatten_carry("scan", "xs", xs)
    length = _length(xs, xs_leaves, length)
    unroll = steps_per_iteration(unroll, length)
    if disable_jit.value and not any(map(is_hi_value, xs_leaves)):
        return scan_in_python(f, init, xs_leaves, xs_tree, length, reverse)
    init_leaves, init_tree = flatten_carry("scan", "init", init)
    carry, ys, ys_tree = scan_leaves(
        f, init_leaves, init_tree, xs_leaves, xs_tree, length, reverse, unroll, _split_transpose
    )
    return tree.unflatten(init_tree, carry), tree.unflatten(ys_tree, ys)


def scan_leaves(
    f: Call,
    init: Sequence[Value],
    init_tree: TreeDef,
    xs: Sequence[Value],
    xs_tree: TreeDef,
    length: Size,
    reverse: bool,
    unroll: int,
    split_transpose: bool,
    *,
    where: str = "scan",
    name: str = "init",
    call: Call | None = None,
) -> tuple[list[Value], list[Value], TreeDef]:
    """Run a scan on leaves; `call` adapts the user's function to ``(carry, x) -> (carry, y)``."""
    in_tree = tree.structure((tree.unflatten(init_tree, init), tree.unflatten(xs_tree, xs)))
    check_refs(f, in_tree, [*init, *xs], where)
    x_avals = [element_type(typeof(x)) for x in xs]
    num_carry = len(init)

    def trace(avals: list[AbstractValue]) -> tuple[Body, Sequence[AbstractValue]]:
        body = trace_body(f, in_tree, [*avals, *x_avals], where, call)
        out_tree = _pair(body.out_tree, f, where)[0]
        check_carry_structure(where, f, name, init_tree, out_tree)
        return body, body.jaxpr.out_avals[:num_carry]

    body, init = settle_carry(init, trace)
    check_refs(f, in_tree, [*init, *xs], where, body.consts)
    jaxpr, num_consts = body.jaxpr, len(body.consts)
    given = jaxpr.in_avals[num_consts : num_consts + num_carry]
    check_carry_types(where, f, name, init_tree, given, jaxpr.out_avals[:num_carry])
    outs = _bind(
        [*body.consts, *init, *xs],
        jaxpr,
        num_consts,
        num_carry,
        length=length,
        reverse=bool(reverse),
        unroll=unroll,
        _split_transpose=bool(split_transpose),
    )
    return outs[:num_carry], outs[num_carry:], _pair(body.out_tree, f, where)[1]


def _bind(
    operands: list[Value], jaxpr: Any, num_consts: int, num_carry: int, **params: Any
) -> list[Value]:
    plan = forwarded(jaxpr, num_consts, num_carry)
    small = plan.body(jaxpr)
    outs: list[Value] = []
    if small.out_avals or small.effects:
        outs = scan_p.bind(
            *(operands[i] for i in plan.ins),
            jaxpr=small,
            num_consts=plan.num_consts,
            num_carry=plan.num_carry,
            **params,
        )
    # What a body passes on comes out as an array, like everything else.
    return plan.results([_as_array(x) for x in operands], outs)


def _as_array(x: Value) -> Value:
    return x if isinstance(x, Array | RefCell) or is_hi_value(x) else put_leaf(x, None)


def _pair(out_tree: TreeDef, f: Call, where: str) -> tuple[TreeDef, TreeDef]:
    children = out_tree.children()
    node = out_tree.node_data()
    if node is None or node[0] not in (tuple, list) or len(children) != 2:
        raise TypeError(
            message(
                where,
                f"{describe(f)} returning {out_tree}",
                "a pair (carry, y)",
                "Write return carry, None when there is nothing to stack.",
            )
        )
    return children[0], children[1]


def _length(xs: Any, leaves: Sequence[Value], length: Any) -> Size:
    if isinstance(length, Tracer) and length.concrete() is None:
        raise ConcretizationTypeError(
            length,
            "The `length` of scan is part of the program; to loop a number of times that is "
            "computed, use while_loop or fori_loop.",
        )
    sizes: set[Size] = set()
    for x in leaves:
        aval = typeof(x)
        if is_hi_type(aval):
            continue
        shape = aval.shape  # pyright: ignore[reportAttributeAccessIssue]
        if not shape:
            raise ValueError(_lengths_text(xs, "arrays with a leading dimension to loop over"))
        sizes.add(shape[0])
    if length is None:
        if not leaves:
            raise ValueError(
                message(
                    "scan",
                    "no arrays in xs and no length",
                    "one of the two",
                    "Pass length=n to run n steps without xs.",
                )
            )
        if len(sizes) > 1:
            raise ValueError(_lengths_text(xs, "one length"))
        if not sizes:
            raise ValueError(
                message(
                    "scan",
                    "xs with values of user types only, and no length",
                    "the number of steps, which such values do not tell",
                    "Pass length=n.",
                )
            )
        return sizes.pop()
    length = as_size(length)
    if length < 0 or any(size != length for size in sizes):
        raise ValueError(_lengths_text(xs, f"the given length={length}, at least 0,"))
    return length


def _lengths_text(xs: Any, expected: str) -> str:
    lines = [
        f"  xs{keystr(path)}: {typeof(x).str_short(short_dtypes=False)}"
        for path, x in tree.flatten_with_path(xs)[0]
    ]
    return (
        f"scan: expected {expected} along the leading dimension of every array in xs, given\n"
        + "\n".join(lines)
        + "\nArrays that are the same in every step belong in the function's closure or the carry."
    )


def steps_per_iteration(unroll: Any, length: Size) -> int:
    """Return how many steps of a scan an iteration of the compiled loop does."""
    if isinstance(unroll, bool):
        return max(length, 1) if unroll and not is_symbolic(length) else 1
    if not hasattr(unroll, "__index__") or as_int(unroll) < 0:
        raise ValueError(
            message(
                "scan",
                f"unroll={unroll!r}",
                "a bool or an int that is not negative",
                "Write unroll=4 for four steps per iteration, unroll=True for no loop at all.",
            )
        )
    unroll = max(as_int(unroll), 1)
    # What is left over of a symbolic length would be a symbolic number of steps.
    return unroll if length % unroll == 0 or not is_symbolic(length) else 1
