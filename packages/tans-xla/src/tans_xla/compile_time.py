"""`ensure_compile_time_eval`: run operations on constants while a program is traced."""

from typing import Any, override

from tans_core import Primitive, Trace, Tracer, eval_trace, set_current_trace, state
from tans_xla.wide_arrays import narrow_all


class CompileTimeTrace(Trace):
    """Runs operations on concrete values; passes those on traced values to the parent."""

    __slots__ = ()

    @override
    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        traced = any(isinstance(x, Tracer) for x in args)
        trace = self.parent if traced and self.parent is not None else eval_trace
        args = tuple(narrow_all(args))
        with set_current_trace(trace):
            return trace.process(primitive, args, params)


class ensure_compile_time_eval(set_current_trace):  # noqa: N801  (a context manager)
    """Context manager: operations on concrete values run now, also inside of a jitted function.

    Their results are arrays, so Python may branch on them; operations on traced values are recorded
    as ever.

    Example:
      >>> import tans_lax as lax
      >>> from tans_xla import jit
      >>> @jit
      ... def f(x):
      ...     with ensure_compile_time_eval():
      ...         n = lax.add(1, 2)
      ...     return lax.mul(x, float(n))
      >>> float(f(2.0))
      6.0
    """

    __slots__ = ()

    def __init__(self) -> None:
        outer = state.trace
        super().__init__(outer if outer is eval_trace else CompileTimeTrace(outer))
