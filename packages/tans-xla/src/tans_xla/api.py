"""Functions that look at a program without running it: `make_jaxpr`, `eval_shape`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tans_core import named_scope
from tans_core.axis_env import extend_axis_env
from tans_core.debug_info import name_of
from tans_xla.jit.dispatch import Jitted
from tans_xla.jit.signature import JitOptions, check_callable, resolve_arguments
from tans_xla.shape_dtype_struct import struct_of
from tans_xla.stages import close
from tans_xla.wide_arrays import narrowed


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return a function that records `fun` and returns its jaxpr.

    Args:
      fun: a function of arrays and trees of arrays.
      static_argnums: positions of arguments that are Python values.
      axis_env: names and sizes of mapped axes that `fun` may refer to.
      return_shape: also return the result's types as a tree of `ShapeDtypeStruct`.

    Example:
      >>> import tans_lax as lax
      >>> print(make_jaxpr(lambda x: lax.mul(x, 2.0))(3.0))
      { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    check_callable("make_jaxpr", fun)
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    nums, names = resolve_arguments(fun, nums or None, None, "static")
    options = JitOptions(static_argnums=nums, static_argnames=names)

    def make(*args: Any, **kwargs: Any) -> Any:
        with extend_axis_env(axis_env or ()):
            _, program = Jitted(fun, options).trace(*narrowed(args, kwargs), "make_jaxpr")
        closed = close(program)
        if not return_shape:
            return closed
        return closed, program.out_tree.unflatten(map(struct_of, closed.out_avals))

    make.__name__ = f"make_jaxpr({getattr(fun, '__name__', fun)})"
    return make


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the types of ``fun(*args, **kwargs)`` without computing it.

    Args:
      fun: a function of arrays and trees of arrays.
      args: arrays, `ShapeDtypeStruct` or anything with a type.
      kwargs: likewise.

    Returns:
      The result with a `ShapeDtypeStruct` in place of each array.

    Example:
      >>> import tans_lax as lax
      >>> eval_shape(lambda x: lax.mul(x, 2.0), 3.0)
      ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
    """
    check_callable("eval_shape", fun)
    _, program = Jitted(fun, JitOptions()).trace(*narrowed(args, kwargs), "eval_shape")
    return program.out_tree.unflatten(map(struct_of, program.closed.out_avals))


def named_call[**P, R](fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Return `fun` with its operations named after it in programs and profiles.

    Args:
      fun: any function.
      name: the name to use; that of the function by default.

    Example:
      >>> import tans_lax as lax
      >>> float(named_call(lambda x: lax.mul(x, 2.0), name="double")(3.0))
      6.0
    """
    check_callable("named_call", fun)
    scope = name_of(fun) if name is None else name

    @functools.wraps(fun)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return call
