"""The check for devices runs on a CPU, and fails when something is wrong."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "device_check.py"


def run(*arguments, code=None):
    command = [sys.executable, "-c", code] if code else [sys.executable, str(SCRIPT)]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout


def test_all_checks_pass_on_a_cpu(tmp_path):
    status, text = run("--platform", "cpu", "--json", str(tmp_path / "out.json"))
    assert status == 0, text
    results = json.loads((tmp_path / "out.json").read_text())
    assert len(results["checks"]) >= 13
    assert sum(check["seconds"] for check in results["checks"]) < 240


def test_a_failure_is_counted_and_shown():
    code = (
        f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import device_check\n"
        "def wrong(): device_check.close(1.0, 2.0)\n"
        "device_check.CHECKS = (device_check.elementwise, wrong)\n"
        "sys.exit(device_check.main(['--platform', 'cpu']))\n"
    )
    status, text = run(code=code)
    assert status == 1
    assert "FAIL" in text
    assert "1 of 2 checks passed" in text
