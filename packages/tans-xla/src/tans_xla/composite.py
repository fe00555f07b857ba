"""`composite`: NumPy-level functions that are one compiled unit on concrete arrays.

On concrete arrays a composite is one C++ jit entry; while a program is traced it runs inline, so
it leaves no call in the program and costs one Python frame.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload, override

from tans_core import state
from tans_core.trace import eval_trace
from tans_xla.jit.dispatch import Jitted, make_cpp_function
from tans_xla.jit.signature import JitOptions
from tans_xla.ref_checks import is_ref


class _Composite(Jitted):
    """A function of arrays only."""

    __slots__ = ()

    @override
    def _check_refs(self, consts: Sequence[Any], call: Any, traced_for: str) -> None:
        i, ref = next((i, x) for i, x in enumerate(call.leaves) if is_ref(x))
        name = self.name.strip("_")
        raise TypeError(
            f"{name}: given a ref of type {ref.aval.str_short(False)} as "
            f"{self.call_info(call, traced_for).arg_names[i]}; expected an array. Read the value "
            "first: write ref[...] instead of ref."
        )


@overload
def composite[F: Callable[..., Any]](fun: F, /) -> F: ...
@overload
def composite[F: Callable[..., Any]](
    *, static_argnames: Sequence[str] = (), static_argnums: Sequence[int] = ()
) -> Callable[[F], F]: ...
def composite(
    fun: Any = None,
    /,
    *,
    static_argnames: Sequence[str] = (),
    static_argnums: Sequence[int] = (),
) -> Any:
    """Compile `fun` as one unit when it is called on concrete arrays.

    Args:
      fun: a function of arrays (any shape and dtype) and static arguments.
      static_argnames: names of arguments that are hashable Python values. Arguments that are
        passed by position must be named in `static_argnums` too.
      static_argnums: positions of such arguments.
    """
    if fun is None:
        return functools.partial(
            composite, static_argnames=static_argnames, static_argnums=static_argnums
        )
    options = JitOptions(
        static_argnums=tuple(static_argnums), static_argnames=tuple(static_argnames)
    )
    jitted = _Composite(fun, options)
    compiled = make_cpp_function(jitted)
    compiled._jitted = jitted

    def call(*args: Any, **kwargs: Any) -> Any:
        if state.trace is eval_trace:
            return compiled(*args, **kwargs)
        return fun(*args, **kwargs)

    # Operators test their operand first and then choose between the two in the same frame.
    functools.update_wrapper(call, fun)
    call.compiled = compiled  # pyright: ignore[reportFunctionMemberAccess]
    call.inline = fun  # pyright: ignore[reportFunctionMemberAccess]
    return call
