"""The drawing of a communication report: nested boxes for loops, one bar per collective."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

_COLOURS: Final = {
    "all-reduce": "#c0504d",
    "all-gather": "#4f81bd",
    "reduce-scatter": "#9bbb59",
    "all-to-all": "#8064a2",
    "ragged-all-to-all": "#8064a2",
    "collective-permute": "#f79646",
    "collective-broadcast": "#4bacc6",
}
_LINE: Final = 22
_INDENT: Final = 18
_WIDTH: Final = 720


def draw(name: str, collectives: Sequence[Any]) -> str:
    """Return an SVG drawing of the collectives of a program, in order.

    Args:
      name: the program's name.
      collectives: `Collective` objects.
    """
    shapes: list[str] = []
    y = 34
    open_loops: list[tuple[Any, int]] = []
    for collective in collectives:
        loops = list(collective.loops)
        shared = 0
        while shared < min(len(loops), len(open_loops)) and open_loops[shared][0] == loops[shared]:
            shared += 1
        y = _close(open_loops, shared, y, shapes)
        for loop in loops[shared:]:
            open_loops.append((loop, y))
            shapes.append(_text(_x(len(open_loops) - 1) + 6, y + 15, _loop_text(loop), "#555"))
            y += _LINE
        shapes += _bar(collective, _x(len(open_loops)), y)
        y += _LINE + 4
    y = _close(open_loops, 0, y, shapes)
    if not collectives:
        shapes.append(_text(_x(0), y + 15, "no communication", "#555"))
        y += _LINE
    return "\n".join([*_head(name, y + 10), *shapes, "</svg>"])


def _x(depth: int) -> int:
    return 12 + depth * _INDENT


def _close(open_loops: list[tuple[Any, int]], keep: int, y: int, shapes: list[str]) -> int:
    while len(open_loops) > keep:
        _, top = open_loops.pop()
        x = _x(len(open_loops))
        width = _WIDTH - 2 * x
        shapes.insert(
            0,
            f'<rect x="{x}" y="{top}" width="{width}" height="{y - top}" rx="5" '
            'fill="#000" fill-opacity="0.04" stroke="#888"/>',
        )
        y += 6
    return y


def _loop_text(loop: Any) -> str:
    trips = "an unknown number of times" if loop.trips is None else f"{loop.trips} times"
    place = "" if loop.source is None else f"  {_base(loop.source.place)}"
    return f"loop, {trips}{place}"


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _bar(c: Any, x: int, y: int) -> Iterator[str]:
    colour = _COLOURS[c.kind]
    dash = ' stroke-dasharray="4 3"' if c.conditional else ""
    yield (
        f'<rect x="{x}" y="{y}" width="{_WIDTH - 2 * x}" height="{_LINE}" rx="3" '
        f'fill="{colour}" fill-opacity="0.18" stroke="{colour}"{dash}/>'
    )
    count = c.executions
    if count is None:
        times = "? times" if c.at_most is None else f"at most {c.at_most} times"
    else:
        times = "once" if count == 1 else f"{count} times"
    axes = ", ".join(map(str, c.axes)) or "no axis"
    yield _text(x + 6, y + 15, f"{c.kind} over {axes}, {c.bytes:,} bytes, {times} per call")
    if c.source is not None:
        yield _text(_WIDTH - x - 6, y + 15, _base(c.source.place), "#555", "end")


def _text(x: int, y: int, text: str, colour: str = "#222", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def _head(name: str, height: int) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="12" y="22" font-size="14" fill="#222">communication of {escape(name)}</text>',
    ]
