"""Eager evaluation: one primitive with its params is one C++ jit object."""

from collections.abc import Callable
from typing import Any, override

from tans_core import Primitive, eval_trace
from tans_core.config import disable_jit, enable_x64
from tans_core.trace import is_evaluating
from tans_xla import debug_checks
from tans_xla.jit.dispatch import Jitted, make_cpp_function
from tans_xla.jit.signature import JitOptions
from tans_xla.ref_checks import repeated_refs

_OPTIONS = JitOptions()


class _Operation(Jitted):
    """The function of a primitive, several of whose operands may be one ref."""

    __slots__ = ("_by_aliases",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._by_aliases: dict[tuple[int, ...], Any] = {}

    @override
    def _miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any, bool]:
        places = repeated_refs(args)
        if places is None:
            return super()._miss(args, kwargs)
        function = self._by_aliases.get(places)
        if function is None:
            run = self.fun
            function = _compiled(lambda *unique: run(*(unique[i] for i in places)), self.options)
            self._by_aliases[places] = function
        unique = dict(zip(places, args, strict=True))
        return function(*(unique[i] for i in sorted(unique))), None, False

    @override
    def _miss_of_wide(self, args: tuple, kwargs: dict) -> Any:
        with enable_x64(True):
            return self._miss(args, kwargs)[0]


def _compiled(run: Callable[..., Any], options: JitOptions) -> Any:
    # The programs hold `run` through the bodies in its params, so they may not be in a table that
    # keeps them for as long as `run` lives.
    jitted = _Operation(run, options, table={})
    function = make_cpp_function(jitted)
    # The C++ object holds the function weakly; its Jitted holds it.
    function._jitted = jitted
    return function


def compile_primitive(primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """Return a compiled function of the primitive's operands."""

    def run(*args: Any) -> Any:
        if is_evaluating():  # jit is disabled, so the C++ object calls us without tracing
            with disable_jit(False):
                return function(*args)
        return primitive.bind(*args, **params)

    run.__name__ = run.__qualname__ = primitive.name
    options = _OPTIONS._replace(compiler_options=params.get("compiler_options_kvs", ()))
    function = _compiled(run, options)
    return function


def install() -> None:
    """Make `EvalTrace` compile with XLA."""
    eval_trace.compiler = compile_primitive
    debug_checks.install()
