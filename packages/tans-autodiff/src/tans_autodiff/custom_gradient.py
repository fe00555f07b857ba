"""`custom_gradient`: functions that return their value together with their backward rule."""

import functools
from collections.abc import Callable
from typing import Any

from tans_autodiff.accumulators import RefAccum, ValAccum
from tans_autodiff.backward_closure import Closure, close_over_cotangents, close_over_values
from tans_autodiff.custom_vjp import custom_vjp
from tans_autodiff.symbolic_zero import custom_vjp_primal_tree_values
from tans_core import tree
from tans_core.errors import message
from tans_core.tracebacks import api_boundary

type Function = Callable[..., Any]
type Pytree = Any


def custom_gradient(
    fun: Function | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: Pytree = None,
) -> Function:
    """Return a function whose gradient `fun` supplies together with its value.

    Args:
      fun: returns ``(out, vjp_fn)``; ``vjp_fn(ct)`` returns the cotangent of the argument, or a
        tuple of them for several arguments. It may use values computed by `fun`. Without `fun`
        the result is a decorator.
      with_logs: whether `vjp_fn` returns ``(cotangents, logs)``, where logs is None or a dict; see
        `VJP.with_logs`.
      remat: whether `fun` returns ``(out, rem)`` instead, where ``rem(*args)`` returns ``(out,
        vjp_fn)``: under `checkpoint` only what `rem` captured is saved, and `rem` runs on the
        backward pass.
      with_accums: `ValAccum`, `RefAccum` or a tree of them, a prefix of the argument tuple. Then
        ``vjp_fn(ct, *accums)`` pushes cotangents into accumulators of these classes, which are in
        trees like the arguments; `NullAccum` stands for an argument that isn't differentiated. It
        returns None, or a dict of logs. A `RefAccum` has the ref to add to as ``.ref``.

    Returns:
      A function of the same arguments that returns `out`.

    Raises:
      TypeError: `fun` or a function that it returns gives something else, or `with_accums` holds
        other leaves.
      ValueError: `with_accums` is no prefix of the arguments.
      NotImplementedError: both `remat` and `with_accums` are given.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> @custom_gradient
      ... def square(x):
      ...     return lax.mul(x, x), lambda g: (lax.mul(g, x),)
      >>> float(grad(square)(3.0))
      3.0
    """
    if remat and with_accums is not None:
        raise NotImplementedError(
            "custom_gradient: given both remat and with_accums, expected one of them. Leave out "
            "with_accums; gradients that vjp_fn returns are added to refs as well."
        )
    if fun is None:
        return functools.partial(
            custom_gradient, with_logs=with_logs, remat=remat, with_accums=with_accums
        )
    name = getattr(fun, "__name__", type(fun).__name__)

    @api_boundary
    @functools.wraps(fun)
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        def primal(*values: Any) -> Any:
            return _pair(name, fun(*values, **kwargs))[0]

        rule = custom_vjp(functools.update_wrapper(primal, fun))
        define = rule.defvjp_with_logs if with_logs else rule.defvjp

        def pull(closure: Closure, ct: Pytree) -> Any:
            return closure.cotangents(ct)

        def forward(*values: Any) -> Any:
            out, vjp_fn = _pair(name, fun(*values, **kwargs))
            return out, close_over_cotangents(name, vjp_fn, out, len(values), with_logs)

        if remat:
            _define_remat(rule, name, lambda *values: fun(*values, **kwargs), with_logs)
        elif with_accums is None:
            define(forward, pull)
        else:
            kinds = _accumulator_classes(name, with_accums, args)

            def forward_with_accums(*marked: Any) -> Any:
                values = custom_vjp_primal_tree_values(marked)
                out, vjp_fn = _pair(name, fun(*values, **kwargs))
                return out, close_over_cotangents(name, vjp_fn, out, marked, False, kinds)

            rule.defvjp_with_accums(
                forward_with_accums,
                lambda closure, ct, *accums: closure.push(ct, accums),
                symbolic_zeros=True,
            )
        return rule(*args)

    return with_gradient


def _define_remat(rule: custom_vjp, name: str, fun: Function, with_logs: bool) -> None:
    def forward(*values: Any) -> Any:
        out, rem = _pair(name, fun(*values))

        def again(*args: Any) -> Any:
            out, vjp_fn = _pair(name, rem(*args))
            return out, close_over_cotangents(name, vjp_fn, out, len(args), with_logs)

        return out, close_over_values(again, values)

    define = rule.defremat_with_logs if with_logs else rule.defremat
    define(forward, lambda saved, *args: saved(*args), lambda closure, ct: closure.cotangents(ct))


def _pair(name: str, result: Any) -> tuple[Any, Function]:
    if isinstance(result, tuple | list) and len(result) == 2 and callable(result[1]):
        return result[0], result[1]
    raise TypeError(
        message(
            f"custom_gradient function {name}",
            f"a result of type {type(result).__name__}",
            "a pair (output, vjp_fn)",
            "Return the output and a function from its cotangent to the arguments' cotangents.",
        )
    )


def _accumulator_classes(name: str, prefix: Pytree, args: tuple[Any, ...]) -> list[type]:
    for leaf in tree.leaves(prefix, is_leaf=lambda x: x is None):
        if leaf is not ValAccum and leaf is not RefAccum:
            raise TypeError(
                message(
                    f"custom_gradient function {name}",
                    f"with_accums with a leaf {leaf!r}",
                    "ValAccum, RefAccum or a tree of them, a prefix of the arguments",
                    "Write with_accums=ValAccum to take sums of values for all arguments.",
                )
            )
    leaves, treedef = tree.flatten(prefix)
    try:
        parts = treedef.flatten_up_to(args)
    except ValueError as error:
        raise ValueError(
            message(
                f"custom_gradient function {name}",
                f"with_accums with the pytree structure {treedef}",
                f"a prefix of the arguments' structure {tree.structure(args)}",
                "Write a tuple with one entry per argument, or one class for all.",
            )
        ) from error
    return [kind for kind, part in zip(leaves, parts, strict=True) for _ in tree.leaves(part)]
