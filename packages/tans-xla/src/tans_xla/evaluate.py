"""Eager evaluation: one primitive with its params is one C++ jit object."""

from collections.abc import Callable
from typing import Any

from tans_core import Primitive, eval_trace
from tans_core.config import disable_jit
from tans_core.trace import is_evaluating
from tans_xla import debug_checks
from tans_xla.jit.dispatch import Jitted, make_cpp_function
from tans_xla.jit.signature import JitOptions

_OPTIONS = JitOptions()


def compile_primitive(primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """Return a compiled function of the primitive's operands."""

    def run(*args: Any) -> Any:
        if is_evaluating():  # jit is disabled, so the C++ object calls us without tracing
            with disable_jit(False):
                return function(*args)
        return primitive.bind(*args, **params)

    run.__name__ = run.__qualname__ = primitive.name
    # The programs hold `run` through the bodies in `params`, so they may not be in a table that
    # keeps them for as long as `run` lives.
    options = _OPTIONS._replace(compiler_options=params.get("compiler_options_kvs", ()))
    jitted = Jitted(run, options, table={})
    function = make_cpp_function(jitted)
    # The C++ object holds the function weakly; its Jitted holds it.
    function._jitted = jitted
    return function


def install() -> None:
    """Make `EvalTrace` compile with XLA."""
    eval_trace.compiler = compile_primitive
    debug_checks.install()
