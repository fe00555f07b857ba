"""The report of an audit: a table, a picture, and the cheapest precision that is exact enough."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final, NamedTuple, override

import numpy as np


class Measurement(NamedTuple):
    """Error of one precision.

    Attributes:
      error: largest difference from double precision over the largest magnitude.
      emulated: whether the arithmetic was emulated, since the hardware does not do it.
    """

    error: float
    emulated: bool


class Line(NamedTuple):
    """A product of one source line.

    Attributes:
      place: ``file:line``.
      operation: such as ``dot f32[8,4] x f32[4,2]``.
      runs: how often it ran.
      errors: name of a precision to its error, the cheapest first.
    """

    place: str
    operation: str
    runs: int
    errors: dict[str, Measurement]


@dataclass(frozen=True)
class Audit:
    """Errors of a function's products in several precisions.

    Attributes:
      platform: platform whose arithmetic was asked for.
      tolerance: largest acceptable error of a product.
      costs: name of each precision to its nominal cost, the cheapest first; one pass of bfloat16
        operands is 1.
      lines: the products by source line.
      whole: error of the function's results with all products in one precision.
      unseen: operations that hold products which were not looked into.
    """

    platform: str
    tolerance: float
    costs: dict[str, float]
    lines: list[Line]
    whole: dict[str, float]
    unseen: list[str]

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def cheapest(self, line: Line | None = None, tolerance: float | None = None) -> str | None:
        """Return the cheapest precision that meets the tolerance.

        Args:
          line: for one line; by default for all lines together.
          tolerance: another tolerance than the audit's.

        Returns:
          Its name; None if none meets the tolerance, or no product was looked into.

        Raises:
          TypeError, ValueError: a tolerance that is no number, or is negative.
        """
        if tolerance is not None:
            check_tolerance("cheapest", tolerance)
        limit = self.tolerance if tolerance is None else tolerance
        lines = self.lines if line is None else [line]
        for name in self.costs if lines else ():
            if all(each.errors[name].error <= limit for each in lines):
                return name
        return None

    @override
    def __str__(self) -> str:
        if not self.lines:
            none = "audit: no matrix products of floats"
            return f"{none}, but not looked into: {self._unseen()}" if self.unseen else none
        names = list(self.costs)
        rows = [["line", "product", "runs", *names, f"cheapest for {self.tolerance:g}"]]
        for line in self.lines:
            cells = [_cell(*line.errors[name]) for name in names]
            best = self.cheapest(line) or "none"
            rows.append([_short(line.place), line.operation, str(line.runs), *cells, best])
        if self.whole:
            cells = [_cell(self.whole[name], False) for name in names]
            rows.append(["results of the function", "", "", *cells, ""])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in [*table, *self._notes()])

    def _notes(self) -> list[str]:
        emulated = [n for n in self.costs if any(line.errors[n].emulated for line in self.lines)]
        notes = ["", "error: largest difference from float64 over the largest magnitude"]
        if emulated:
            notes.append(
                f"~ emulated, since this machine does not compute it for {self.platform}: "
                + ", ".join(emulated)
            )
        if self.unseen:
            notes.append(f"not looked into: {self._unseen()}")
        return notes

    def _unseen(self) -> str:
        return ", ".join(sorted(set(self.unseen)))

    def to_json(self) -> str:
        """Return the report as JSON; errors that are not finite are null."""
        lines = [
            {
                "place": line.place,
                "operation": line.operation,
                "runs": line.runs,
                "errors": {n: _finite(m.error) for n, m in line.errors.items()},
                "emulated": [n for n, m in line.errors.items() if m.emulated],
                "cheapest": self.cheapest(line),
            }
            for line in self.lines
        ]
        whole = {name: _finite(error) for name, error in self.whole.items()}
        report: dict[str, Any] = {
            "platform": self.platform,
            "tolerance": self.tolerance,
            "costs": self.costs,
            "lines": lines,
            "whole": whole,
            "cheapest": self.cheapest(),
            "unseen": self.unseen,
        }
        return json.dumps(report, indent=2)

    def svg(self) -> str:
        """Return a picture: errors on a logarithmic axis, a row per line, a mark per precision."""
        return _picture(self)


def _short(place: str) -> str:
    return place.rpartition("/")[2]


def _finite(error: float) -> float | None:
    return error if math.isfinite(error) else None


def _cell(error: float, emulated: bool) -> str:
    text = f"{error:.1e}" if math.isfinite(error) else "inf"
    return ("~" if emulated else "") + ("0" if error == 0 else text)


_LEFT, _WIDTH, _ROW, _TOP = 330, 520, 26, 46
_COLOURS: Final = (
    *("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"),
    *("#bbbbbb", "#ee7733", "#009988", "#332288", "#000000"),
)


def _picture(report: Audit) -> str:
    names = list(report.costs)
    finite = [
        m.error for line in report.lines for m in line.errors.values() if 0 < m.error < math.inf
    ]
    low = math.floor(math.log10(min([*finite, report.tolerance])))
    high = math.ceil(math.log10(max([*finite, report.tolerance]))) or 1

    def x_of(error: float) -> float:
        place = math.log10(error) if error > 0 else low
        return _LEFT + _WIDTH * min(max((place - low) / max(high - low, 1), 0), 1)

    bottom = _TOP + _ROW * len(report.lines)
    height = bottom + 40 + 18 * math.ceil(len(names) / 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 40}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>Errors of matrix products ({escape(report.platform)})</title>",
    ]
    for power in range(low, high + 1):
        x = x_of(10.0**power)
        parts.append(f'<path d="M{x:.1f} {_TOP - 12}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{_TOP - 18}" text-anchor="middle">1e{power}</text>')
    x = x_of(report.tolerance)
    parts.append(f'<path d="M{x:.1f} {_TOP - 12}V{bottom}" stroke="#c00" stroke-dasharray="4"/>')
    for row, line in enumerate(report.lines):
        y = _TOP + _ROW * row + 8
        label = escape(f"{_short(line.place)}  {line.operation}")
        parts.append(f'<text x="8" y="{y + 4}">{label}</text>')
        for i, name in enumerate(names):
            measured = line.errors[name]
            fill = "none" if measured.emulated else _COLOURS[i % len(_COLOURS)]
            parts.append(
                f'<circle cx="{x_of(min(measured.error, 1e300)):.1f}" cy="{y}" r="4" '
                f'stroke="{_COLOURS[i % len(_COLOURS)]}" fill="{fill}">'
                f"<title>{escape(name)}: {_cell(*measured)}</title></circle>"
            )
    for i, name in enumerate(names):
        column, row = i % 3, i // 3
        x, y = 20 + 290 * column, bottom + 30 + 18 * row
        colour = _COLOURS[i % len(_COLOURS)]
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 10}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def check_tolerance(function: str, tolerance: Any) -> None:
    """Raise if the tolerance is no number of 0 or more."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float | np.number):
        raise TypeError(
            f"{function}: given tolerance={tolerance!r} of type {type(tolerance).__name__}, "
            "expected a relative error as a float, such as 1e-3."
        )
    if not tolerance >= 0:
        raise ValueError(
            f"{function}: given tolerance={tolerance!r}, expected a relative error of 0 or more, "
            "such as 1e-3."
        )
