"""`HiPrim`: a primitive of the user, with all its rules in one class."""

from collections.abc import Callable
from typing import Any, Final

from tans_autodiff.linearize import LinearizeTrace
from tans_core import tree
from tans_core.errors import message
from tans_core.staging import JaxprTrace
from tans_core.state import set_current_trace, state
from tans_core.types import AbstractValue
from tans_hijax.backward import push_returned
from tans_hijax.call import hi_call_p
from tans_hijax.errors import check_types, flat_values, no_rule
from tans_hijax.forward import run_forward

type Tree = Any
type Rule = Callable[..., Any]

_SET_BY_INIT: Final = ("in_avals", "out_aval", "params")


class HiPrim:
    """A primitive defined by its rules.

    A subclass's ``__init__`` sets three attributes and calls ``super().__init__()``:

    * `in_avals`: a tuple with one entry per argument, each a tree of types;
    * `out_aval`: a tree of types;
    * `params`: dict of static values, which become attributes of the instance;
    * optionally `effects`: a set of effects.

    Calling an instance applies it. Instances are equal when class, params and effects are; the
    usual way to apply one is to make it of the argument's type, as in ``Scale(typeof(x))(x)``.

    Rules that a class doesn't define raise NotImplementedError when they are needed.

    Example:
      >>> from tans_core import typeof
      >>> from tans_autodiff import grad
      >>> class Double(HiPrim):
      ...     def __init__(self, t):
      ...         self.in_avals, self.out_aval, self.params = (t,), t, {}
      ...         super().__init__()
      ...     def expand(self, x): return x * 2
      ...     def vjp_fwd(self, nzs_in, x): return self(x), None
      ...     def vjp_bwd_retval(self, res, ct): return (ct * 2,)
      >>> float(grad(lambda x: Double(typeof(x))(x))(3.0))
      2.0
    """

    in_avals: tuple[Tree, ...]
    out_aval: Tree
    params: dict[str, Any]
    effects: Any = frozenset()
    skip_linearization_on_zero_tangents = False

    def __init__(self) -> None:
        """Check and complete what the subclass has set.

        Raises:
          AttributeError: an attribute was not set.
          TypeError: `in_avals` is no tuple, a leaf is no type, or `params` is no dict.
          ValueError: a param has the name of a rule or of an attribute.
        """
        name = type(self).__name__
        for attribute in _SET_BY_INIT:
            if not hasattr(self, attribute):
                raise AttributeError(
                    message(
                        name,
                        f"an __init__ that does not set `self.{attribute}`",
                        "self.in_avals, self.out_aval and self.params to be set before "
                        "super().__init__()",
                        f"Set self.{attribute} there.",
                    )
                )
        if not isinstance(self.in_avals, tuple) or not isinstance(self.params, dict):
            raise TypeError(
                message(
                    name,
                    f"in_avals={self.in_avals!r} and params={self.params!r}",
                    "a tuple with one entry per argument, and a dict",
                    "Write self.in_avals = (t,) for one argument, self.params = {} for no params.",
                )
            )
        self.in_avals_flat, self.in_tree = _flat_types(name, "in_avals", self.in_avals)
        self.out_avals_flat, self.out_tree = _flat_types(name, "out_aval", self.out_aval)
        for key, value in self.params.items():
            if hasattr(HiPrim, key) or key in self.__dict__:
                raise ValueError(
                    message(
                        name,
                        f"a param named {key!r}",
                        "names that are not those of rules or attributes of a primitive",
                        f"Rename it, for example to {key}_value.",
                    )
                )
            setattr(self, key, value)
        self.effects = frozenset(self.effects)
        self.check(*self.in_avals)

    def check(self, *in_avals: Tree) -> None:
        """Raise when the primitive can't be applied to these types; by default it can."""

    def __call__(self, *args: Tree) -> Tree:
        """Apply the primitive.

        Raises:
          TypeError: the arguments' structure or types are not those of `in_avals`.
        """
        leaves = flat_values(self, "", args, self.in_tree, "arguments")
        check_types(self, "", leaves, self.in_avals_flat, "argument")
        trace = state.trace
        if type(self).staging is not HiPrim.staging and isinstance(trace, JaxprTrace):
            return self.staging(trace, state.source, *args)
        if type(trace) is LinearizeTrace and self._wants_zero_tangents(trace, leaves):
            assert trace.parent is not None
            with set_current_trace(trace.parent):
                return run_forward(self, "vjp_fwd", (False,) * len(leaves), leaves).out
        return self.out_tree.unflatten(hi_call_p.bind(*leaves, prim=self))

    def _wants_zero_tangents(self, trace: LinearizeTrace, leaves: list[Any]) -> bool:
        """Whether `vjp_fwd` is to see that no argument has a tangent."""
        if self.skip_linearization_on_zero_tangents or trace.context.forward:
            return False
        if not self.defines("vjp_fwd"):
            return False
        return not any(getattr(x, "_trace", None) is trace for x in leaves)

    def defines(self, *rules: str) -> bool:
        """Whether the class defines all these rules."""
        cls = type(self)
        return all(getattr(cls, rule) is not getattr(HiPrim, rule) for rule in rules)

    # ---- rules ------------------------------------------------------------------------------

    def expand(self, *args: Tree) -> Tree:
        """Return the result, computed with ordinary operations."""
        raise no_rule(self, "evaluation or lowering", "expand")

    def vjp_fwd(self, nzs_in: Tree, *args: Tree) -> Any:
        """Return ``(out, res)``, ``(out, res, nzs_out)`` or ``(out, res, nzs_out, sres)``.

        Args:
          nzs_in: per argument a tree of bools: where the tangent may be nonzero.
          *args: the arguments.
        """
        raise no_rule(
            self,
            "reverse mode",
            "vjp_fwd",
            "vjp_fwd, vjp_bwd_retval = vjp_from_jvp (or vjp_from_lin)",
        )

    def vjp_bwd_retval(self, res: Tree, ct: Tree) -> Any:
        """Return a tuple of cotangents, one tree per argument; None stands for zero."""
        raise no_rule(self, "reverse mode", "vjp_bwd_retval")

    def vjp_bwd_retval_logs(self, res: Tree, ct: Tree) -> Any:
        """Return what `vjp_bwd_retval` does, and a dict of log entries or None."""
        return self.vjp_bwd_retval(res, ct), None

    def vjp_bwd(self, res: Tree, ct: Tree, *accums: Tree) -> Any:
        """Push cotangents into accumulators, which mirror the arguments; return logs or None.

        With structured residuals it is called as ``vjp_bwd(res, sres, ct, *accums)``.
        """
        return push_returned(self, res, ct, accums)

    def jvp(self, primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> Any:
        """Return ``(out, out_tangent)``; tangents may be `Zero`."""
        raise no_rule(self, "forward mode", "jvp", "jvp = jvp_from_lin")

    def lin(self, nzs_in: Tree, *primals: Tree) -> Any:
        """Return ``(out, res)``, ``(out, res, nzs_out)`` or ``(out, res, nzs_out, sres)``."""
        raise no_rule(self, "linearize", "lin", "lin, linearized = linearize_from_jvp")

    def linearized(self, res: Tree, *tangents: Tree) -> Tree:
        """Return the output's tangent, linear in the tangents; after `res` may come `sres`."""
        raise no_rule(self, "linearize", "linearized", "lin, linearized = linearize_from_jvp")

    def transpose(self, ct: Tree, *maybe_accums: Tree) -> Any:
        """Push cotangents into the arguments that are accumulators; return logs or None."""
        raise no_rule(self, "transposition", "transpose")

    def batch(self, axis_data: Any, args: tuple[Tree, ...], dims: tuple[Tree, ...]) -> Any:
        """Return ``(out, out_dims)`` for arguments that are mapped along `dims`."""
        raise no_rule(self, "vmap", "batch")

    def dce(self, used_outs: Tree, live_ins: Tree) -> Any:
        """Return ``(used_ins, produced_outs, primitive or None)`` when some outputs are unused."""
        return True, True, self

    def remat(self, trace: Any, *args: Tree) -> Any:
        """Return ``(out, res, rem)``; ``rem(res, *args)`` computes the output anew.

        Under `checkpoint`, `res` is saved whatever the policy, and the backward pass calls `rem`
        for the output. By default nothing is saved, and the application is computed again.
        """
        return self(*args), None, lambda res, *again: self(*again)

    def staging(self, trace: Any, source_info: Any, *args: Tree) -> Tree:
        """Record the application in a program that is being traced."""
        leaves = tree.leaves(args)
        return self.out_tree.unflatten(trace.process(hi_call_p, tuple(leaves), {"prim": self}))

    def physicalize(self, ctx: Any, *args: Tree) -> Tree:
        """Apply the primitive to arguments in their physical form."""
        return self(*args)

    # ---- as a param -------------------------------------------------------------------------

    def pp_params(self) -> dict[str, Any]:
        """Return the params to print: those whose names don't start with an underscore."""
        return {k: v for k, v in self.params.items() if not k.startswith("_")}

    def __repr__(self) -> str:
        return text_of(self, repr)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        assert isinstance(other, HiPrim)
        return self.effects == other.effects and _equal(self.params, other.params)

    def __hash__(self) -> int:
        try:
            params = hash(tuple(self.params.items()))
        except TypeError:  # params without a hash are told apart by comparing
            params = hash(tuple(self.params))
        return hash((type(self).__name__, params, self.effects))


def text_of(prim: HiPrim, show: Callable[[Any], str] = str) -> str:
    """Return the printed form ``Name[k=v ...]``."""
    params = " ".join(
        f"{k}={getattr(v, '__name__', None) or show(v)}"
        for k, v in sorted(prim.pp_params().items())
    )
    return f"{type(prim).__name__}[{params}]" if params else type(prim).__name__


def _equal(a: Any, b: Any) -> bool:
    """Whether two params are equal and of one type, as are those in them: 1 is not True or 1.0."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return a.keys() == b.keys() and all(_equal(x, b[k]) for k, x in a.items())
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_equal, a, b))
    try:
        return bool(a == b)
    except ValueError:  # arrays compare element by element
        return False


def _flat_types(name: str, what: str, avals: Tree) -> tuple[list[AbstractValue], Any]:
    leaves, structure = tree.flatten(avals)
    for aval in leaves:
        if not isinstance(aval, AbstractValue):
            raise TypeError(
                message(
                    name,
                    f"{what} with the leaf {aval!r} of type {type(aval).__name__}",
                    "types: ShapedArray or a user type",
                    "Take the type of a value with jax.typeof(x).",
                )
            )
    return leaves, structure
