"""`composite`: NumPy-level functions that are one compiled unit on concrete arrays.

On concrete arrays a composite is one C++ jit entry; while a program is traced it runs inline, so
it leaves no call in the program and costs one Python frame.
"""

import functools
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, overload, override

from tans_core import is_value, recording_trace, state
from tans_core.trace import eval_trace
from tans_xla.composite_frame import python_frame
from tans_xla.jit.dispatch import Jitted, make_cpp_function
from tans_xla.jit.signature import JitOptions
from tans_xla.jit.tracing import Call, Program
from tans_xla.ref_checks import is_ref


class _Composite(Jitted):
    """A function of arrays and static arguments."""

    __slots__ = ("is_whole",)

    def inline(self, *args: Any, **kwargs: Any) -> Any:
        """Run a call under a trace: operation by operation, or as one where nothing is recorded."""
        if self.is_whole and state.trace is not eval_trace and recording_trace() is None:
            try:
                call, program = self.trace(args, kwargs)
            except (TypeError, ValueError):
                pass  # what the function refuses it shows as it was given
            else:
                return program.out_tree.unflatten(self.bind(call, program))
        return self.fun(*args, **kwargs)

    @override
    def trace(self, args: tuple, kwargs: dict, traced_for: str = "jit") -> tuple[Call, Program]:
        return super().trace(*self._plain(args, kwargs), traced_for)

    def _plain(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Return a call with static arguments by name, and without those that are the defaults.

        So all ways to write one call share its program. Dynamic arguments keep their order.
        """
        options = self.options
        if not options.static_argnames:
            return args, kwargs
        parameters = signature(self.fun).parameters
        names = [p.name for p in parameters.values() if p.kind is not p.POSITIONAL_ONLY]
        first = len(parameters) - len(names)
        n = len(args)
        while n > first and n - 1 in options.static_argnums:
            n -= 1
        named = dict(zip(names[n - first :], args[n:], strict=False))
        if named.keys() & kwargs:
            return args, kwargs  # given twice: the function itself raises
        kwargs = {**kwargs, **named}
        for name in options.static_argnames:
            parameter = parameters.get(name)
            if parameter and name in kwargs and _same(kwargs[name], parameter.default):
                del kwargs[name]
        return args[:n], kwargs

    @override
    def _miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any, bool]:
        if state.trace is not eval_trace:
            return self.inline(*args, **kwargs), None, False
        try:
            return super()._miss(args, kwargs)
        except TypeError as error:
            failure = error
        if all(is_value(x) or x is None for x in self._split(args, kwargs)[0]):
            raise failure
        # What the function refuses it shows: as it was given, and not as tracers of its parts.
        return self.fun(*args, **kwargs), None, False

    def _split(self, args: tuple, kwargs: dict) -> tuple[list[Any], list[Any]]:
        """Return the dynamic and the static arguments."""
        positions, names = self.options.static_argnums, self.options.static_argnames
        both: tuple[list[Any], list[Any]] = [], []
        for i, x in enumerate(args):
            both[i in positions].append(x)
        for name, x in kwargs.items():
            both[name in names].append(x)
        return both

    def has_hashable_statics(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the C++ object can look a call up."""
        try:
            hash(tuple(self._split(args, kwargs)[1]))
        except TypeError:
            return False
        return True

    @override
    def _check_refs(self, consts: Sequence[Any], call: Any, traced_for: str) -> None:
        i, ref = next((i, x) for i, x in enumerate(call.leaves) if is_ref(x))
        name = self.name.strip("_")
        raise TypeError(
            f"{name}: given a ref of type {ref.aval.str_short(False)} as "
            f"{self.call_info(call, traced_for).arg_names[i]}; expected an array. Read the value "
            "first: write ref[...] instead of ref."
        )


def _same(x: Any, default: Any) -> bool:
    return x is default or (type(x) is type(default) and x == default)


def _static_arguments(
    fun: Callable[..., Any], names: Sequence[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    if not names:
        return (), ()
    code = fun.__code__  # several times faster than `inspect.signature`, and this runs on import
    positional = code.co_varnames[: code.co_argcount]
    return tuple(i for i, name in enumerate(positional) if name in names), tuple(names)


@overload
def composite[F: Callable[..., Any]](fun: F, /) -> F: ...
@overload
def composite[F: Callable[..., Any]](
    *, static_argnames: Sequence[str] = (), is_whole: bool = False
) -> Callable[[F], F]: ...
def composite(
    fun: Any = None, /, *, static_argnames: Sequence[str] = (), is_whole: bool = False
) -> Any:
    """Compile `fun` as one unit when it is called on concrete arrays.

    Its own checks and choices by type run while it is traced, so a known call pays for none.

    Args:
      fun: a function of arrays (any shape and dtype) and static arguments.
      static_argnames: names of arguments that are Python values, given by position or name. A call
        with one that can't be hashed runs `fun` itself, operation by operation.
      is_whole: whether transformations that run eagerly work on the function as one call, so that
        its many operations are not compiled each for itself.
    """
    if fun is None:
        return functools.partial(composite, static_argnames=static_argnames, is_whole=is_whole)
    positions, names = _static_arguments(fun, static_argnames)
    jitted = _Composite(fun, JitOptions(static_argnums=positions, static_argnames=names))
    jitted.is_whole = is_whole
    compiled = make_cpp_function(jitted)
    compiled._jitted = jitted

    call: Any = python_frame(fun, jitted, compiled)
    # Operators test their operand first and then choose between the two in the same frame.
    call.compiled = compiled
    call.inline = fun
    return call
