import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "peer_bench"


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def run(side, value, metric="x[3]", program="eager", **extra):
    metrics = {metric: {"min": value, "median": value, "unit": "us", "exact": False}}
    return {"program": program, "side": side, "metrics": metrics, "errors": {}, **extra}


def test_a_ratio_within_its_bar_passes():
    text = load("report").report([run("a", 3.0), run("b", 10.0), run("a", 4.0), run("b", 12.0)])
    row = next(line for line in text.splitlines() if line.startswith("| eager x[3]"))
    assert row.endswith("| 0.30 | 1.11 | 0.35 | 0.20 | pass |")


@pytest.mark.parametrize(("value", "verdict"), [(1.0, "stretch"), (4.0, "MISS")])
def test_verdicts(value, verdict):
    text = load("report").report([run("a", value), run("b", 10.0)])
    row = next(line for line in text.splitlines() if line.startswith("| eager x[3]"))
    assert row.endswith(f"| {verdict} |")


def test_a_missing_figure_is_not_a_pass():
    text = load("report").report([run("b", 10.0)])
    row = next(line for line in text.splitlines() if line.startswith("| eager x[3]"))
    assert row.endswith("| not measured |")
    assert text.startswith("# Tans against JAX")


def test_errors_name_side_and_case():
    failed = run("a", 1.0)
    failed["errors"] = {"x.at[2].set(1)": "TypeError: no"}
    assert "* Tans, eager, x.at[2].set(1): TypeError: no" in load("report").report([failed])


def test_every_bar_names_a_program_that_exists():
    bars = load("bars")
    programs = {p.stem for p in (FOLDER / "programs").glob("*.py")}
    assert {b.program for b in (*bars.BARS, *bars.PROGRAM_BARS)} <= programs
    assert all(b.stretch <= b.bar for b in bars.BARS)


MODULE = """
module @jit_f {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.sine %arg0 : tensor<f32>
    %1 = call @g(%0) : (tensor<f32>) -> tensor<f32>
    %2:2 = call @g(%1) : (tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
  func.func private @g(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.cosine %arg0 : tensor<f32>
    %1 = "stablehlo.add"(%0, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @unused(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.cosine %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
}
"""


def test_operations_are_counted_once_per_call_site():
    assert load("hlo").stablehlo_inlined_total(MODULE) == 5
    assert load("hlo").stablehlo_total(MODULE) == 4
