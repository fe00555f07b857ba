"""What programs communicate: reports of it, and assertions about it."""

import functools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple

from tans_core import is_evaluating
from tans_core.flags import Flag, anything
from tans_xla import jit
from tans_xla.communication import Collective, Communication, report_of
from tans_xla.executable import Executable, observers
from tans_xla.stages import Compiled, Lowered, Traced

type Expected = Mapping[str, int] | Sequence[str] | str | None

_KEY: Final = re.compile(r"(?P<kind>[a-z-]+)(?: over (?P<axes>.+))?")
# Part of the jit key, so that calls that compiled code would run reach Python while observed.
_observing: Final = Flag("tans_communication_observed", False, anything, jit_key=True)


def communication(fun: Any, /, *args: Any, **kwargs: Any) -> Communication:
    """Report every collective of the program that calling a function at these arguments runs.

    The function is compiled, not run. The report is a sequence of collectives, in program order:
    kind, mesh axes, bytes per device, the loops around it with their trip counts, executions per
    call, bytes per call and the user's line. It prints as a table and converts to JSON and SVG.
    What can't be known (a loop whose length depends on data, a branch) is None, never a guess.

    Args:
      fun: a function, jitted or not, or a stage of one: traced, lowered or compiled (then without
        arguments).
      *args: arrays or `ShapeDtypeStruct`, with their shardings.
      **kwargs: keyword arguments, the same.

    Returns:
      The report.

    Raises:
      TypeError: `fun` can't be called.

    Example:
      >>> import tans
      >>> from tans_sharding import communication
      >>> print(communication(lambda x: x.sum(), tans.numpy.ones(4)))
      communication of <lambda> on one device: none
    """
    if isinstance(fun, Communication):
        return fun
    if isinstance(fun, Traced):
        fun = fun.lower()
    if isinstance(fun, Lowered):
        fun = fun.compile()
    if isinstance(fun, Compiled):
        return fun.communication()
    if not callable(fun):
        raise TypeError(
            f"communication: given {fun!r} of type {type(fun).__name__}, expected a function or a "
            "compiled program. Pass the function itself, then its arguments."
        )
    jitted: Any = fun if hasattr(fun, "lower") else jit(fun)
    return jitted.lower(*args, **kwargs).compile().communication()


class _Row(NamedTuple):
    kind: str
    axes: frozenset[str] | None
    times: int

    def fits(self, found: Collective) -> bool:
        own = frozenset(map(str, found.axes))
        return self.kind == found.kind and self.axes in (None, own)


def _rows(expected: Expected) -> list[_Row]:
    if isinstance(expected, str):
        expected = [expected]
    if expected is None:
        expected = {}
    if not isinstance(expected, Mapping):
        expected = {key: expected.count(key) for key in expected}
    rows = []
    for key, count in expected.items():
        match = _KEY.fullmatch(key) if isinstance(key, str) else None
        if match is None or not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(
                f"expect_communication: given {key!r}: {count!r}, expected a kind and a number, "
                "such as {'all-reduce over data': 1} or {'all-gather': 3}."
            )
        axes = match["axes"]
        names = None if axes is None else frozenset(re.split(r"\s*,\s*", axes.strip()))
        rows.append(_Row(match["kind"], names, count))
    return sorted(rows, key=lambda row: row.axes is None)  # those that name axes come first


def _label(kind: str, axes: Any) -> str:
    return kind if axes is None else f"{kind} over {', '.join(sorted(axes)) or 'no axis'}"


def _check(rows: Sequence[_Row], reports: Sequence[Communication]) -> None:
    """Compare what was expected with what is there.

    Raises:
      AssertionError: with one line for each difference.
    """
    found: dict[Any, list[Collective]] = {row: [] for row in rows}
    for report in reports:
        for c in report:
            row = next((r for r in rows if r.fits(c)), None)
            key = row or _Row(c.kind, frozenset(map(str, c.axes)), 0)
            found.setdefault(key, []).append(c)
    lines: list[tuple[str, str, str]] = []
    for row, collectives in found.items():
        counts = [c.executions for c in collectives]
        total = None if None in counts else sum(n for n in counts if n is not None)
        if total == row.times:
            continue
        given = "unknown" if total is None else str(total)
        lines.append((_label(row.kind, row.axes), str(row.times), given))
        lines += [(f"    {_origin(c)}", "", "") for c in collectives]
    if not lines:
        return
    names = ", ".join(dict.fromkeys(r.name for r in reports if len(r))) or "the program"
    head = ("collective", "expected", "given")
    width = max(len(row[0]) for row in (head, *lines) if row[1])
    table = "\n".join(f"  {a:<{width}}  {b:>8}  {c:>7}".rstrip() for a, b, c in (head, *lines))
    raise AssertionError(
        f"expect_communication: executions per call of {names} differ from what was expected:\n"
        f"{table}\nPrint tans.sharding.communication(f, *args) for all of it; change the program, "
        "or what is expected."
    )


def _origin(c: Collective) -> str:
    trips = " x ".join("?" if loop.trips is None else str(loop.trips) for loop in c.loops)
    where = c.source or c.op_name or "a line that the compiler does not tell"
    branch = ", inside of a branch" if c.conditional else ""
    loops = f" in loops of {trips}" if c.loops else ""
    return f"{c.bytes:,} bytes{loops}{branch}, from {where}"


class Expectation:
    """What `expect_communication` returns: a context manager and a decorator."""

    def __init__(self, rows: list[_Row]) -> None:
        self._rows = rows
        self._open: list[tuple[Any, Any, list[Executable]]] = []

    def __enter__(self) -> None:
        ran: list[Executable] = []
        thread = threading.get_ident()

        def observe(executable: Executable) -> None:
            if threading.get_ident() == thread:
                ran.append(executable)

        override = _observing(True)
        override.__enter__()
        observers.append(observe)
        self._open.append((override, observe, ran))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        override, observe, ran = self._open.pop()
        observers.remove(observe)
        override.__exit__(kind, error, traceback)
        if error is None:
            _check(self._rows, [report_of(executable) for executable in ran])

    def __call__[F: Callable[..., Any]](self, fun: F) -> F:
        """Return the function with a check of each of its calls, other than while tracing."""

        @functools.wraps(fun)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if not is_evaluating():
                return fun(*args, **kwargs)
            with Expectation(self._rows):
                return fun(*args, **kwargs)

        return checked  # pyright: ignore[reportReturnType]  # same signature by construction


def expect_communication(expected: Expected, fun: Any = None, /, *args: Any, **kwargs: Any) -> Any:
    """Assert how many collectives run: no more, no less and no others than expected.

    Three forms. With a function and arguments it compiles the function and compares at once. As a
    context manager it compares what all programs that the thread runs inside of the block execute,
    together. As a decorator it compares each call of the function; calls while tracing are part of
    another program and are not compared.

    Args:
      expected: executions by collective, such as ``{"all-reduce over data": 1}``; a key without
        ``over`` stands for any axes, several axes are separated by commas. A string, or a sequence
        of them, stands for one execution each; None or nothing for no communication.
      fun: a function, a compiled program or a `communication` report.
      *args: arguments of the function.
      **kwargs: keyword arguments of the function.

    Returns:
      The report when `fun` is given; else an object for ``with`` and ``@``.

    Raises:
      AssertionError: other collectives run, with one line for each difference and where it is
        from. A number that can't be known (a branch, a loop that depends on data) differs from any.
      ValueError: `expected` has another form.

    Example:
      >>> import tans
      >>> from tans_sharding import expect_communication
      >>> with expect_communication(None):
      ...     y = tans.numpy.ones(4) + 1
    """
    rows = _rows(expected)
    if fun is None:
        return Expectation(rows)
    report = communication(fun, *args, **kwargs)
    _check(rows, [report])
    return report
