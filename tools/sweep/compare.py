"""Compares outcomes of calls: types, weak types and shapes exactly, values within a tolerance."""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

TABLE = Path(__file__).with_name("differences.toml")
ULPS = 2
# A more specific class than the reference's is as good.
_BASES = {
    "AxisError": ("ValueError", "IndexError"),
    "TypePromotionError": ("ValueError",),
    "ConcretizationTypeError": ("TypeError",),
    "TracerIntegerConversionError": ("TypeError",),
    "TracerArrayConversionError": ("TypeError",),
}
# Roundings that a result which sums or factorizes may differ by, in units of its largest value.
ROUNDINGS = 64


def difference(
    theirs: Any, ours: Any, elementwise: bool, roundings: float = ROUNDINGS
) -> str | None:
    """Say how two outcomes differ; None where they agree.

    Args:
      theirs: outcome of the reference.
      ours: outcome of Tans.
      elementwise: whether each value may differ by 2 units in its own last place.
      roundings: else: by so many units of the largest value.
    """
    if theirs[0] == "crash" and ours[0] != "crash":
        return None
    if theirs[0] != ours[0]:
        return f"{_short(theirs)} against {_short(ours)}"
    if theirs[0] == "error":
        same = theirs[1] == ours[1] or theirs[1] in _BASES.get(ours[1], ())
        return None if same else f"raises {theirs[1]} against {ours[1]}: {ours[2][:100]}"
    if theirs[0] == "value":
        found = _values(theirs[1], ours[1], 0 if elementwise else roundings)
        if found is None and theirs[2] != ours[2]:
            return f"warns {theirs[2]} against {ours[2]}"
        return found
    return None


def _short(outcome: Any) -> str:
    if outcome[0] == "error":
        return f"raises {outcome[1]} ({outcome[2][:90]})"
    if outcome[0] == "crash":
        return "the process died"
    return _describe(outcome[1])


def _describe(value: Any) -> str:
    if value[0] == "array":
        weak = "~" if value[3] else ""
        return f"{weak}{value[1]}{list(value[2])} {np.array2string(value[4].ravel()[:4])}"
    if value[0] in ("tuple", "list"):
        return f"{value[0]}({', '.join(_describe(v) for v in value[1][:3])})"
    return str(value)[:80]


def _values(theirs: Any, ours: Any, roundings: float) -> str | None:
    if theirs[0] != ours[0]:
        return f"{_describe(theirs)} against {_describe(ours)}"
    if theirs[0] == "array":
        if theirs[1:4] != ours[1:4]:
            return f"{_describe(theirs)} against {_describe(ours)}"
        return _close(theirs[1], theirs[4], ours[4], roundings)
    if theirs[0] == "key":
        same = theirs[1:3] == ours[1:3] and (
            theirs[3] is None or np.array_equal(theirs[3], ours[3])
        )
        return None if same else f"{theirs} against {ours}"
    if theirs[0] == "numpy":
        if theirs[1:3] != ours[1:3]:
            return f"numpy {theirs[1:3]} against {ours[1:3]}"
        return _close(theirs[1], theirs[3], ours[3], roundings)
    if theirs[0] == "dict":
        pairs = (("list", [v for _, v in side[1]]) for side in (theirs, ours))
        return _values(*pairs, roundings)
    if isinstance(theirs[1], list):
        if len(theirs[1]) != len(ours[1]):
            return f"{len(theirs[1])} results against {len(ours[1])}"
        found = (_values(a, b, roundings) for a, b in zip(theirs[1], ours[1], strict=True))
        return next((f for f in found if f), None)
    return None if theirs == ours else f"{theirs} against {ours}"


def _close(dtype: str, theirs: np.ndarray, ours: np.ndarray, roundings: float) -> str | None:
    """Compare values: with 2 units of each, or `roundings` of the largest if not 0."""
    if theirs.dtype.kind in "biuOSU":
        if np.array_equal(theirs, ours):
            return None
        return f"values {theirs.ravel()[:6]} against {ours.ravel()[:6]}"
    a, b = (_parts(x) for x in (theirs, ours))
    info = ml_dtypes.finfo({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))
    with np.errstate(all="ignore"):
        # A part of a complex number is as exact as its modulus.
        size = np.broadcast_to(np.abs(a).max(axis=0), a.shape) if len(a) > 1 else np.abs(a)
        size = np.where(np.isfinite(size), size, np.abs(a))
        unit = float(info.eps) * np.maximum(size, float(info.smallest_normal))
        if roundings:
            finite = np.abs(a[np.isfinite(a)])
            unit = roundings / ULPS * float(info.eps) * np.maximum(1e-6, finite.max(initial=0.0))
        fine = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= ULPS * unit)
        if not roundings:
            fine &= (np.signbit(a) == np.signbit(b)) | np.isnan(a) | (a != b)
    if fine.all():
        return None
    place = int(np.argmin(fine.ravel()))
    return f"value {a.ravel()[place]!r} against {b.ravel()[place]!r} at {place}"


def _parts(x: np.ndarray) -> np.ndarray:
    """Return real numbers: [1, ...], or [2, ...] for the parts of complex ones."""
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    return np.stack([part.astype(np.float64) for part in parts])


@dataclass(frozen=True)
class Row:
    """A deliberate difference.

    Attributes:
      call: pattern searched in the text of the call.
      found: pattern searched in the difference.
      reason: why it is meant.
      within: if given, values must agree within so many roundings of the largest.
      weak: whether the results must agree apart from their weak marks.
      sequence: whether they must agree apart from the class of sequences of results.
    """

    call: re.Pattern[str]
    found: re.Pattern[str]
    reason: str
    within: float | None = None
    weak: bool = False
    sequence: bool = False

    def fits(self, text: str, found: str, theirs: Any, ours: Any, elementwise: bool) -> bool:
        """Tell whether the row explains what was found for a call."""
        if not (self.call.search(text) and self.found.search(found)):
            return False
        if self.within is None and not (self.weak or self.sequence):
            return True
        if self.weak:
            theirs, ours = _strong(theirs), _strong(ours)
        if self.sequence:
            theirs, ours = _tuples(theirs), _tuples(ours)
        elementwise = elementwise and self.within is None
        return difference(theirs, ours, elementwise, self.within or ROUNDINGS) is None


def _strong(outcome: Any) -> Any:
    """Return an outcome, or a part of one, without weak marks."""
    if not isinstance(outcome, tuple | list):
        return outcome
    if outcome and outcome[0] == "array":
        return (*outcome[:3], False, outcome[4])
    return type(outcome)(map(_strong, outcome))


def _tuples(outcome: Any) -> Any:
    """Return an outcome, or a part of one, with tuples in place of other sequences of results."""
    if not isinstance(outcome, tuple | list):
        return outcome
    if len(outcome) == 2 and isinstance(outcome[0], str) and isinstance(outcome[1], list):
        return ("tuple", list(map(_tuples, outcome[1])))
    return type(outcome)(map(_tuples, outcome))


def explained() -> list[Row]:
    """Return the deliberate differences."""
    table = tomllib.loads(TABLE.read_text())
    return [
        Row(
            re.compile(d["call"]),
            re.compile(d["found"], re.DOTALL),
            d["reason"],
            d.get("within"),
            d.get("weak", False),
            d.get("sequence", False),
        )
        for d in table["difference"]
    ]


def report(calls: list[Any], theirs: Any, ours: Any, limit: int = 200, whole: bool = False) -> int:
    """Print the differences and a count; return 1 if one is not explained.

    Rows that explain nothing are listed if these are the `whole` calls.
    """
    table, used, faults, refused = explained(), Counter[Row](), [], 0
    for call in calls:
        key = call.text, call.x64
        if key not in theirs or key not in ours:
            faults.append((call, "not evaluated"))
            continue
        refused += theirs[key][0] == "error"
        found = difference(theirs[key], ours[key], call.elementwise)
        if found is None:
            continue
        outcomes = theirs[key], ours[key]
        row = next(
            (r for r in table if r.fits(call.text, found, *outcomes, call.elementwise)), None
        )
        if row is None:
            faults.append((call, found))
        else:
            used[row] += 1
    for call, found in faults[:limit]:
        print(f"{'x64: ' if call.x64 else ''}{call.text}\n    {found}")
    reasons = Counter[str]()
    for row, count in used.items():
        reasons[row.reason] += count
    for reason, count in reasons.most_common():
        print(f"{count:6} explained: {reason}")
    for row in table if whole else ():
        if not used[row]:
            print(f"     0 explained: {row.reason} ({row.call.pattern})")
    names = len({c.name for c in calls})
    print(f"{len(calls)} calls of {names} names, {refused} refused by the reference: "
          f"{len(faults)} differ, {sum(used.values())} explained")  # fmt: skip
    return int(bool(faults))
