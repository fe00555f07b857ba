"""`custom_jvp`: functions with a forward-mode rule of their own."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import flatten_arguments
from tans_autodiff.custom import custom_jvp_call_p
from tans_autodiff.custom.calls import JVPCall
from tans_autodiff.custom.refs import check_distinct_refs
from tans_autodiff.results import as_array, tangent_result
from tans_autodiff.signature import Positions
from tans_core import tree
from tans_core.errors import message
from tans_core.trace import is_evaluating
from tans_core.tracebacks import api_boundary
from tans_core.values import typeof
from tans_lax.rows import add_tangents
from tans_xla.jit.signature import check_callable

type Function = Callable[..., Any]


class custom_jvp:  # noqa: N801  (JAX's name)
    """A function whose derivative is given by a rule.

    Args:
      fun: takes and returns pytrees of arrays of any shapes.
      nondiff_argnums: positions of arguments that are passed to `fun` and to the rule as they are,
        before the others; they may be of any class.
      nondiff_argnames: their names, as an alternative.

    Raises:
      AttributeError: when called before a rule is given.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> @custom_jvp
      ... def clipped(x):
      ...     return lax.min(x, 1.0)
      >>> @clipped.defjvp
      ... def clipped_jvp(primals, tangents):
      ...     return clipped(*primals), tangents[0]
      >>> float(grad(clipped)(3.0))
      1.0
    """

    def __init__(
        self,
        fun: Function,
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = tuple(nondiff_argnums)
        self.nondiff_argnames = tuple(nondiff_argnames)
        self.jvp: Function | None = None
        self.symbolic_zeros = False
        self._positions = Positions("custom_jvp", fun, nondiff_argnums, nondiff_argnames)
        self._name = getattr(fun, "__name__", type(fun).__name__)

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Set the rule.

        Args:
          jvp: ``jvp(*nondiff, primals, tangents) -> (out, out_tangent)``; linear in the tangents.
          symbolic_zeros: whether tangents that are zero reach the rule as `SymbolicZero` objects;
            otherwise as arrays of zeros.

        Returns:
          `jvp`, so that this can be used as a decorator.
        """
        check_callable("defjvp", jvp)
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Set the rule from one function per argument.

        Args:
          *jvps: ``jvps[i](t_i, out, *primals)`` is the contribution of argument i; None means none.

        Raises:
          TypeError: the function has nondiff arguments.
        """
        if self._positions.nondiff:
            raise TypeError(
                message(
                    "defjvps",
                    f"function {self._name} with nondiff arguments {self._positions.nondiff}",
                    "a function without nondiff arguments",
                    "Use defjvp.",
                )
            )
        self.jvp = functools.partial(_sum_of_parts, self, jvps)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.jvp is None:
            raise AttributeError(
                f"custom_jvp: given a call of {self._name}, which has no rule yet; expected the "
                f"rule first. Write @{self._name}.defjvp above the rule."
            )
        args = self._positions.resolve(args, kwargs)
        if is_evaluating():
            return self.fun(*args)
        static, others = self._positions.partition(args)
        leaves, in_tree = flatten_arguments(others)
        check_distinct_refs("custom_jvp", self.fun, self._positions, in_tree, leaves)
        call = JVPCall(self.fun, self._name, self._positions, static, in_tree, self.symbolic_zeros)
        call.rule = self.jvp
        call.rule_name = getattr(self.jvp, "__name__", "jvp")
        outs = custom_jvp_call_p.bind(
            *leaves,
            name=self._name,
            call_jaxpr=call.primal,
            jvp=call.jvp,
            symbolic_zeros=self.symbolic_zeros,
            captured=0,
        )
        return call.out_tree.unflatten(outs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method, so that the class can decorate one."""
        return self if instance is None else functools.partial(self, instance)


def _sum_of_parts(
    function: custom_jvp, jvps: Sequence[Function | None], primals: Any, tangents: Any
) -> tuple[Any, Any]:
    out = function(*primals)
    total: list[Any] | None = None
    for part, tangent in zip(jvps, tangents, strict=True):
        if part is not None:
            term = tree.leaves(part(tangent, out, *primals))
            total = term if total is None else list(map(add_tangents, total, term))
    leaves, out_tree = tree.flatten(out)
    if total is None:
        return out, out_tree.unflatten([tangent_result(None, typeof(x)) for x in leaves])
    return out, out_tree.unflatten([as_array(x) for x in total])
