"""Pictures of how an array lies on a mesh: in the terminal, as text and as SVG."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, Final

from tans_core.sharding import Sharding
from tans_sharding.parts import Lay, Part, lay_of
from tans_xla.inspection import inspect_array_sharding

type ColorMap = Callable[[float], tuple[float, ...]]

_COLOURS: Final = (
    "#4f81bd", "#c0504d", "#9bbb59", "#8064a2", "#f79646", "#4bacc6", "#b8860b", "#7f7f7f",
)  # fmt: skip


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print how an array of one or two dimensions is split, with the devices that hold each part.

    Inside of `jit` the picture is printed while the program is compiled.

    Args:
      arr: the array.
      **kwargs: those of `visualize_sharding`.

    Raises:
      ValueError: the array has no dimension, or more than two.

    Example:
      >>> import numpy as np
      >>> from tans_sharding.visualization import visualize_array_sharding
      >>> visualize_array_sharding(np.ones(4), use_color=False, scale=0.3, min_width=7)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = tuple(getattr(arr, "shape", ()))
    _check_rank(shape)

    def show(sharding: Sharding) -> None:
        visualize_sharding(shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=show)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: ColorMap | None = None,
) -> None:
    """Print how arrays of a shape are split, with the devices that hold each part.

    Args:
      shape: one or two sizes.
      sharding: the sharding.
      use_color: whether each part has a colour of its own.
      scale: factor of the picture's size.
      min_width: least width of a part, in characters.
      max_width: largest width of the picture, in characters.
      color_map: function of a number from 0 to 1 that returns red, green and blue (0 to 1).

    Raises:
      ValueError: not one or two dimensions, or the sharding does not divide them.
    """
    _check_rank(tuple(shape))
    cells = _cells(lay_of((tuple(shape), sharding)))
    rows, columns = max(r for r, _ in cells) + 1, max(c for _, c in cells) + 1
    platform = _platform(sharding)
    labels = {at: f"{platform} {','.join(map(str, ids))}" for at, ids in cells.items()}
    widest = max(len(text) for text in labels.values()) + 2
    width = max(min_width, widest, round(scale * 24 / columns))
    width = max(widest, min(width, (max_width - 1) // columns - 1))
    height = max(1, round(scale * 4 / rows))
    _print_grid(labels, (rows, columns), (height, width), color_map, use_color)


def _check_rank(shape: tuple[int, ...]) -> None:
    if len(shape) not in (1, 2):
        raise ValueError(
            f"visualize_sharding: given the shape {shape}, expected one or two dimensions. Look at "
            "a slice, or print sharding_text(x), which takes any shape."
        )


def _platform(sharding: Any) -> str:
    devices = getattr(sharding, "_internal_device_list", None) or ()
    return next((str(d.platform).upper() for d in devices), "device")


def _cells(lay: Lay) -> dict[tuple[int, int], list[int]]:
    """Return the devices of each part by its row and column (one row for one dimension)."""
    starts = [sorted({p.ranges[d][0] for p in lay.parts}) for d in range(len(lay.shape))]
    cells: dict[tuple[int, int], list[int]] = {}
    for part in lay.parts:
        at = [s.index(r[0]) for s, r in zip(starts, part.ranges, strict=True)]
        key = (0, at[0]) if len(at) == 1 else (at[0], at[1])
        cells.setdefault(key, []).append(part.device)
    return {at: sorted(ids) for at, ids in cells.items()}


def _print_grid(
    labels: dict[tuple[int, int], str],
    counts: tuple[int, int],
    size: tuple[int, int],
    color_map: ColorMap | None,
    use_color: bool,
) -> None:
    from rich.console import Console
    from rich.text import Text

    (rows, columns), (height, width) = counts, size
    console = Console(no_color=not use_color, soft_wrap=True, highlight=False)

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * columns) + right

    console.print(rule("┌", "┬", "┐"))
    for r in range(rows):
        for line in range(height):
            text = Text("│")
            for c in range(columns):
                shown = labels[r, c] if line == height // 2 else ""
                number = r * columns + c
                style = _style(number, rows * columns, color_map) if use_color else ""
                text.append(shown.center(width), style)
                text.append("│")
            console.print(text)
        if r + 1 < rows:
            console.print(rule("├", "┼", "┤"))
    console.print(rule("└", "┴", "┘"))


def _style(number: int, count: int, color_map: ColorMap | None) -> str:
    if color_map is None:
        return f"white on {_COLOURS[number % len(_COLOURS)]}"
    red, green, blue = (round(255 * v) for v in tuple(color_map(number / count))[:3])
    text = "black" if red * 0.3 + green * 0.6 + blue * 0.1 > 150 else "white"
    return f"{text} on #{red:02x}{green:02x}{blue:02x}"


# ---- text and SVG of any shape ------------------------------------------------------------------


def sharding_text(x: Any) -> str:
    """Return a table of what each device holds.

    Args:
      x: array, traced value, `ShapeDtypeStruct`, or ``(shape, sharding)``; any number of
        dimensions, and unreduced or reduced along any axes.

    Returns:
      One line per device: its id, its coordinates on the mesh and its part of the array.

    Example:
      >>> import tans
      >>> from tans_sharding.visualization import sharding_text
      >>> sharding = tans.NamedSharding(tans.make_mesh((1,), ("x",)), tans.P("x"))
      >>> print(sharding_text(((4, 2), sharding)))
      shape (4, 2), spec P('x', None) on x=1
      device  x  part
           0  0  [0:4, 0:2]
    """
    lay = lay_of(x)
    names = [str(name) for name, _ in lay.axes]
    rows = [("device", *names, "part")]
    rows += [(str(p.device), *map(str, p.coordinates), p.slices) for p in lay.parts]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join([*(c.rjust(w) for c, w in zip(row[:-1], widths, strict=False)), row[-1]])
        for row in rows
    ]
    return "\n".join([_title(lay), *lines, *([lay.states] if lay.states else [])])


def _title(lay: Lay) -> str:
    mesh = " x ".join(f"{name}={size}" for name, size in lay.axes)
    spec = "" if lay.spec is None else f", spec {lay.spec!r}"
    return f"shape {lay.shape}{spec} on {mesh}"


def sharding_svg(x: Any, *, title: str | None = None) -> str:
    """Return a drawing of the mesh: each device with the part of the array that it holds filled.

    Devices that hold the same part have the same colour; parts of a sum are hatched. The first
    mesh axis runs downwards, the others to the right.

    Args:
      x: as for `sharding_text`.
      title: the headline; shape, spec and mesh when left out.

    Returns:
      SVG text.
    """
    lay = lay_of(x)
    rows = lay.axes[0][1] if len(lay.axes) > 1 else 1
    columns = len(lay.parts) // rows
    headline = title or _title(lay)
    width = max(24 + columns * _CELL, 24 + 7 * max(len(headline), len(lay.states)))
    height = 58 + rows * (_CELL + 8) + (20 if lay.states else 0)
    colours: dict[Any, str] = {}
    for part in lay.parts:
        colours.setdefault(part.ranges, _COLOURS[len(colours) % len(_COLOURS)])
    hatched = lay.spec is not None and bool(lay.spec.unreduced)
    body: list[str] = []
    for i, part in enumerate(lay.parts):
        corner = 12 + i % columns * _CELL, 50 + i // columns * (_CELL + 8)
        body += _device(part, lay.shape, corner, colours[part.ranges], hatched)
    if lay.states:
        body.append(_label(12, height - 8, lay.states))
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        '<defs><pattern id="parts" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line y2="6" stroke="#fff" stroke-width="3"/>'
        "</pattern></defs>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="12" y="20" font-size="14">{escape(headline, quote=False)}</text>',
        _label(12, 38, _arrows(lay)),
    ]
    return "\n".join([*head, *body, "</svg>"])


_CELL: Final = 84


def _arrows(lay: Lay) -> str:
    names = [str(name) for name, _ in lay.axes]
    if len(names) == 1:
        return f"devices along {names[0]}"
    return f"{names[0]} downwards, {', '.join(names[1:])} to the right"


def _device(
    part: Part, shape: tuple[int, ...], corner: tuple[int, int], colour: str, hatched: bool
) -> Iterable[str]:
    x, y = corner
    # Dimensions beyond the second are drawn as one: the part's share of the second is shown.
    sizes = [n or 1 for n in shape[:2]] or [1]
    ranges = list(part.ranges[:2]) or [(0, 1)]
    if len(sizes) == 1:
        sizes, ranges = [1, *sizes], [(0, 1), *ranges]
    scale = 60 / max(sizes)
    full_w, full_h = max(14.0, sizes[1] * scale), max(14.0, sizes[0] * scale)
    left, top = x + (_CELL - 8 - full_w) / 2, y + 16 + (60 - full_h) / 2
    px = left + ranges[1][0] / sizes[1] * full_w
    py = top + ranges[0][0] / sizes[0] * full_h
    pw = (ranges[1][1] - ranges[1][0]) / sizes[1] * full_w
    ph = (ranges[0][1] - ranges[0][0]) / sizes[0] * full_h
    box = f'x="{px:.1f}" y="{py:.1f}" width="{pw:.1f}" height="{ph:.1f}"'
    yield _label(x + 2, y + 10, f"device {part.device}")
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{full_w:.1f}" height="{full_h:.1f}" '
        'fill="#f2f2f2" stroke="#bbb"/>'
    )
    yield f'<rect {box} fill="{colour}" stroke="#333"/>'
    if hatched:
        yield f'<rect {box} fill="url(#parts)" fill-opacity="0.6"/>'


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" fill="#333">{escape(text, quote=False)}</text>'
