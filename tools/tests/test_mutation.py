import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "mutation"))
import faults
import reached
import suites

RULES = """
def rule(x, y):
    return lax.sub(x, y) if x.size == 0 else lax.mul(x, lax.neg(y))
"""


@pytest.fixture
def root(tmp_path):
    for package, family in (("a", "one"), ("a", "two"), ("b", "three")):
        folder = tmp_path / "packages" / package / "src" / family
        folder.mkdir(parents=True)
        (folder / "derivatives.py").write_text(RULES)
    return tmp_path


def test_faults_of_a_rule():
    found = {(f.kind, f.new) for f in faults.faults_of(RULES, "p")}
    assert found == {
        ("operands swapped", "lax.sub(y, x)"),
        ("operation", "lax.add"),
        ("operation", "lax.div"),
        ("neg lost", "(y)"),
        ("comparison", "x.size != 0"),
        ("choice", "lax.mul(x, lax.neg(y)) if x.size == 0 else lax.sub(x, y)"),
    }


def test_a_change_elsewhere_leaves_the_sample(root):
    before = faults.sample(root, 6, seed=1)
    assert len({*before}) == 6
    assert before != faults.sample(root, 6, seed=2)
    (root / "packages/b/src/three/derivatives.py").write_text("")
    after = faults.sample(root, 6, seed=1)
    kept = [f for f in before if "three" not in f.path]
    assert [f for f in after if f in kept] == kept


def test_a_fault_is_made_and_taken_back(root):
    fault = next(f for f in faults.faults_of(RULES, "packages/a/src/one/derivatives.py"))
    assert fault.apply(root) == RULES
    assert (root / fault.path).read_text() == RULES.replace(fault.old, fault.new)


def test_tests_that_run_the_line_go_first():
    fault = faults.Fault("p/types.py", "flag", 7, 0, 1, "True", "False")
    lines = {"6": [(0.1, "above")], "7": [(0.2, "quick"), (100.0, "slow"), (0.3, "other")]}
    noted = {"a": {"p/types.py": lines}, "b": {"p/types.py": {"5": [(0.1, "near")]}}, "c": {}}
    assert reached.quickest(noted, fault) == [("a", ["quick", "other"]), ("b", ["near"])]


def test_which_suites_check_a_file():
    named = suites.tests_of("packages/tans-lax/src/tans_lax/sorting/types.py")
    assert "packages/tans-lax/tests/test_sorting.py" in named
    assert "packages/tans-x/tests" in suites.tests_of("packages/tans-x/src/x/derivatives.py")
    assert suites.wide_tests_of("packages/tans-x/src/x/types.py")[0] == "packages/tans-x/tests"


@pytest.mark.parametrize(
    ("body", "test", "expected"),
    [
        ("return not x", "assert rule(False)", True),
        ("return not x", "assert rule(False) or rule(True)", False),
        ("while not x: pass", "rule(True)", True),  # without end under the fault
        ("time.sleep(6 * (not x))", "rule(True); rule(False)", False),  # slow in either case
    ],
)
def test_a_fault_is_caught_by_a_test_that_passes_without_it(
    tmp_path, monkeypatch, body, test, expected
):
    monkeypatch.setattr(reached, "FOLDERS", ())
    monkeypatch.setattr(suites, "LIMIT", 4)
    root = tmp_path / "root"
    source = f"import time\n\n\ndef rule(x):\n    {body}\n"
    for place, text in {
        "packages/tans-toy/src/tans_toy/types.py": source,
        "packages/tans-toy/tests/test_toy.py": (
            f"from tans_toy.types import rule\n\n\ndef test_rule():\n    {test}\n"
        ),
    }.items():
        (root / place).parent.mkdir(parents=True)
        (root / place).write_text(text)
    for name in ("integration_tests", "tools"):
        (root / name).mkdir()
    at = source.index("not x")
    fault = faults.Fault(
        "packages/tans-toy/src/tans_toy/types.py", "negation", 5, at, at + 5, "not x", "(x)"
    )
    copy = suites.Copy(root, tmp_path / "copy", tmp_path / "kept")
    assert copy.caught(fault, wide=False)[0] is expected
    assert (tmp_path / "copy" / fault.path).read_text() == source
