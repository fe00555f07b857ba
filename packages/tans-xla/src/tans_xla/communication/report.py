"""The communication report: every collective of a compiled program, as table, data and picture."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

from tans_xla.communication.collectives import Collective, collectives_of
from tans_xla.communication.picture import draw

_LEGEND = "* between some of the devices along these axes"
_HEADER = ("collective", "axes", "bytes", "loops", "per call", "bytes per call", "source")
_RIGHT = frozenset({2, 4, 5})


class Communication(Sequence[Collective]):
    """What a compiled program communicates: a sequence of `Collective`, in program order.

    Printing it gives a table with one line per collective: the mesh axes, the bytes per device and
    execution, the trip counts of the loops around it, how often it runs per call, and the user's
    line. ``?`` stands for what can't be known, ``<=`` for a bound because of a branch.

    Attributes:
      name: of the program.
      axes: mesh axes as pairs of name and size.
    """

    def __init__(
        self, name: str, axes: Sequence[tuple[Any, int]], collectives: Sequence[Collective]
    ) -> None:
        self.name = name
        self.axes = tuple(axes)
        self._collectives = tuple(collectives)

    @overload
    def __getitem__(self, index: int) -> Collective: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Collective]: ...
    def __getitem__(self, index: Any) -> Any:
        """Return one collective, or several."""
        return self._collectives[index]

    def __len__(self) -> int:
        return len(self._collectives)

    def __iter__(self) -> Iterator[Collective]:
        return iter(self._collectives)

    def executions(self, kind: str | None = None, axes: Any = None) -> int | None:
        """Return how many collectives run per call of the program.

        Args:
          kind: such as ``all-reduce``; all kinds when left out.
          axes: a mesh axis, or a tuple of them: only collectives over exactly these.

        Returns:
          The number, or None when it can't be known: a branch, or a loop without a known count.
        """
        return _total([c.executions for c in self._select(kind, axes)])

    def bytes_per_call(self, kind: str | None = None, axes: Any = None) -> int | None:
        """Return the bytes per device and call; arguments and None as in `executions`."""
        return _total([c.bytes_per_call for c in self._select(kind, axes)])

    def _select(self, kind: str | None, axes: Any) -> list[Collective]:
        wanted = None if axes is None else frozenset(axes if isinstance(axes, tuple) else (axes,))
        return [
            c
            for c in self._collectives
            if kind in (None, c.kind) and (wanted is None or frozenset(c.axes) == wanted)
        ]

    def __str__(self) -> str:
        mesh = " x ".join(f"{name}={size}" for name, size in self.axes) or "one device"
        title = f"communication of {self.name} on {mesh}"
        if not self._collectives:
            return f"{title}: none"
        rows = [_HEADER, *map(_row, self._collectives)]
        total = ("total", "", "", "", _number(self.executions()), _number(self.bytes_per_call()))
        rows.append((*total, ""))
        starred = not all(c.whole_axes for c in self._collectives)
        return "\n".join([title, *_aligned(rows), *([_LEGEND] if starred else [])])

    def __repr__(self) -> str:
        return f"<Communication of {self.name}: {len(self)} collectives>"

    def to_json(self, indent: int | None = 2) -> str:
        """Return the report as JSON; null stands for what can't be known."""
        data = {
            "name": self.name,
            "mesh": [{"axis": str(name), "size": size} for name, size in self.axes],
            "executions_per_call": self.executions(),
            "bytes_per_call": self.bytes_per_call(),
            "collectives": [_as_data(c) for c in self._collectives],
        }
        return json.dumps(data, indent=indent)

    def to_svg(self) -> str:
        """Return a drawing: collectives inside of boxes that stand for their loops."""
        return draw(self.name, self._collectives)

    def _repr_svg_(self) -> str:
        return self.to_svg()


def _total(parts: Sequence[int | None]) -> int | None:
    return None if None in parts else sum(p for p in parts if p is not None)


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def axes_text(collective: Collective) -> str:
    """Return the axes as they print; a star marks groups that are not whole axes."""
    text = ",".join(map(str, collective.axes)) or "-"
    return text if collective.whole_axes else f"{text}*"


def _row(c: Collective) -> tuple[str, ...]:
    loops = " x ".join(_number(loop.trips) for loop in c.loops) or "-"
    if c.conditional:
        per_call = "?" if c.at_most is None else f"<={c.at_most:,}"
        size = "?" if c.at_most is None else f"<={c.at_most * c.bytes:,}"
    else:
        per_call, size = _number(c.executions), _number(c.bytes_per_call)
    return c.kind, axes_text(c), f"{c.bytes:,}", loops, per_call, size, source_text(c)


def source_text(collective: Collective) -> str:
    """Return the user's line, with the file's name alone."""
    source = collective.source
    if source is None:
        return collective.op_name or "-"
    return str(source._replace(file=os.path.basename(source.file)))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if i in _RIGHT else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "-" * max(map(len, lines))
    return [lines[0], rule, *lines[1:-1], rule, lines[-1]]


def _as_data(c: Collective) -> dict[str, Any]:
    return {
        "kind": c.kind,
        "axes": [str(a) for a in c.axes],
        "whole_axes": c.whole_axes,
        "groups": [list(g) for g in c.groups],
        "bytes": c.bytes,
        "loops": [{"trips": loop.trips, "source": _place(loop.source)} for loop in c.loops],
        "conditional": c.conditional,
        "executions_per_call": c.executions,
        "executions_at_most": c.at_most,
        "bytes_per_call": c.bytes_per_call,
        "source": _place(c.source),
        "op_name": c.op_name,
        "instruction": c.name,
    }


def _place(source: Any) -> dict[str, Any] | None:
    return None if source is None else dict(source._asdict())


def report_of(executable: Any) -> Communication:
    """Return the report of a compiled program.

    Args:
      executable: a `tans_xla.executable.Executable`.
    """
    placement = executable.placement
    count = len(placement.devices)
    axes = _mesh_axes(executable, count)
    names, sizes = [n for n, _ in axes], [s for _, s in axes]
    found: list[Collective] = []
    if count > 1:
        for module in executable.loaded.hlo_modules():
            found += collectives_of(module.to_string(), names, sizes)
    return Communication(executable.lowered.name, axes if count > 1 else (), found)


def _mesh_axes(executable: Any, count: int) -> tuple[tuple[Any, int], ...]:
    for sharding in (*executable.placement.in_shardings, *executable.out_shardings):
        mesh = getattr(sharding, "mesh", None)
        if mesh is not None and mesh.size == count:
            return mesh.shape_tuple
    return (("devices", count),)
