"""`custom_vjp`: functions with a reverse-mode rule of their own."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import flatten_arguments
from tans_autodiff.custom import custom_vjp_call_p
from tans_autodiff.custom.calls import Returns, VJPCall
from tans_autodiff.custom.forward_again import ForwardThenAgain
from tans_autodiff.custom.optimized import OptimizedForward
from tans_autodiff.custom.refs import check_distinct_refs
from tans_autodiff.signature import Positions
from tans_core import tree
from tans_core.errors import UnexpectedTracerError, message
from tans_core.refs import RefCell
from tans_core.trace import Tracer, is_evaluating
from tans_core.tracebacks import api_boundary
from tans_xla.jit.signature import check_callable

type Function = Callable[..., Any]


class custom_vjp:  # noqa: N801  (JAX's name)
    """A function whose cotangents are given by a rule.

    Args:
      fun: takes and returns pytrees of arrays of any shapes.
      nondiff_argnums: positions of arguments that are passed as they are, to `fun` and the forward
        rule at their places and to the backward rule before its other arguments; never tracers.
      nondiff_argnames: their names, as an alternative.

    Raises:
      AttributeError: when called before a rule is given.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> @custom_vjp
      ... def sine(x):
      ...     return lax.sin(x)
      >>> sine.defvjp(lambda x: (lax.sin(x), x), lambda x, ct: (lax.mul(ct, 10.0),))
      >>> float(grad(sine)(1.0))
      10.0
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
        self.fwd: Function | None = None
        self.bwd: Function | None = None
        self.rem: Function | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False
        self.generic_batching = False
        self._returns: Returns = "cotangents"
        self._compared: set[Any] = set()
        self._positions = Positions("custom_vjp", fun, nondiff_argnums, nondiff_argnames)
        self._name = getattr(fun, "__name__", type(fun).__name__)

    def defvjp(
        self,
        fwd: Function,
        bwd: Function,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set the rule.

        Args:
          fwd: takes the arguments of the function; returns ``(out, residuals)``.
          bwd: ``bwd(*nondiff, residuals, ct)`` returns a tuple with one cotangent per argument;
            None for a leaf or a subtree means zero.
          symbolic_zeros: whether `fwd` sees `CustomVJPPrimal` leaves and `bwd` sees `SymbolicZero`
            cotangents.
          optimize_remat: whether the function runs in place of `fwd` where only the output of `fwd`
            is read, as on the forward pass under `checkpoint`.
          generic_batching: under vmap, an output that doesn't depend on the mapped axis has one
            cotangent for all elements; True gives it to the first one. False raises where that
            would matter.
        """
        check_callable("defvjp", fwd)
        check_callable("defvjp", bwd)
        self.fwd = fwd
        self.bwd = bwd
        self.rem = None
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat
        self.generic_batching = generic_batching
        self._returns = "cotangents"
        self._compared.clear()

    def defvjp_with_logs(
        self,
        fwd: Function,
        bwd: Function,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set a rule that reports values from the backward pass; see `VJP.with_logs`.

        Args:
          fwd: as for `defvjp`.
          bwd: ``bwd(*nondiff, residuals, ct)`` returns ``(cotangents, logs)``: the cotangents as
            for `defvjp`, and None or a dict from keys to pytrees of arrays. A key may occur once in
            a backward pass.
          symbolic_zeros: as for `defvjp`.
          optimize_remat: as for `defvjp`.
          generic_batching: as for `defvjp`.

        Example:
          >>> import tans_lax as lax
          >>> from tans_autodiff import vjp
          >>> tap = custom_vjp(lambda x: x)
          >>> tap.defvjp_with_logs(lambda x: (x, None), lambda _, ct: ((ct,), {"slope": ct}))
          >>> _, f_vjp = vjp(lambda x: lax.square(tap(x)), 3.0)
          >>> cts, logs = f_vjp.with_logs(1.0)
          >>> float(cts[0]), float(logs["slope"])
          (6.0, 6.0)
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self._returns = "logs"

    def defvjp_with_accums(
        self,
        fwd: Function,
        bwd: Function,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set a rule that pushes cotangents into accumulators; see `VJP.with_refs`.

        Args:
          fwd: as for `defvjp`.
          bwd: ``bwd(*nondiff, residuals, ct, *accums)``: `accums` are trees of accumulators like
            the arguments; ``accums[i].accum(ct)`` adds a cotangent. A `RefAccum` has the ref it
            adds to as ``.ref``; a `NullAccum` drops what it is given. Returns None or a dict of
            logs.
          symbolic_zeros: as for `defvjp`.
          optimize_remat: as for `defvjp`.
          generic_batching: as for `defvjp`.

        Example:
          >>> import tans_lax as lax
          >>> from tans_autodiff import grad
          >>> double = custom_vjp(lambda x: lax.mul(x, 2.0))
          >>> double.defvjp_with_accums(
          ...     lambda x: (lax.mul(x, 2.0), None), lambda _, ct, x: x.accum(lax.mul(ct, 2.0))
          ... )
          >>> float(grad(double)(1.0))
          2.0
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self._returns = "accums"

    def defremat(
        self, fwd: Function, rem: Function, bwd: Function, generic_batching: bool = False
    ) -> None:
        """Set a rule that says how the backward pass gets its residuals under `checkpoint`.

        Args:
          fwd: takes the arguments of the function; returns ``(out, saved)``. Under `checkpoint`
            exactly `saved` is kept, whatever the policy.
          rem: ``rem(saved, *args)`` returns ``(out, residuals)``; it runs on the backward pass
            under `checkpoint`, and right after `fwd` otherwise.
          bwd: as for `defvjp`.
          generic_batching: as for `defvjp`.

        Example:
          >>> import tans_lax as lax
          >>> from tans_autodiff import grad
          >>> sine = custom_vjp(lax.sin)
          >>> sine.defremat(
          ...     lambda x: (lax.sin(x), ()),
          ...     lambda _, x: (lax.sin(x), lax.cos(x)),
          ...     lambda cosine, ct: (lax.mul(ct, cosine),),
          ... )
          >>> float(grad(sine)(0.0))
          1.0
        """
        self.defvjp(fwd, bwd, generic_batching=generic_batching)
        self.rem = rem

    def defremat_with_logs(
        self, fwd: Function, rem: Function, bwd: Function, generic_batching: bool = False
    ) -> None:
        """Set a rule as `defremat` does, whose backward part returns ``(cotangents, logs)``.

        Args:
          fwd: as for `defremat`.
          rem: as for `defremat`.
          bwd: as for `defvjp_with_logs`.
          generic_batching: as for `defvjp`.
        """
        self.defremat(fwd, rem, bwd, generic_batching)
        self._returns = "logs"

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp: given a call of {self._name}, which has no rule yet; expected the "
                f"rule first. Write {self._name}.defvjp(fwd, bwd) before the call."
            )
        args = self._positions.resolve(args, kwargs)
        static, others = self._positions.partition(args)
        self._check_static(static)
        leaves, in_tree = flatten_arguments(others)
        if is_evaluating() and not any(isinstance(x, RefCell) for x in leaves):
            return self.fun(*args)
        check_distinct_refs("custom_vjp", self.fun, self._positions, in_tree, leaves)
        call = VJPCall(self.fun, self._name, self._positions, static, in_tree, self.symbolic_zeros)
        call.fwd, call.bwd, call.returns = self.fwd, self.bwd, self._returns
        call.compared = self._compared
        if self.rem is not None:
            call.fwd = ForwardThenAgain(self._name, self.fwd, self.rem)
        outs = custom_vjp_call_p.bind(
            *leaves,
            name=self._name,
            call_jaxpr=call.primal,
            rule=OptimizedForward(call.forward, call.primal)
            if self.optimize_remat
            else call.forward,
            symbolic_zeros=self.symbolic_zeros,
            captured=0,
            generic_batching=self.generic_batching,
        )
        return call.out_tree.unflatten(outs)

    def _check_static(self, static: tuple[Any, ...]) -> None:
        for x in static:
            for leaf in tree.leaves(x):
                if isinstance(leaf, Tracer):
                    raise UnexpectedTracerError(
                        message(
                            f"custom_vjp function {self._name}",
                            f"a {leaf.describe()} as a nondiff argument",
                            "nondiff arguments that are not traced",
                            "Pass it as an ordinary argument and return None for its cotangent.",
                        )
                    )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method, so that the class can decorate one."""
        return self if instance is None else functools.partial(self, instance)
