"""Every public function is compared with an oracle; no row of a table goes uncompared.

Values, over dtypes and shapes, eagerly or compiled and mapped; slopes, where there are some. A
public function without a row in a table of ``oracles/`` or in `WITHOUT_VALUES` fails.
"""

import importlib
import re
import sys
from pathlib import Path

import pytest

import tans

sys.path.insert(0, str(Path(__file__).parent))
from oracles import comparison, registry
from oracles.exceptions import (
    ELSEWHERE,
    FUNCTIONS_WITHOUT_VALUES,
    NO_GRADIENT,
    NOT_MAPPED,
    OTHER_NAMES,
)

TABLES = {topic: registry.load(topic) for topic in registry.TOPICS}


def _slow_scipy(topics):
    """Mark the table that takes longest to compile; `nox -s oracles` runs what is slow."""
    return [pytest.param(t, marks=pytest.mark.slow) if t == "scipy" else t for t in topics]


# Float64 is quick for all but the longest table; the rest runs with `nox -s oracles`.
COMPILED = [
    pytest.param(
        topic, dtype, n, m,
        marks=[pytest.mark.slow] if topic == "scipy" or dtype == "float32" or n == 4 else [],
    )
    for topic in registry.TOPICS
    for dtype, n, m in [("float64", 2, 5), ("float32", 3, 4), ("float64", 4, 3)]
]  # fmt: skip


def _rows(topic, *, is_eager=False):
    return [r for r in TABLES[topic] if ("eager" in r.flags) == is_eager and "skip" not in r.flags]


def _full(topic, name):
    prefix = {"scipy": "scipy.", "lax": "lax.", "nn": "nn."}.get(topic, "numpy.")
    return name if name.startswith(("ops.", "image.")) else prefix + name


def _assess(rows, faults):
    assert set(faults) == {row.name for row in rows}, "each row is compared"
    wrong = {name: fault for name, fault in faults.items() if fault is not None}
    assert not wrong, "\n".join(f"{name}: {fault}" for name, fault in wrong.items())


@pytest.mark.parametrize(("topic", "dtype", "n", "m"), COMPILED)
def test_values_under_jit(topic, dtype, n, m):
    with tans.enable_x64(dtype == "float64"):
        _assess(_rows(topic), comparison.compiled(_rows(topic), dtype, n, m))


@pytest.mark.parametrize("topic", registry.TOPICS)
def test_values_without_jit(topic):
    rows = _rows(topic, is_eager=True)
    _assess(rows, comparison.eager(rows, "float32", 3, 4))


@pytest.mark.parametrize(
    ("topic", "n", "m"),
    [(t, 3, 4) for t in registry.TOPICS]
    + [pytest.param(t, 2, 5, marks=pytest.mark.slow) for t in registry.TOPICS],
)
def test_values_under_vmap(topic, n, m):
    rows = [r for r in _rows(topic) if _full(topic, r.name) not in NOT_MAPPED]
    _assess(rows, comparison.mapped(rows, "float32", n, m))


@pytest.mark.parametrize("topic", _slow_scipy(registry.TOPICS))
def test_slopes(topic):
    rows = [
        r for r in _rows(topic)
        if not r.flags & {"nograd", "shape"} and _full(topic, r.name) not in NO_GRADIENT
    ]  # fmt: skip
    with tans.enable_x64(True):
        _assess(rows, comparison.differentiated(rows, 3, 4))


NAMESPACES = """
    numpy numpy.linalg numpy.fft lax lax.linalg nn nn.initializers random scipy.special
    scipy.linalg scipy.stats scipy.signal scipy.ndimage scipy.fft scipy.integrate scipy.optimize
    scipy.sparse.linalg scipy.cluster.vq ops image
""".split()


def _functions(namespace):
    module = importlib.import_module(f"tans.{namespace}")
    for name in getattr(module, "__all__", None) or dir(module):
        value = getattr(module, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            yield f"{namespace}.{name}"
        elif namespace == "scipy.stats" and type(value).__name__ == "module":
            for inner in getattr(value, "__all__", ()):
                yield f"{namespace}.{name}.{inner}"


def test_every_function_has_comparisons():
    registered = {_full(t, r.name) for t in TABLES for r in TABLES[t] if "skip" not in r.flags}
    public = {name for namespace in NAMESPACES for name in _functions(namespace)}
    known = registered | set(ELSEWHERE) | set(OTHER_NAMES) | FUNCTIONS_WITHOUT_VALUES
    assert not public - known, "public functions without an oracle"
    assert not known - public, "rows of functions that are not public"


def test_comparisons_elsewhere_name_the_function():
    root = Path(__file__).parent.parent
    for name, place in ELSEWHERE.items():
        files = [root / place] if place.endswith(".py") else sorted((root / place).glob("*.py"))
        word = re.compile(rf"\b{name.rsplit('.', 1)[1]}\b")
        assert any(word.search(file.read_text()) for file in files), f"{name} in {place}"


def test_other_names_are_the_same_functions():
    for name, other in OTHER_NAMES.items():
        first, second = (
            getattr(importlib.import_module(f"tans.{n.rsplit('.', 1)[0]}"), n.rsplit(".", 1)[1])
            for n in (name, other)
        )
        assert first is second
