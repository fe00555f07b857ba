"""`print_saved_residuals`: what reverse mode would keep of a function, without running it."""

from collections.abc import Callable
from typing import Any

from tans_autodiff.arguments import type_of_leaf
from tans_autodiff.remat import name_p
from tans_autodiff.vjp import vjp
from tans_core import tree
from tans_core.debug_info import CallInfo, user_line
from tans_core.jaxpr import Jaxpr, Literal
from tans_core.staging import trace_to_jaxpr
from tans_xla.jit.signature import check_callable

type Function = Callable[..., Any]
type Atom = Any


def print_saved_residuals(f: Function, *args: Any, **kwargs: Any) -> None:
    """Print one line per value that the backward pass of a function needs.

    Args:
      f: takes and returns pytrees of arrays of any shapes; it is traced, not run.
      *args: its arguments, or `ShapeDtypeStruct`s like them.
      **kwargs: its keyword arguments; values saved of these are listed too.

    Raises:
      TypeError: `f` is not callable, or an argument is not an array.

    Example:
      >>> import tans_lax as lax
      >>> print_saved_residuals(lambda x, y: lax.add(x, lax.mul(3.0, lax.square(y))), 2.0, 3.0)
      f32[] from the argument y
    """
    print("\n".join(saved_residuals(f, *args, **kwargs)))


def saved_residuals(f: Function, *args: Any, **kwargs: Any) -> list[str]:
    """Return the lines that `print_saved_residuals` prints."""
    check_callable("print_saved_residuals", f)
    leaves, in_tree = tree.flatten((args, kwargs))
    avals = [type_of_leaf("print_saved_residuals", x) for x in leaves]

    def flat(*values: Any) -> list[Any]:
        def of_leaves(*inner: Any) -> Any:
            positional, keywords = in_tree.unflatten(inner)
            return f(*positional, **keywords)

        return tree.leaves(vjp(of_leaves, *values)[1])

    jaxpr = trace_to_jaxpr(flat, avals).jaxpr
    names = CallInfo("print_saved_residuals", f, in_tree).arg_names
    return [
        f"{v.aval.str_short()} {_origin(jaxpr, v, names)}" for v in dict.fromkeys(jaxpr.outvars)
    ]


def _origin(jaxpr: Jaxpr, v: Atom, names: tuple[str, ...]) -> str:
    if type(v) is Literal:
        return "from a literal"
    if v in jaxpr.invars:
        return f"from the argument {names[jaxpr.invars.index(v)]}"
    for eqn in jaxpr.eqns:
        if v in eqn.outvars:
            line = user_line(eqn.traceback)
            place = f" from {line}" if line else ""
            if eqn.primitive is name_p:
                return f"named {eqn.params['name']!r}{place}"
            if eqn.primitive.name == "jit":
                return f"output of jitted function {eqn.params['name']!r}{place}"
            return f"output of {eqn.primitive.name}{place}"
    return "from a constant"
