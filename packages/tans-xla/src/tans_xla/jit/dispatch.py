"""The Python side of a jitted call: what happens when C++ does not know the call yet."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core import JaxprTrace, eval_jaxpr, recording_trace, state
from tans_core.config import concrete_mesh, explain_cache_misses
from tans_core.debug_info import CallInfo, DebugInfo, name_of
from tans_core.partition_spec import PartitionSpec
from tans_core.refs import RefView, is_ref_type
from tans_core.sharding import named_sharding, single_device_sharding
from tans_core.staging import infer
from tans_core.trace import eval_trace
from tans_core.tracebacks import hide_frames
from tans_core.tree import registry
from tans_xla import backend, debug_checks
from tans_xla import placement as placements
from tans_xla.compile import compile_context
from tans_xla.dispatch_object import make_dispatch
from tans_xla.executable import Executable, check_not_deleted, compile_closed
from tans_xla.explicit_shardings import result_shardings
from tans_xla.jit import cache_misses, high
from tans_xla.jit.primitive import jit_p
from tans_xla.jit.refs import PureProgram, opened, run_with_refs
from tans_xla.jit.shardings import flat_shardings
from tans_xla.jit.signature import Inline, JitOptions, normalize
from tans_xla.jit.tracing import Call, Key, Program, key_of, programs_of, record
from tans_xla.physical import physical_value
from tans_xla.ref_checks import check_distinct, check_not_captured
from tans_xla.wide_arrays import holds_wide, narrowed


def _no_function() -> None:
    """Stand for a function that is not called again."""


class Jitted:
    """A function with its jit options; what the C++ object asks when it misses.

    Args:
      fun: the function.
      options: its options.
      table: recorded programs; by default those shared by all jits of `fun`.
    """

    __slots__ = ("fun", "name", "options", "table")

    def __init__(
        self,
        fun: Callable[..., Any],
        options: JitOptions,
        table: dict[Key, Program] | None = None,
    ) -> None:
        self.fun = fun
        self.name = name_of(fun)
        self.options = options
        self.table = programs_of(fun) if table is None else table

    def without_function(self) -> "Jitted":
        """Return one with the same name and options, which does not keep the function alive."""
        other = Jitted(_no_function, self.options, table={})
        other.name = self.name
        return other

    def trace(self, args: tuple, kwargs: dict, traced_for: str = "jit") -> tuple[Call, Program]:
        """Split the arguments and record the program (or find it)."""
        call = Call(self.options, self.name, args, kwargs)
        key = key_of(call)
        if key is None and any(isinstance(x, RefView) for x in call.leaves):
            call = opened(call)
            key = key_of(call)
        refs = key is not None and any(map(is_ref_type, key[1]))
        if refs:
            self._check_refs((), call, traced_for)
        program = self.table.get(key) if key is not None else None
        if program is None:
            info = self.call_info(call, traced_for)
            if explain_cache_misses.value and key is not None:
                cache_misses.report_trace(self.name, key, list(self.table), info)
            program = record(self.fun, call, key, self.table, info)
        if refs and program.consts:
            self._check_refs(program.consts, call, traced_for)
        return call, program

    def _check_refs(self, consts: Sequence[Any], call: Call, traced_for: str) -> None:
        def name(i: int) -> str:
            return self.call_info(call, traced_for).arg_names[i]

        def place() -> str:
            return self.call_info(call, traced_for).place

        if not consts:
            check_distinct(call.leaves, place, name)
        else:
            check_not_captured(consts, call.leaves, place, name)

    def pure(self, call: Call, program: Program) -> PureProgram:
        """Return the form of a program with refs that works on their arrays."""
        found = program.pure.get(self.options)
        if found is None:
            found = program.pure.setdefault(self.options, PureProgram(program, self, call))
        return found

    def call_info(self, call: Call, traced_for: str) -> CallInfo:
        """Return the names of the function and its dynamic arguments, for messages."""
        positions = None
        if call.statics:
            static_at = normalize(self.options.static_argnums, call.num_args)
            positions = [i for i in range(call.num_args) if i not in static_at]
        return CallInfo(traced_for, self.fun, call.in_tree, positions)

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run one call through Python; return result, fast path or None, and False."""
        try:
            return self._miss(args, kwargs)
        except BaseException as error:
            hide_frames(error)
            raise

    def _miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any, bool]:
        if holds_wide(args, kwargs):
            return self._miss_of_wide(args, kwargs), None, False
        call, program = self.trace(args, kwargs)
        if state.trace is not eval_trace:
            return program.out_tree.unflatten(self.bind(call, program)), None, False
        whole = program
        call, program = self.low_form(call, program)
        consts = program.concrete_consts()
        values = [*consts, *call.leaves]
        if program.has_refs:
            outs = run_with_refs(self.pure(call, program), values, self.name)
            return program.out_tree.unflatten(outs), None, False
        flat = list(map(physical_value, values, program.closed.in_avals))
        executable = self.executable(call, program, flat)
        check_not_deleted(flat, self.name, program.input_name)
        checks = debug_checks.before_call(program.closed, values)
        outs = executable.call(flat)
        if debug_checks.enabled():
            debug_checks.check_call(outs, program.closed, values, self.name)
        for after in checks:
            after(outs)
        if program is not whole and high.is_split(whole):
            return whole.result(outs), None, False
        result = program.out_tree.unflatten(outs)
        fast_path = None if checks else executable.fast_path(result, flat[: len(consts)])
        return result, fast_path, False

    def _miss_of_wide(self, args: tuple, kwargs: dict) -> Any:
        """Run a call on 64-bit arrays while x64 is off."""
        return self._miss(*narrowed(args, kwargs))[0]

    def low_form(self, call: Call, program: Program) -> tuple[Call, Program]:
        """Return the call and the program to execute, without user primitives and types."""
        return high.low_form(self, call, program)

    def bind(self, call: Call, program: Program) -> list[Any]:
        """Hand the call to the current trace."""
        options = self.options
        if options.compiler_options and recording_trace() is not None:
            raise self._nested_options()
        if options.inline is Inline.JAX_EARLY:
            return eval_jaxpr(program.closed.jaxpr, (), *program.consts, *call.leaves)
        trace = state.trace
        if type(trace) is not JaxprTrace:
            return jit_p.bind(*program.consts, *call.leaves, **self.params(call, program))
        # The types of the operands are those of the program, so its equation can be kept.
        # A spec among the options means a sharding over the context mesh.
        key = (options, concrete_mesh.value)
        op = program.ops.get(key)
        if op is None:
            params = self.params(call, program)
            op = program.ops[key] = infer(jit_p, program.closed.in_avals, params)
        return trace.record_op(op, [*program.consts, *call.leaves])

    def _nested_options(self) -> ValueError:
        given = {name: value for name, (_, value) in self.options.compiler_options}
        return ValueError(
            f"jit: given compiler_options={given} for {DebugInfo('jit', self.fun).place}, which "
            "another traced function calls; expected options on the outermost jit only, since XLA "
            "compiles all of it at once. Move compiler_options to the outer jit."
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
            tuple(_filled(x, at in positions) for x, at in zip(args, dynamic_at, strict=True)),
            {k: _filled(x, k in options.donate_argnames) for k, x in kwargs.items()},
        )
        return tuple(registry.flatten(marked)[0])

    def executable(self, call: Call, program: Program, flat: Sequence[Any]) -> Executable:
        """Return the compiled form for these concrete arguments."""
        placement, outs = self.placement(call, program, flat)
        donated = (False,) * len(program.consts) + self.donated(call)
        return compiled(program, placement, donated, outs, self.options)

    def placement(
        self, call: Call, program: Program, flat: Sequence[Any], ins: Sequence[Any] | None = None
    ) -> tuple[placements.Placement, tuple[Any, ...]]:
        """Return where the program runs, and the sharding asked for of each result.

        Args:
          call: the call.
          program: its program.
          flat: constants and dynamic leaves.
          ins: sharding per dynamic leaf that stands for its argument's, or None.
        """
        requested, outs = flat_shardings(self.options, call.in_tree, program.out_tree, self.name)
        if ins is not None:
            requested = tuple(
                r if r is not None else s for r, s in zip(requested, ins, strict=True)
            )
        requested = (None,) * len(program.consts) + requested
        placements.check_shapes(requested, program.closed.in_avals, program.input_name, self.name)
        placements.check_shapes(outs, program.closed.out_avals, "result {}".format, self.name)
        inner = program.shardings() if not any(requested) and not any(outs) else []
        others = [(f"result {i}", s) for i, s in enumerate(outs) if s is not None] + inner
        device = self.device()
        if device is not None:
            others.append(("option device or backend", single_device_sharding(device)))
        avals = program.closed.out_avals
        unplaced = avals if ins is None else ()
        found = placements.resolve(flat, requested, others, program.input_name, self.name, unplaced)
        count = len(found.devices)
        known = [*found.in_shardings, *(s for _, s in others)]
        if not known and count > 1 and (mesh := placements.mesh_of_types(unplaced, self.name)):
            known.append(named_sharding(mesh, PartitionSpec()))
        return found, result_shardings(known, avals, outs, count)

    def device(self) -> Any:
        """Return the device asked for by `device` or `backend`, or None."""
        if self.options.device is not None:
            return self.options.device
        if self.options.backend is not None:
            return backend.local_devices(backend=self.options.backend)[0]
        return None


def compiled(
    program: Program,
    placement: placements.Placement,
    donated: tuple[bool, ...],
    out_shardings: tuple[Any, ...],
    options: JitOptions,
) -> Executable:
    """Return the executable of a program for a placement, compiled now or before."""
    key = (
        placement,
        donated,
        out_shardings,
        options.keep_unused,
        options.compiler_options,
        compile_context(),
    )
    found = program.executables.get(key)
    if found is None:
        if explain_cache_misses.value and program.executables:
            cache_misses.report_compile(program.info.name, key, list(program.executables))
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
