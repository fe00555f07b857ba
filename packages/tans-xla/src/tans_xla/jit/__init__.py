"""`jit`: compile a function of arrays, and run it from C++ on later calls."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypedDict, Unpack, overload

from tans_xla import compile as compiling
from tans_xla.jit import stage_methods
from tans_xla.jit.dispatch import Jitted, make_cpp_function
from tans_xla.jit.primitive import jit_p as jit_p
from tans_xla.jit.shardings import Frozen
from tans_xla.jit.signature import (
    Inline,
    JitOptions,
    check_callable,
    check_disjoint,
    inline_of,
    resolve_arguments,
)
from tans_xla.stages import Lowered, Traced

__all__ = ["Inline", "JitWrapped", "jit", "jit_p"]

type Given = tuple[Any, Any]  # positions and names as the user gave them

stage_methods.attach()


class JitWrapped(Protocol):
    """What `jit` returns: the function, with methods that look at its stages."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""
        ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Record the program for these arguments without running it."""
        ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Record and lower the program for these arguments."""
        ...

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the types of the result."""
        ...

    def clear_cache(self) -> None:
        """Forget the recorded and compiled programs."""
        ...


class JitKeywords(TypedDict, total=False):
    """The options of `jit`, for type checkers."""

    in_shardings: Any
    out_shardings: Any
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    device: Any
    backend: str | None
    inline: bool | Inline
    compiler_options: dict[str, Any] | None


@overload
def jit(fun: Callable[..., Any], /, **options: Unpack[JitKeywords]) -> JitWrapped: ...
@overload
def jit(
    fun: None = None, /, **options: Unpack[JitKeywords]
) -> Callable[[Callable[..., Any]], JitWrapped]: ...
def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile `fun` with XLA when it is called.

    The first call with new argument types traces and compiles; later calls run from C++.

    Args:
      fun: a function of arrays (any shape and dtype), scalars and trees of them. Without it, the
        result is a decorator.
      in_shardings: tree prefix of shardings for the positional arguments; None leaves a choice to
        the arguments.
      out_shardings: tree prefix of shardings for the result; None leaves the choice to XLA.
      static_argnums: positions of arguments that are hashable Python values, compiled in.
      static_argnames: names of such arguments. One of the two is completed from the other.
      donate_argnums: positions of arguments whose buffers the program may overwrite.
      donate_argnames: names of such arguments.
      keep_unused: keep arguments that the program does not read.
      device: device to run on.
      backend: platform to run on.
      inline: True puts the operations of a nested call into the caller when that is lowered; an
        `Inline` says when.
      compiler_options: XLA options for this function: name to bool, int, float or str.

    Returns:
      A callable with the methods `trace`, `lower`, `eval_shape` and `clear_cache`.

    Raises:
      TypeError: `fun` is not callable, or an option has the wrong type.
      ValueError: an option names an argument that does not exist.

    Example:
      >>> import tans_lax as lax
      >>> float(jit(lambda x: lax.mul(x, 2.0))(3.0))
      6.0
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _make(
            function,
            in_shardings=None if in_shardings is None else Frozen(in_shardings, "in_shardings"),
            out_shardings=(
                None if out_shardings is None else Frozen(out_shardings, "out_shardings")
            ),
            static=(static_argnums, static_argnames),
            donate=(donate_argnums, donate_argnames),
            keep_unused=bool(keep_unused),
            device=device,
            backend=backend,
            inline=inline_of(inline),
            compiler_options=compiling.option_items(compiler_options),
        )

    return decorate if fun is None else decorate(fun)


def _make(fun: Callable[..., Any], *, static: Given, donate: Given, **options: Any) -> JitWrapped:
    check_callable("jit", fun)
    statics = static_argnums, static_argnames = resolve_arguments(fun, *static, "static")
    donated = donate_argnums, donate_argnames = resolve_arguments(fun, *donate, "donate")
    check_disjoint(statics, donated, fun)
    jitted = Jitted(
        fun,
        JitOptions(
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            **options,
        ),
    )
    compiled = make_cpp_function(jitted)
    functools.update_wrapper(compiled, fun)
    compiled._jitted = jitted
    return compiled
