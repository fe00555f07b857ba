"""Nothing that a user can write ends the process: random programs in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

CHUNK = 250


def run(first: int, count: int) -> tuple[int, int]:
    """Return how many of some random cases ran, and how many of them gave a value."""
    script = Path(__file__).with_name("fuzz_cases.py")
    command = [sys.executable, str(script), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    last = (done.stdout.splitlines() or ["nothing"])[-1]
    assert done.returncode == 0, f"{last} ended the process:\n{done.stderr[-2000:]}"
    word, ran, good = last.split()
    assert word == "done"
    return int(ran), int(good)


def test_a_hundred_cases() -> None:
    ran, good = run(0, 100)
    assert ran == 100
    assert good >= 15, "most cases raise before they reach the compiler; make them more sensible"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, CHUNK))
def test_two_thousand_cases(first: int) -> None:
    assert run(first, CHUNK)[0] == CHUNK
