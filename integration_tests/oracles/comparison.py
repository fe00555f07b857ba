"""Comparing functions with their oracles: compiled, mapped, differentiated.

All functions of a table run in one program per kind of comparison, because a compilation of each
would take minutes.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.special
import scipy.stats

import tans
import tans.image
import tans.numpy as jnp
import tans.ops
import tans.scipy as jsp
from oracles.operands import make, typed
from oracles.registry import Row
from tans import lax, nn

OURS = {
    "jnp": jnp, "np": np, "lax": lax, "nn": nn, "jsp": jsp, "jops": tans.ops, "jimage": tans.image,
}  # fmt: skip
THEIRS = {"np": np, "scipy": scipy}
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}
STEP = 1e-6
# Compiling takes nearly all of the time, and the programs run once.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def _jit(f: Callable[..., Any]) -> Callable[..., Any]:
    return tans.jit(f, compiler_options=QUICK)


def ours(row: Row, operands: dict[str, Any]) -> list[Any]:
    """Return the results of the function under test, flat."""
    found = eval(row.ours, OURS | operands)
    return _flat(row, found, jnp)


def theirs(row: Row, operands: dict[str, Any]) -> list[np.ndarray]:
    """Return the results of the oracle, flat."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [np.asarray(v) for v in _flat(row, eval(row.theirs, THEIRS | operands), np)]


def _flat(row: Row, found: Any, module: Any) -> list[Any]:
    leaves = found if isinstance(found, tuple | list) else [found]
    if any(isinstance(leaf, tuple | list) for leaf in leaves):
        return [v for leaf in leaves for v in _flat(row, leaf, module)]
    if "product" in row.flags and len(leaves) > 1:
        return [_product([module.asarray(v) for v in leaves], row.name)]
    if "sorted" in row.flags:
        return [module.sort(module.asarray(v)) for v in leaves]
    return [v for v in leaves if not isinstance(v, str)]


def _product(factors: list[Any], name: str) -> Any:
    if name.endswith("eigh"):
        values, vectors = factors
        return (vectors * values) @ vectors.T
    if name.endswith("svd"):
        left, values, right = factors
        return (left * values) @ right
    return factors[0] @ factors[1]


def check(row: Row, found: Iterable[Any], expected: list[np.ndarray], dtype: str) -> str | None:
    """Say how results differ; None if they agree."""
    found = list(found)
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    tolerance = TOLERANCE[dtype] * (100 if "near" in row.flags else 1)
    tolerance = max(tolerance, 2e-2 if "bfloat16" in row.flags else 0)
    for a, b in zip(map(np.asarray, found), expected, strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape}, expected {b.shape}"
        if "shape" in row.flags:
            continue
        finite = np.abs(b[np.isfinite(b)]) if b.dtype.kind in "fc" else np.ones(1)
        scale = max(1.0, float(finite.max(initial=0)))
        if b.dtype.kind in "OUM":
            fine = bool(np.all(a == b))
        else:
            fine = np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if not fine:
            return f"{a.ravel()[:4]}, expected {b.ravel()[:4]}"
    return None


def together(
    rows: list[Row], run: Callable[[Row, Any], Any], wrap: Callable[[Any], Any], *operands: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Run all rows in one program; return results, and what could not be traced, by name."""
    failed: dict[str, str] = {}

    def program(*operands: Any) -> dict[str, Any]:
        found = {}
        for row in rows:
            try:
                found[row.name] = run(row, *operands)
            except Exception as error:
                failed[row.name] = f"{type(error).__name__}: {error}"[:200]
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wrap(program)(*operands), failed


def compiled(rows: list[Row], dtype: str, n: int, m: int) -> dict[str, str | None]:
    """Compare under jit; return what differs, by name."""
    wide = make(n, m, seed=n)
    found, failed = together(rows, ours, _jit, typed(wide, dtype))
    return _differences(rows, found, failed, wide, dtype)


def mapped(rows: list[Row], dtype: str, n: int, m: int) -> dict[str, str | None]:
    """Compare under vmap over two sets of operands."""
    sets = [make(n, m, seed) for seed in (n, n + 1)]
    both = {k: np.stack([typed(s, dtype)[k] for s in sets]) for k in sets[0]}
    found, failed = together(rows, ours, lambda f: _jit(tans.vmap(f)), both)
    arrays = {name: [np.asarray(v) for v in values] for name, values in found.items()}
    out: dict[str, str | None] = {}
    for place, operands in enumerate(sets):
        own = {name: [v[place] for v in values] for name, values in arrays.items()}
        for name, fault in _differences(rows, own, failed, operands, dtype).items():
            out[name] = out.get(name) or fault
    return out


def eager(rows: list[Row], dtype: str, n: int, m: int) -> dict[str, str | None]:
    """Compare calls on concrete arrays."""
    wide = make(n, m, seed=n)
    found, failed = together(rows, ours, lambda f: f, _arrays(typed(wide, dtype)))
    return _differences(rows, found, failed, wide, dtype)


def _arrays(operands: dict[str, Any]) -> dict[str, Any]:
    return {k: jnp.asarray(v) for k, v in operands.items()}


def _differences(
    rows: list[Row], found: dict[str, Any], failed: dict[str, str], wide: Any, dtype: str
) -> dict[str, str | None]:
    def fault(row: Row) -> str | None:
        try:
            return check(row, found[row.name], theirs(row, wide), dtype)
        except Exception as error:
            return f"the oracle raises {type(error).__name__}: {error}"[:200]

    return {row.name: failed.get(row.name) or fault(row) for row in rows}


def differentiated(rows: list[Row], n: int, m: int) -> dict[str, str | None]:
    """Compare jvp and vjp in float64 with central differences of the oracle."""
    point = make(n, m, seed=n)
    floats = {k: v for k, v in point.items() if np.asarray(v).dtype.kind == "f"}
    rng = np.random.default_rng(0)
    along = {k: _direction(k, np.asarray(v), rng) for k, v in floats.items()}
    rest = {k: v for k, v in point.items() if k not in floats}

    def slopes(row: Row, values: Any, tangents: Any) -> Any:
        outs, dots = tans.jvp(lambda f: ours(row, rest | f), (values,), (tangents,))
        _, pullback = tans.vjp(lambda f: ours(row, rest | f), values)
        bars = [nn.identity(jnp.ones_like(o)) for o in outs]
        if not all(jnp.issubdtype(o.dtype, np.inexact) for o in outs):
            return dots, None
        (back,) = pullback(bars)
        return dots, sum(jnp.vdot(back[k], tangents[k]) for k in back)

    found, failed = together(rows, slopes, _jit, floats, along)

    def fault(row: Row) -> str | None:
        try:
            return _slope_fault(row, found[row.name], floats, along, rest)
        except Exception as error:
            return f"the oracle raises {type(error).__name__}: {error}"[:200]

    return {row.name: failed.get(row.name) or fault(row) for row in rows}


def _direction(name: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    d = rng.normal(size=x.shape)
    return d + d.T if name == "A" else d - d.mean() if name == "P" else d


def _slope_fault(row: Row, found: Any, floats: Any, along: Any, rest: Any) -> str | None:
    dots, total = found
    ahead, behind = (
        theirs(row, rest | {k: floats[k] + sign * STEP * along[k] for k in floats})
        for sign in (1, -1)
    )
    slopes = []
    for a, b in zip(ahead, behind, strict=True):
        if a.dtype.kind not in "fc":
            return None if total is None else "an oracle with integers"
        slopes.append((a - b) / (2 * STEP))
    for dot, slope in zip(dots, slopes, strict=True):
        scale = max(1.0, float(np.abs(slope).max(initial=0)))
        if not np.allclose(dot, slope, rtol=1e-4, atol=1e-4 * scale):
            return f"slope {np.ravel(dot)[:3]}, expected {slope.ravel()[:3]}"
    expected = sum(np.sum(s) for s in slopes)
    if total is not None and np.isrealobj(expected):
        size = sum(float(np.abs(s).sum()) for s in slopes)
        if not np.allclose(total, expected, rtol=1e-4, atol=1e-4 * max(1.0, size)):
            return f"reverse slope {total}, expected {expected}"
    return None
