"""Writes the comparison as a table: every bar with its ratio and verdict, then every figure."""

import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

from bars import BARS, PROGRAM_BARS, Bar

# One worker run as compare.py records it: program, side, metrics, errors.
type Run = dict[str, Any]


class Figure(NamedTuple):
    """A figure of both sides: least value, unit, ratio A/B (None when a side lacks it)."""

    a: float | None
    b: float | None
    unit: str
    exact: bool
    spread: float | None  # greatest over least ratio of single rounds

    @property
    def ratio(self) -> float | None:
        """A over B, of the least values."""
        return self.a / self.b if self.a is not None and self.b else None


def fold(runs: Iterable[Run]) -> dict[tuple[str, str], Figure]:
    """Fold runs into one figure per (program, metric)."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    units: dict[tuple[str, str], tuple[str, bool]] = {}
    for run in runs:
        for metric, data in run["metrics"].items():
            key = (run["program"], metric)
            units[key] = (data["unit"], data["exact"])
            values.setdefault(key, {"a": [], "b": []})[run["side"]].append(data["min"])
    figures = {}
    for key, sides in values.items():
        pairs = [a / b for a, b in zip(sides["a"], sides["b"], strict=False) if b]
        spread = max(pairs) / min(pairs) if len(pairs) > 1 and min(pairs) > 0 else None
        least = [min(sides[s], default=None) for s in ("a", "b")]
        figures[key] = Figure(least[0], least[1], *units[key], spread)
    return figures


def number(value: float | None) -> str:
    """Format a value for the table."""
    if value is None:
        return "missing"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def verdict(ratio: float | None, bar: Bar) -> str:
    """Return ``pass``, ``stretch`` or ``MISS`` for a measured ratio."""
    if ratio is None:
        return "not measured"
    if ratio <= bar.stretch + 5e-3:
        return "stretch"
    return "pass" if ratio <= bar.bar + 5e-3 else "MISS"


def bar_table(
    figures: dict[tuple[str, str], Figure], bars: Iterable[Bar], programs: set[str]
) -> str:
    """Return the table of the bars of the programs that were run."""
    lines = [
        "| what | Tans | JAX | unit | ratio | spread | bar | stretch | verdict |",
        "|---|---:|---:|---|---:|---:|---:|---:|---|",
    ]
    for bar in bars:
        if bar.program not in programs:
            continue
        figure = figures.get((bar.program, bar.metric), Figure(None, None, "", False, None))
        ratio = "-" if figure.ratio is None else f"{figure.ratio:.2f}"
        spread = "-" if figure.spread is None else f"{figure.spread:.2f}"
        lines.append(
            f"| {bar.title} | {number(figure.a)} | {number(figure.b)} | {figure.unit} | {ratio} "
            f"| {spread} | {bar.bar:.2f} | {bar.stretch:.2f} | {verdict(figure.ratio, bar)} |"
        )
    return "\n".join(lines)


def figure_table(figures: dict[tuple[str, str], Figure]) -> str:
    """Return the table of every figure."""
    lines = ["| program | figure | Tans | JAX | unit | ratio |", "|---|---|---:|---:|---|---:|"]
    for (program, metric), figure in figures.items():
        ratio = "-" if figure.ratio is None else f"{figure.ratio:.2f}"
        lines.append(
            f"| {program} | {metric} | {number(figure.a)} | {number(figure.b)} "
            f"| {figure.unit} | {ratio} |"
        )
    return "\n".join(lines)


def error_lines(runs: Iterable[Run]) -> list[str]:
    """Return one line per program, case and side that failed."""
    names = {"a": "Tans", "b": "JAX"}
    seen: dict[str, None] = {}
    for run in runs:
        for case, text in run["errors"].items():
            last = " ".join(str(text).split())[-240:]
            seen[f"* {names[run['side']]}, {run['program']}, {case}: {last}"] = None
    return list(seen)


def headline(runs: list[Run], figures: dict[tuple[str, str], Figure], programs: set[str]) -> str:
    """Return a sentence with rounds, load and how many bars hold."""
    bars = [b for b in (*BARS, *PROGRAM_BARS) if b.program in programs]
    ratios = [figures[b.program, b.metric].ratio if (b.program, b.metric) in figures else None
              for b in bars]  # fmt: skip
    verdicts = [verdict(r, b) for r, b in zip(ratios, bars, strict=True)]
    held = sum(v in ("pass", "stretch") for v in verdicts)
    rounds = 1 + max((r.get("round", 0) for r in runs), default=0)
    load = statistics.median([r.get("loadavg", 0.0) for r in runs] or [0.0])
    return (
        f"{held} of {len(bars)} bars held, {verdicts.count('MISS')} missed, "
        f"{verdicts.count('not measured')} not measured; {rounds} rounds, median load {load:.1f}."
    )


def report(runs: list[Run]) -> str:
    """Return the whole report as Markdown.

    Args:
      runs: worker runs as ``compare.py --raw`` writes them, Tans as side a and JAX as side b.
    """
    figures, programs = fold(runs), {r["program"] for r in runs}
    handed = bar_table(figures, PROGRAM_BARS, programs)
    parts = [
        "# Tans against JAX",
        "Ratios are Tans over JAX, of the least of all samples of alternating rounds; below 1 Tans "
        "is faster or smaller. With few rounds on a shared machine, differences under 20 % say "
        "nothing.",
        headline(runs, figures, programs),
        "## Bars",
        bar_table(figures, BARS, programs),
    ]
    if "stages" in programs:
        parts += ["## Programs handed to XLA", handed]
    if errors := error_lines(runs):
        parts += ["## What failed", "\n".join(errors)]
    parts += ["## Every figure", figure_table(figures)]
    return "\n\n".join(parts) + "\n"
