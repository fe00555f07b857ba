"""The Python side of a jitted call: what happens when C++ does not know the call yet."""

from collections.abc import Callable, Sequence
from typing import Any


from tans_core import eval_jaxpr, state
from tans_core._jaxlib import ArrayImpl
from tans_core.debug_info import CallInfo, name_of
from tans_core.trace import eval_trace
from tans_core.tree import registry
from tans_xla import placement as placements
from tans_xla.dispatch_object import make_dispatch
from tans_xla.executable import Executable, compile_closed
from tans_xla.jit.primitive import jit_p
from tans_xla.jit.shardings import flat_shardings
from tans_xla.jit.signature import JitOptions, normalize
from tans_xla.jit.tracing import Call, Program, programs_of, record

class Jitted:
    """A function with its jit options; what the C++ object asks when it misses."""

    __slots__ = ("fun", "name", "options", "table")

    def __init__(self, fun: Callable[..., Any], options: JitOptions) -> None:
        self.fun = fun
        self.name = name_of(fun)
        self.options = options
        self.table = programs_of(fun)

    def trace(self, args: tuple, kwargs: dict, traced_for: str = "jit") -> tuple[Call, Program]:
        """Split the arguments and record the program (or find it)."""
        call = Call(self.options, self.name, args, kwargs)
        positions = None
        if call.statics:
            static_at = normalize(self.options.static_argnums, len(args))
            positions = [i for i in range(len(args)) if i not in static_at]
        info = CallInfo(traced_for, self.fun, call.in_tree, positions)
        return call, record(self.fun, call, self.table, info)

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run one call through Python; return result, fast path or None, and False."""
        call, program = self.trace(args, kwargs)
        if state.trace is not eval_trace:
            return program.out_tree.unflatten(self.bind(call, program)), None, False
        flat = [*program.consts, *call.leaves]
        executable = self.executable(call, program, flat)
        outs = executable.call(flat)
        fast = executable.fast_path(program.out_tree, len(program.consts), flat)
        if fast is not None and not _fast_args_ok(flat[: len(program.consts)]):
            fast = None
        return program.out_tree.unflatten(outs), fast, False

    def bind(self, call: Call, program: Program) -> list[Any]:
        """Hand the call to the current trace."""
        if self.options.inline:
            return eval_jaxpr(program.closed.jaxpr, (), *program.consts, *call.leaves)
        return jit_p.bind(
            *program.consts, *call.leaves, **self.params(call, program)
        )

    def params(self, call: Call, program: Program) -> dict[str, Any]:
        """Return the params of the call's equation."""
        n_consts = len(program.consts)
        ins, outs = flat_shardings(self.options, call.in_tree, program.out_tree, self.name)
        return {
            "jaxpr": program.closed,
            "name": self.name,
            "donated_invars": (False,) * n_consts + self.donated(call),
            "in_shardings": (None,) * n_consts + ins,
            "out_shardings": outs,
            "keep_unused": self.options.keep_unused,
            "inline": self.options.inline,
            "compiler_options_kvs": self.options.compiler_options,
        }

    def donated(self, call: Call) -> tuple[bool, ...]:
        """Return which dynamic leaves are donated."""
        options = self.options
        if not options.donate_argnums and not options.donate_argnames:
            return (False,) * len(call.leaves)
        positions = normalize(options.donate_argnums, call.num_args)
        static_at = {w for w, _ in call.statics if isinstance(w, int)}
        dynamic_at = [i for i in range(call.num_args) if i not in static_at]
        args, kwargs = call.in_tree.unflatten([0] * len(call.leaves))
        marked = (
            tuple(
                _filled(x, at in positions) for x, at in zip(args, dynamic_at, strict=True)
            ),
            {k: _filled(x, k in options.donate_argnames) for k, x in kwargs.items()},
        )
        return tuple(registry.flatten(marked)[0])

    def executable(self, call: Call, program: Program, flat: Sequence[Any]) -> Executable:
        """Return the compiled form for these concrete arguments."""
        ins, outs = flat_shardings(self.options, call.in_tree, program.out_tree, self.name)
        n_consts = len(program.consts)
        placement = placements.resolve(
            flat,
            (None,) * n_consts + ins,
            outs,
            self.device(),
            lambda i: program.info.arg_names[i - n_consts] if i >= n_consts else "a constant",
            self.name,
        )
        donated = (False,) * n_consts + self.donated(call)
        return compiled(program, placement, donated, outs, self.options)

    def device(self) -> Any:
        """Return the device asked for by `device` or `backend`, or None."""
        if self.options.device is not None:
            return self.options.device
        if self.options.backend is not None:
            return placements.backend.local_devices(backend=self.options.backend)[0]
        return None


def compiled(
    program: Program,
    placement: placements.Placement,
    donated: tuple[bool, ...],
    out_shardings: tuple[Any, ...],
    options: JitOptions,
) -> Executable:
    """Return the executable of a program for a placement, compiled now or before."""
    key = (placement, donated, out_shardings, options.keep_unused, options.compiler_options)
    found = program.executables.get(key)
    if found is None:
        made = compile_closed(
            program.closed,
            program.info.name,
            placement,
            donated=donated,
            out_shardings=out_shardings,
            keep_unused=options.keep_unused,
            options=options.compiler_options,
        )
        found = program.executables.setdefault(key, made)
    return found


def _filled(tree: Any, value: bool) -> Any:
    leaves, treedef = registry.flatten(tree)
    return treedef.unflatten([value] * len(leaves))


def _fast_args_ok(consts: Sequence[Any]) -> bool:
    return all(type(c) is ArrayImpl for c in consts)


def make_cpp_function(jitted: Jitted) -> Any:
    """Return the C++ object that dispatches calls of a jitted function."""
    options = jitted.options
    return make_dispatch(
        jitted.name,
        jitted.miss,
        options,
        jitted.fun,
        options.static_argnums,
        options.static_argnames,
    )
