"""Calls with refs: the pure program runs on the refs' arrays, which it overwrites in place.

The array of each ref that the program writes is donated and aliased to the result that is its new
value; the refs get the new arrays once the program was started without an error. They are locked
meanwhile, so calls of several threads happen one after another.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import starmap
from typing import TYPE_CHECKING, Any

from tans_core.refs import RefCell, RefView, is_ref_type
from tans_core.tree import registry
from tans_xla import debug_checks
from tans_xla import placement as placements
from tans_xla.compile import compile_context
from tans_xla.discharge import discharged
from tans_xla.dispatch_object import make_dispatch
from tans_xla.executable import check_not_deleted, compile_closed
from tans_xla.explicit_shardings import result_shardings
from tans_xla.physical import physical_value

if TYPE_CHECKING:
    from tans_xla.jit.dispatch import Jitted
    from tans_xla.jit.tracing import Call, Program

type Value = Any


class PureProgram:
    """The pure form of a recorded program, with a C++ object that runs it.

    Attributes:
      closed: ``(*arrays) -> (*results, *new values of written refs)``.
      ref_inputs: numbers of the inputs that are refs.
      written: numbers of the inputs that are refs and are written.
    """

    __slots__ = (
        "__weakref__", "_call", "_donated", "_executables", "_jitted", "_program", "closed",
        "count", "dispatch", "ref_inputs", "run", "written",
    )  # fmt: skip

    def __init__(self, program: "Program", jitted: "Jitted", call: "Call") -> None:
        self.closed, self.written = discharged(program.closed)
        self.ref_inputs = [i for i, a in enumerate(program.closed.in_avals) if is_ref_type(a)]
        self.count = len(self.closed.out_avals) - len(self.written)
        self._program = program
        # Without the function, which keeps this and would keep itself alive.
        self._jitted = jitted.without_function()
        # Without the values, which would live on.
        self._call = call = call.replace([0] * len(call.leaves), call.in_tree)
        donated = [False] * len(program.consts) + list(jitted.donated(call))
        for i in self.ref_inputs:
            donated[i] = i in self.written
        self._donated = donated
        self._executables: dict[Any, Any] = {}
        self.run = lambda *flat: self.miss(*flat)[0]
        self.dispatch = make_dispatch(jitted.name, self.miss, object(), self.run)

    @property
    def aliases(self) -> dict[int, int]:
        """Number of the result that overwrites an input, by the number of the input."""
        return {i: self.count + k for k, i in enumerate(self.written)}

    @property
    def donated(self) -> tuple[bool, ...]:
        """Which inputs may be overwritten."""
        return tuple(self._donated)

    def placement(
        self,
        jitted: "Jitted",
        call: "Call",
        flat: Sequence[Value],
        ins: Sequence[Any] | None = None,
    ) -> tuple[placements.Placement, tuple[Any, ...]]:
        """Return where the program runs and the shardings asked for of all results."""
        found, outs = jitted.placement(call, self._program, flat, ins)
        if len(found.devices) > 1:
            refs = [found.in_shardings[i] for i in self.written]
        else:
            refs = [None] * len(self.written)
        avals = self.closed.out_avals[self.count :]
        refs = result_shardings(found.in_shardings, avals, refs, len(found.devices))
        return found, (*outs, *refs)

    def miss(self, *arrays: Value) -> tuple[Any, Any, bool]:
        """Run one call through Python."""
        jitted, program, call = self._jitted, self._program, self._call
        flat = list(map(physical_value, arrays, self.closed.in_avals))
        check_not_deleted(flat, jitted.name, program.input_name)
        placement, outs = self.placement(jitted, call, flat)
        key = (placement, outs, compile_context())
        executable = self._executables.get(key)
        if executable is None:
            executable = compile_closed(
                self.closed,
                program.info.name,
                placement,
                donated=self._donated,
                aliases=self.aliases,
                out_shardings=outs,
                keep_unused=jitted.options.keep_unused,
                options=jitted.options.compiler_options,
            )
            self._executables[key] = executable
        found = executable.call(flat)
        if debug_checks.enabled():
            debug_checks.check_call(found, self.closed, flat, jitted.name)
        result = tuple(found)
        return result, executable.fast_path(result, ()), False


def opened(call: "Call") -> "Call":
    """Return the call with views of refs replaced by the refs and indices they consist of."""
    leaves = [x.opened() if isinstance(x, RefView) else x for x in call.leaves]
    return call.replace(*registry.flatten(call.in_tree.unflatten(leaves)))


def arrays_of(values: Sequence[Value], ref_inputs: Sequence[int], name: str) -> list[Value]:
    """Return the values with refs replaced by the arrays that they hold.

    Raises:
      ValueError: a ref has ended.
    """
    arrays = list(values)
    for i in ref_inputs:
        arrays[i] = arrays[i].take(name)
    return arrays


def overwrite(
    cells: Sequence[RefCell], run: Callable[..., Sequence[Value]], arrays: Sequence[Value],
    taken: Sequence[Value], name: str,
) -> Sequence[Value]:  # fmt: skip
    """Run a program and put its last results into refs; its callbacks can't use them.

    Args:
      cells: the refs, locked.
      run: the program, on arrays.
      arrays: its operands.
      taken: the arrays of the refs.
      name: name of the function, for messages.

    Returns:
      The other results.
    """
    busy = f"is being overwritten by {name}, which is running and passes values to its callbacks"
    done: list[Sequence[Value]] = []
    plain = [type(cell).put is RefCell.put for cell in cells]
    places = list(zip(cells, range(-len(cells), 0), plain, strict=True))
    try:
        for cell in cells:
            cell.end(busy)
        # Stored by C code, so that an interrupt can't come between the call and the storing.
        done.extend(starmap(run, (arrays,)))
    finally:
        if done:
            outs = done[0]
            for cell, k, is_plain in places:
                if is_plain:  # without a call, before which an interrupt could come
                    cell._array = outs[k]
                    cell.ended = None
                else:
                    cell.put(outs[k])
        else:
            for cell, array in zip(cells, taken, strict=True):
                if array.is_deleted():
                    cell.end(f"was lost when a call of {name} failed, which was overwriting it")
                else:
                    cell.put(array)
    return outs[: len(outs) - len(cells)]


def held(x: Value) -> Value:
    """Return the array that a ref holds; other values as they are."""
    return x.take("lower") if isinstance(x, RefCell) else x


def run_with_refs(
    pure: PureProgram,
    values: Sequence[Value],
    name: str,
    execute: Callable[..., Sequence[Value]] | None = None,
) -> Sequence[Value]:
    """Run a pure program on constants and leaves, and update the refs among them.

    Args:
      pure: the program.
      values: constants and leaves.
      name: name of the function, for messages.
      execute: runs the program on flat arrays; by default the program's own C++ object.

    Returns:
      The flat results.
    """
    cells = [values[i] for i in pure.ref_inputs]
    if len(cells) == 1:
        with cells[0].lock:
            return _run_locked(pure, values, name, execute)
    with ExitStack() as locks:
        # In one order, so two calls never wait for each other; parts of a ref share its lock.
        for lock in sorted({cell.lock for cell in cells}, key=id):
            locks.enter_context(lock)
        return _run_locked(pure, values, name, execute)


def _run_locked(
    pure: PureProgram,
    values: Sequence[Value],
    name: str,
    execute: Callable[..., Sequence[Value]] | None,
) -> Sequence[Value]:
    arrays = arrays_of(values, pure.ref_inputs, name)
    written = pure.written
    cells, taken = [values[i] for i in written], [arrays[i] for i in written]
    return overwrite(cells, execute or pure.dispatch, arrays, taken, name)
