"""`explain`: what a function costs from its first trace to its fastest run, on one screen."""

import time
from collections.abc import Callable
from typing import Any

from tans_compiler.explaining.equations import count_equations
from tans_compiler.explaining.hlo import ProgramFacts
from tans_compiler.explaining.report import Explanation, Phase
from tans_compiler.explaining.slow_lines import measure
from tans_core import ArrayImpl, tree
from tans_xla import ShapeDtypeStruct, block_until_ready, jit
from tans_xla.communication import report_of
from tans_xla.stages import Compiled, Lowered, Traced

__all__ = ["Explanation", "explain", "explain_compiled"]

_RUNS = 5


def explain(f: Callable[..., Any], /, *args: Any, run: bool = True, **kwargs: Any) -> Explanation:
    """Trace, lower, compile and run a function, and say what each cost and what came out.

    Args:
      f: a jitted function, or one to jit; or what `trace`, `lower` or `compile` returned.
      *args: its arguments; `ShapeDtypeStruct` stands for arrays, and then nothing runs.
      run: whether to run the program (twice to warm up, then five times, then once under the
        profiler). Programs with effects or donated arguments are not run.
      **kwargs: its keyword arguments.

    Returns:
      An `Explanation`: prints as one screen; ``to_json()`` has all of it.

    Raises:
      TypeError: `f` is not callable, or an argument is no value.

    Example:
      >>> import tans_lax as lax
      >>> print(explain(lambda x: lax.sin(lax.mul(x, 2.0)), 1.0).equations)
      {'mul': 1, 'sin': 1}
    """
    given: Any = f.lower() if isinstance(f, Traced) else f
    if isinstance(given, Lowered | Compiled):
        compiled = given if isinstance(given, Compiled) else given.compile()
        if not run:
            return _explain(compiled, "run=False", (args, kwargs))
        return explain_compiled(compiled, *args, **kwargs)
    if not callable(f):
        raise TypeError(
            f"explain: given {f!r} of type {type(f).__name__}, expected a function and its "
            "arguments. Pass the function itself, without calling it."
        )
    function: Any = f if hasattr(f, "_jitted") else jit(f)
    jitted = function._jitted
    known = len(jitted.table)
    traced = function.trace(*args, **kwargs)
    trace_hit = len(jitted.table) == known
    call, program = jitted.low_form(traced._call, traced._program)
    concrete = not any(isinstance(x, ShapeDtypeStruct) for x in call.leaves)
    if concrete and not program.has_refs:
        before = len(program.executables)
        flat = [*program.concrete_consts(), *call.leaves]
        executable = jitted.executable(call, program, flat)
        compiled, found = Compiled(traced, executable), len(program.executables) == before
    else:
        compiled, found = traced.lower().compile(), False
    why_not = None if run else "run=False"
    if not concrete:
        why_not = "arguments are types, not arrays"
    # Static arguments are compiled in, so that the compiled program takes the others only.
    explanation = _explain(compiled, why_not, traced.in_tree.unflatten(traced._call.leaves))
    return explanation.with_caches(
        trace="hit" if trace_hit else "miss",
        compile="in this process" if found else explanation.caches["compile"],
    )


def explain_compiled(compiled: Compiled, *args: Any, **kwargs: Any) -> Explanation:
    """Explain a compiled program; it is run when arguments are given."""
    given = bool(args or kwargs or not compiled.in_tree.num_leaves)
    why_not = None if given else "no arguments were given"
    return _explain(compiled, why_not, (args, kwargs))


def _explain(
    compiled: Compiled, why_not: str | None, arguments: tuple[tuple[Any, ...], dict[str, Any]]
) -> Explanation:
    executable = compiled._executable
    lowered = executable.lowered
    facts = ProgramFacts(compiled.as_text())
    why_not = why_not or _reason_not_to_run(compiled)
    first = best = None
    lines = None
    if why_not is None:
        args, kwargs = arguments
        first, best = _times(lambda: compiled(*args, **kwargs))
        lines = measure(lambda: compiled(*args, **kwargs), facts)
    program = compiled._traced._program
    is_stored = lowered.module is None  # loaded from bytes, which hold no equations
    devices = executable.placement.devices
    cost = _first(compiled.cost_analysis())
    return Explanation(
        name=lowered.name,
        platform=devices[0].platform,
        device_kind=devices[0].device_kind,
        device_count=len(devices),
        phases=(
            Phase("trace", None if is_stored else program.seconds),
            Phase("lower", None if is_stored else lowered.seconds),
            Phase("compile", None if is_stored else executable.seconds),
            Phase("first run", first),
            Phase("run", best),
        ),
        not_run=why_not,
        caches={"trace": None, "compile": "on disk" if executable.from_cache else "miss"},
        equations=None if is_stored else count_equations(program.closed.jaxpr),
        memory=_memory(compiled),
        buffers=facts.largest_buffers(),
        flops=cost.get("flops"),
        bytes_accessed=cost.get("bytes accessed"),
        transcendentals=cost.get("transcendentals"),
        instructions=facts.instruction_count,
        fusions=facts.fusions(),
        custom_calls=facts.custom_calls(),
        communication=report_of(executable),
        slowest_lines=lines,
    )


def _reason_not_to_run(compiled: Compiled) -> str | None:
    executable = compiled._executable
    if executable.is_absent:
        return "its hardware is absent"
    if not executable.is_pure:
        return "the program has effects or calls Python functions"
    if compiled.donate_argnums:
        return "arguments are donated"
    return "the program changes refs" if compiled._program.has_refs else None


def _times(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of the first run and of the fastest of some later ones."""
    taken = []
    for _ in range(_RUNS + 2):
        start = time.perf_counter()
        block_until_ready(call())
        taken.append(time.perf_counter() - start)
    return taken[0], min(taken[2:])


def _memory(compiled: Compiled) -> dict[str, int]:
    stats: Any = compiled.memory_analysis()
    found = {
        "arguments": stats.argument_size_in_bytes,
        "results": stats.output_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes,
        "reused arguments": stats.alias_size_in_bytes,
        "code": stats.generated_code_size_in_bytes,
        "host temporaries": stats.host_temp_size_in_bytes,
    }
    consts = [x for x in tree.leaves(compiled._consts) if isinstance(x, ArrayImpl)]
    found["captured constants"] = sum(x.nbytes for x in consts)
    return found


def _first(cost: Any) -> dict[str, float]:
    if isinstance(cost, list):
        cost = cost[0] if cost else None
    return cost or {}
