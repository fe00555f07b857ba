"""The demo: what it prints about communication, losses and accuracy."""

import re
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent / "demo" / "digits.py"


def test_demo_trains_with_one_all_reduce_per_step(tmp_path: Path) -> None:
    command = [sys.executable, str(DEMO), "--epochs", "2", "--out", str(tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    assert "=> 17 all-reduces per step" in out  # 4 micro-batches x (3 layers + 1), and the loss
    assert "=> 1 all-reduce per step" in out
    rows = re.findall(r"^ +step +\d+ +([\d.]+) +([\d.]+)$", out, re.MULTILINE)
    assert rows
    assert all(abs(float(a) - float(b)) < 1e-4 for a, b in rows)
    accuracy = re.search(r"test accuracy: ([\d.]+)%", out)
    assert accuracy is not None
    assert float(accuracy[1]) > 90
    names = {"communication_reduced.svg", "communication_replicated.svg", "learning_curve.png"}
    assert names <= {path.name for path in tmp_path.iterdir()}
