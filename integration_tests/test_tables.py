"""Every primitive has every column, or a row that says why not."""

import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from tans_core import Primitive, rules

ROOT = Path(__file__).parents[1]
# Every package that is installed here; the umbrella has no primitives.
PACKAGES = sorted(
    p.name
    for p in ROOT.glob("packages/*/src/tans_*")
    if importlib.util.find_spec(p.name) is not None
)
# Families are folders with column files; these names are columns, not families.
COLUMNS = {
    "types", "lowering", "derivatives", "batching", "simplify", "to_lo", "sharding", "staging",
    "evaluation", "discharge",
}  # fmt: skip
REQUIRED = ("types", "lowering", "jvp", "transpose", "batching")
# Cells that stay empty; a new one needs a reason.
WITHOUT_OPERANDS = {"create_token", "dimension_value"}  # so nothing is mapped or differentiated
EMPTY = {
    ("lowering", "dimension_value"): "export lowers it, which alone knows the dimensions",
    ("jvp", "call_exported"): "the function around it has the derivative that was exported",
    ("transpose", "call_exported"): "the function around it has the derivative that was exported",
}
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
    assert len(PRIMITIVES) > 200
    owners = {p.family.partition(".")[0] for p in PRIMITIVES}
    with_primitives = "autodiff batching compiler hijax lax random refs sharding xla"
    assert owners >= {f"tans_{name}" for name in with_primitives.split()}


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
        # So does one that is replaced before lowering.
        if table == "lowering" and type(rules.to_lo.find(primitive)) is rules.ContextRule:
            continue
        if (table, primitive.name) in EMPTY:
            continue
        if table in ("jvp", "transpose", "batching") and primitive.name in WITHOUT_OPERANDS:
            continue
        missing.append(f"{primitive.family}: {primitive.name}")
    assert not missing, f"{table}: " + ", ".join(missing)


def test_few_primitives_are_not_differentiable():
    refused = {p.name for p in PRIMITIVES if hasattr(rules.jvp.find(p), "not_differentiable")}
    assert refused == NOT_DIFFERENTIABLE


def test_column_files_make_no_arrays():
    """Importing a column under a poisoned trace shows that it computes nothing."""
    program = """
import importlib, pkgutil
from tans_core.trace import EvalTrace, Trace
from tans_core import state
class Poisoned(Trace):
    def process(self, primitive, args, params):
        raise AssertionError(f"{primitive} was bound while a column file was imported")
COLUMNS = {columns!r}
PACKAGES = [importlib.import_module(name) for name in {packages!r}]
EvalTrace.process = Poisoned.process
count = 0
for package in PACKAGES:
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if info.name.rsplit(".", 1)[1] in COLUMNS:
            importlib.import_module(info.name)
            count += 1
print(count)
"""
    done = subprocess.run(
        [
            sys.executable, "-c",
            program.replace("{columns!r}", repr(COLUMNS)).replace("{packages!r}", repr(PACKAGES)),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
