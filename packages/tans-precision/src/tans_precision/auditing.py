"""`audit`: run a function and compute each of its products in every candidate precision."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core import Eqn, tree
from tans_core.debug_info import user_line
from tans_core.errors import JaxRuntimeError
from tans_lax.contractions.precision import canonicalize_precision
from tans_precision import products, programs
from tans_precision.arithmetic import CANDIDATES, Arithmetic, arithmetic_of, cost
from tans_precision.report import Audit, Line, Measurement, check_tolerance
from tans_xla import ShapeDtypeStruct, default_backend, make_jaxpr
from tans_xla.jit.signature import check_callable

# What CPUs compute as asked; they run the others in float32.
_HONOURED_BY_CPU: Final = frozenset({"F16_F16_F16", "F32_F32_F32", "F64_F64_F64"})
_SAMPLE: Final = 64  # rows, columns and batch elements of a product that are compared
_RUNS: Final = 4  # runs of one equation that are compared


class _Candidate(NamedTuple):
    name: str
    precision: Any
    arithmetic: Arithmetic
    emulated: bool


def audit(
    fun: Callable[..., Any],
    *args: Any,
    candidates: Sequence[Any] | None = None,
    tolerance: float = 1e-3,
    platform: str | None = None,
    emulate: bool | None = None,
    **kwargs: Any,
) -> Audit:
    """Find out which precision each matrix product and convolution of a function needs.

    The function runs once, equation by equation, also inside of loops, branches and jitted calls.
    Ragged products are computed as one plain product, with zeros where groups do not meet.
    Each product is computed in every candidate precision, from the operands that it really has, and
    compared with double precision. The error is the largest difference over the largest magnitude
    of the exact product, over at most 64 rows and columns, and at most four runs of one equation.
    Then the function runs once more per candidate, with all products in it, and its results are
    compared with those of double-precision products.

    CPUs ignore most algorithms. What the hardware at hand does not do is emulated: operands and
    sums are rounded as the algorithm says; the report marks it.

    Args:
      fun: a function of arrays, as `jit` takes it; for a training step give the gradient function.
      *args: its arguments, concrete, with the scales that they will have.
      candidates: precisions to compare, as the ``precision`` argument takes them; by default all
        presets of 16 bits and more.
      tolerance: largest acceptable error of a product.
      platform: "cpu", "gpu" or "tpu", whose arithmetic is asked for; by default that of the
        backend. Another one is emulated.
      emulate: True emulates everything, False only measures, what then runs as something else
        included; None emulates what the hardware does not do.
      **kwargs: keyword arguments of `fun`.

    Returns:
      The report: printed as a table; `Audit.svg` is a picture.

    Raises:
      ValueError: an unknown platform, a negative tolerance, no candidates, or one that is no
        precision.
      TypeError: `fun` is no function, a tolerance that is no number, candidates in a str, or types
        in place of arrays.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> x = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
      >>> report = audit(lambda x: lax.dot(x, x), x, tolerance=1e-4)
      >>> report.cheapest()
      'BF16_BF16_F32_X3'
    """
    backend = default_backend()
    platform = backend if platform is None else platform
    if platform not in ("cpu", "gpu", "tpu"):
        raise ValueError(
            f"audit: given platform={platform!r}, expected 'cpu', 'gpu' or 'tpu'. Leave it out for "
            "the platform at hand."
        )
    check_tolerance("audit", tolerance)
    check_callable("audit", fun)
    chosen = _candidates(candidates, platform, backend, emulate)
    closed, _ = make_jaxpr(fun, return_shape=True)(*args, **kwargs)
    flat = tree.leaves((args, kwargs))
    for x in flat:
        if isinstance(x, ShapeDtypeStruct):
            raise TypeError(
                f"audit: given {x!r} as an argument, expected arrays, since errors depend on the "
                "values. Pass arrays of realistic scale."
            )
    lines: dict[tuple[str, str], _Tally] = {}
    seen: dict[Eqn, int] = {}

    def compare(eqn: Eqn, values: list[Any], source: Eqn) -> Any:
        if products.is_real(eqn):
            key = (user_line(source.traceback), products.describe(source))
            tally = lines.setdefault(key, _Tally())
            tally.runs += 1
            seen[source] = seen.get(source, 0) + 1
            if seen[source] <= _RUNS:
                tally.add(eqn, values, chosen)
        return eqn.primitive.bind(*values, **eqn.params)

    programs.run(closed, flat, compare)
    return Audit(
        platform=platform,
        tolerance=tolerance,
        costs={c.name: cost(c.arithmetic) for c in chosen},
        lines=[Line(*key, tally.runs, tally.errors) for key, tally in lines.items()],
        whole=_whole(closed, flat, chosen) if lines else {},
        unseen=programs.unseen(closed),
    )


def _candidates(
    given: Sequence[Any] | None, platform: str, backend: str, emulate: bool | None
) -> list[_Candidate]:
    if isinstance(given, str):
        raise TypeError(
            f"audit: given candidates={given!r}, expected a sequence of precisions. "
            f"Write [{given!r}]."
        )
    if given is not None and not len(given):
        raise ValueError(
            "audit: given no candidates, expected one precision or more. Leave candidates out for "
            "all."
        )
    found: list[_Candidate] = []
    for precision in CANDIDATES if given is None else given:
        canonical = canonicalize_precision(precision)
        name = precision if isinstance(precision, str) else str(precision)
        ignored = (
            platform == "cpu" and name not in _HONOURED_BY_CPU and type(canonical) is not tuple
        )
        emulated = platform != backend or ignored if emulate is None else emulate
        arithmetic = arithmetic_of(precision, platform)
        found.append(_Candidate(name, canonical, arithmetic, emulated))
    return sorted(found, key=lambda c: cost(c.arithmetic))


class _Tally:
    """The runs of a source line's product, and the largest error of each candidate."""

    def __init__(self) -> None:
        self.runs = 0
        self.errors: dict[str, Measurement] = {}

    def add(self, eqn: Eqn, values: list[Any], candidates: Sequence[_Candidate]) -> None:
        lhs, rhs = products.sampled(eqn, values, _SAMPLE)
        expected = products.exact(eqn, lhs, rhs)
        for candidate in candidates:
            product, emulated = _computed(eqn, lhs, rhs, candidate)
            now = Measurement(relative_error(product, expected), emulated)
            before = self.errors.get(candidate.name, now)
            self.errors[candidate.name] = max(before, now)


def _computed(
    eqn: Eqn, lhs: np.ndarray, rhs: np.ndarray, candidate: _Candidate
) -> tuple[np.ndarray, bool]:
    """Return a product, and whether it was emulated."""
    if not candidate.emulated:
        try:
            return products.run_on_backend(eqn, lhs, rhs, candidate.precision), False
        except (ValueError, JaxRuntimeError):
            pass  # the backend has no such algorithm
    return products.emulate(eqn, lhs, rhs, candidate.arithmetic), True


def relative_error(found: Any, expected: Any) -> float:
    """Return the largest difference over the largest magnitude of the expected values."""
    found, expected = (np.asarray(x, np.float64) for x in (found, expected))
    if not expected.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        difference = np.abs(found - expected).max()
    scale = np.abs(expected).max()
    if np.isnan(difference):
        return float("inf")
    return float(difference / scale) if scale else float(difference)


def _whole(closed: Any, flat: list[Any], candidates: Sequence[_Candidate]) -> dict[str, float]:
    """Return the error of the function's results when all products are in one precision."""

    def with_products(compute: Callable[[Eqn, np.ndarray, np.ndarray], np.ndarray]) -> list[Any]:
        def replaced(eqn: Eqn, values: list[Any], source: Eqn) -> Any:
            del source
            if not products.is_real(eqn):
                return eqn.primitive.bind(*values, **eqn.params)
            lhs, rhs = (np.asarray(x) for x in values)
            if eqn.primitive.name == "dot_general":
                lhs, rhs = products.as_matmul(eqn, lhs, rhs)
            return products.restored(eqn, compute(eqn, lhs, rhs))

        return programs.run(closed, flat, replaced)

    expected = with_products(products.exact)
    errors: dict[str, float] = {}
    for candidate in candidates:
        found = with_products(lambda e, x, y, c=candidate: _computed(e, x, y, c)[0])
        pairs = zip(found, expected, strict=True)
        errors[candidate.name] = max((relative_error(x, y) for x, y in pairs), default=0.0)
    return errors
