"""Every primitive has every column, or a row that says why not."""

import importlib
import pkgutil

import pytest

from tans_core import Primitive, rules

PACKAGES = ("tans_xla", "tans_lax", "tans_batching", "tans_autodiff", "tans_random")
# Families are folders with column files; these names are columns, not families.
COLUMNS = {
    "types", "lowering", "derivatives", "batching", "simplify", "to_lo", "sharding", "staging",
    "evaluation", "discharge",
}  # fmt: skip
REQUIRED = ("types", "lowering", "jvp", "transpose", "batching")
# The rows that say "not differentiable"; a new one needs a decision, and a line here.
NOT_DIFFERENTIABLE = set(
    """
    geqrf hessenberg householder_product rng_uniform schur select_and_scatter tridiagonal
    """.split()
)


def _modules():
    for package in PACKAGES:
        root = importlib.import_module(package)
        yield root
        for info in pkgutil.walk_packages(root.__path__, f"{package}."):
            if info.name.rsplit(".", 1)[1] not in COLUMNS:
                yield importlib.import_module(info.name)


def _primitives():
    found = {}
    for module in _modules():
        for value in vars(module).values():
            if isinstance(value, Primitive) and value.family:
                found[id(value)] = value
    return sorted(found.values(), key=lambda p: (p.family, p.name))


PRIMITIVES = _primitives()


def test_there_are_primitives():
    assert len(PRIMITIVES) > 100


@pytest.mark.parametrize("table", REQUIRED)
def test_no_cell_is_empty(table):
    column = getattr(rules, table)
    missing = []
    for primitive in PRIMITIVES:
        if column.find(primitive) is not None:
            continue
        # A primitive that never reaches a table says so with another row.
        if table != "types" and rules.staging.find(primitive) is not None:
            continue
        missing.append(f"{primitive.family}: {primitive.name}")
    assert not missing, f"{table}: " + ", ".join(missing)


def test_few_primitives_are_not_differentiable():
    refused = {p.name for p in PRIMITIVES if hasattr(rules.jvp.find(p), "not_differentiable")}
    assert refused == NOT_DIFFERENTIABLE


def test_column_files_make_no_arrays():
    """Importing a column under a poisoned trace shows that it computes nothing."""
    import subprocess
    import sys

    program = """
import importlib, pkgutil
from tans_core.trace import EvalTrace, Trace
from tans_core import state
class Poisoned(Trace):
    def process(self, primitive, args, params):
        raise AssertionError(f"{primitive} was bound while a column file was imported")
COLUMNS = {columns!r}
import tans_lax, tans_xla, tans_batching, tans_autodiff, tans_random
EvalTrace.process = Poisoned.process
count = 0
for package in (tans_xla, tans_lax, tans_batching, tans_autodiff, tans_random):
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if info.name.rsplit(".", 1)[1] in COLUMNS:
            importlib.import_module(info.name)
            count += 1
print(count)
"""
    done = subprocess.run(
        [sys.executable, "-c", program.replace("{columns!r}", repr(COLUMNS))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
