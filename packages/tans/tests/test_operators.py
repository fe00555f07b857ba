"""Arrays have their operators, whichever name of the namespace a program uses."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "program",
    [
        "tans.jit(lambda x: x * 2)(1.0)",
        "tans.grad(lambda x: x**2)(1.0)",
        "tans.device_put(1.0) * 2",
    ],
)
def test_operators_work_without_an_import_of_tans_numpy(program):
    done = subprocess.run(
        [sys.executable, "-c", f"import tans; print(float({program}))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "2.0\n", done.stderr
