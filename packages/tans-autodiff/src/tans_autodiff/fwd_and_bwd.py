"""`fwd_and_bwd`: a forward and a backward function that are compiled apart."""

import functools
from collections.abc import Callable
from typing import Any

from tans_autodiff.arguments import Argnums, canonical_argnums, positions, put
from tans_autodiff.vjp import pullback
from tans_autodiff.vjp_object import VJP
from tans_core.debug_info import debug_info_of
from tans_core.errors import message
from tans_xla import jit
from tans_xla.jit.signature import check_callable

type Function = Callable[..., Any]


def fwd_and_bwd(
    fun: Function,
    argnums: Argnums,
    has_aux: bool = False,
    jitted: bool = True,
    *,
    saveable_args: Any = True,
) -> tuple[Function, Function]:
    """Return the forward and the backward pass of a function as two functions.

    Args:
      fun: takes pytrees of arrays of any shapes; with `has_aux`, returns ``(output, aux)``.
      argnums: position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns ``(output, aux)``.
      jitted: whether to compile both.
      saveable_args: tree of bools, a prefix of the tuple of selected arguments: which of them the
        VJP object may keep; see `vjp`.

    Returns:
      ``(fwd, bwd)``. ``fwd(*args, **kwargs)`` returns ``(output, f_vjp)`` or ``(output, f_vjp,
      aux)``, where `f_vjp` is a `VJP` over the selected arguments. ``bwd(f_vjp, ct)`` returns one
      cotangent for an int `argnums`, a tuple for a sequence.

    Raises:
      TypeError: `fun` is not callable, or too few positional arguments are passed.

    Example:
      >>> import tans_lax as lax
      >>> fwd, bwd = fwd_and_bwd(lax.mul, argnums=0)
      >>> y, f_vjp = fwd(2.0, 3.0)
      >>> float(bwd(f_vjp, 1.0))
      3.0
    """
    check_callable("fwd_and_bwd", fun)
    nums = canonical_argnums("fwd_and_bwd", argnums)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        where = positions("fwd_and_bwd", nums, len(args))

        @functools.wraps(fun)
        def of_selected(*selected: Any, **keywords: Any) -> Any:
            return fun(*put(args, where, selected), **keywords)

        selected = tuple(args[i] for i in where)
        return pullback(of_selected, selected, kwargs, has_aux, saveable_args, None)

    def bwd(f_vjp: VJP, out_ct: Any) -> Any:
        if not isinstance(f_vjp, VJP):
            raise TypeError(
                message(
                    f"bwd of {debug_info_of('fwd_and_bwd', fun).name}",
                    f"{type(f_vjp).__name__} as the first argument",
                    "the VJP object that fwd returned",
                    "Write out, f_vjp = fwd(*args), then bwd(f_vjp, ct).",
                )
            )
        cts = f_vjp(out_ct)
        return cts[0] if isinstance(nums, int) else cts

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
