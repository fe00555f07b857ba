"""The one Python frame of a composite: it has the parameters of the function, each by its name.

A call through ``*args, **kwargs`` packs a tuple and a dictionary and unpacks both again, which on
small arrays is 15 per cent of the whole. So the frame is written out per list of parameters. An
array in front tells more cheaply than the thread's state that the call may be known, and a call
that gives nothing but the required arguments hands on only these.
"""

import builtins
import functools
import sys
from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any, Final

from tans_core import ArrayImpl, state
from tans_core.trace import eval_trace

_LINE: Final = sys._getframe().f_lineno + 2  # where a traceback finds the frame's source
_SOURCE: Final = """
def frame({parameters}):
    if {is_known}:
        try:
            {shorter}
            return _compiled({arguments})
        except ValueError:
            if _is_hashable({arguments}):
                raise
    return _fun({arguments})
"""
_EVALUATES: Final = "_state.trace is _evaluation"


def python_frame(fun: Any, jitted: Any, compiled: Any) -> Callable[..., Any]:
    """Return the function that is called in place of `fun`.

    Args:
      fun: the function, which is called while a program is traced.
      jitted: tells what is static, and whether the C++ object can look it up.
      compiled: the C++ object.
    """
    namespace = {
        "__builtins__": builtins,  # what is imported during a call looks for it in this frame
        "_state": state,
        "_evaluation": eval_trace,
        "_Array": ArrayImpl,
        "_fun": jitted.inline if jitted.is_whole else fun,
        "_compiled": compiled,
        "_is_hashable": jitted.has_hashable_statics,
    }
    code, statics = fun.__code__, jitted.options.static_argnames
    if _is_written_out(fun, statics):
        n, named = code.co_argcount, code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        positional = code.co_varnames[:n]
        defaults = (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values())
        required = n - len(fun.__defaults__ or ())
        is_array = n > 0 and positional[0] not in statics
        is_shorter = required > 0 and tuple(fun.__kwdefaults__ or ()) == named
        own = _code(n, code.co_posonlyargcount, named, is_array, required if is_shorter else None)
        # Compiling takes longer than all else here, and this runs on import: so the code is shared
        # by the functions with as many parameters, and the names put in.
        own = own.replace(co_varnames=positional + named)
        namespace |= {f"_d{i}": default for i, default in enumerate(defaults)}
        frame = FunctionType(own, namespace, argdefs=fun.__defaults__)
        frame.__kwdefaults__ = fun.__kwdefaults__
    else:
        frame = FunctionType(_compile("*args, **kwargs", "*args, **kwargs"), namespace)
    frame.__code__ = frame.__code__.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    return functools.update_wrapper(frame, fun)


def _is_written_out(fun: Any, statics: tuple[str, ...]) -> bool:
    """Whether all arguments can be handed on with each call.

    A default that is an operand would be transferred each time, so it stays out of the call.
    """
    code = fun.__code__
    positional = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(reversed(positional), reversed(fun.__defaults__ or ()), strict=False))
    defaults |= fun.__kwdefaults__ or {}
    operands = defaults.keys() - set(statics)
    packed = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    return not packed and all(defaults[name] is None for name in operands)


@functools.cache
def _code(
    n: int, n_positional_only: int, named: tuple[str, ...], is_array: bool, required: int | None
) -> CodeType:
    """Return the code for `n` parameters, and some that are given by name only.

    Args:
      n: number of parameters that may be given by position.
      n_positional_only: how many of them must be.
      named: names of those that must be given by name.
      is_array: whether the first one is an operand.
      required: number of parameters without a default; None if all are always handed on.
    """
    positional = [f"_{i}" for i in range(n)]
    parameters = list(positional)
    if n_positional_only:
        parameters.insert(n_positional_only, "/")
    if named:
        parameters += ["*", *named]
    optional = [] if required is None else [*positional[required:], *named]
    same = " and ".join(f"{name} is _d{i}" for i, name in enumerate(optional))
    return _compile(
        ", ".join(parameters),
        ", ".join([*positional, *(f"{name}={name}" for name in named)]),
        f"type(_0) is _Array or {_EVALUATES}" if is_array else _EVALUATES,
        f"if {same}: return _compiled({', '.join(positional[:required])})" if same else "pass",
    )


@functools.cache
def _compile(
    parameters: str, arguments: str, is_known: str = _EVALUATES, shorter: str = "pass"
) -> CodeType:
    source = _SOURCE.format(
        parameters=parameters, arguments=arguments, is_known=is_known, shorter=shorter
    )
    module = compile("\n" * (_LINE - 2) + source, __file__, "exec")
    return next(code for code in module.co_consts if isinstance(code, CodeType))
