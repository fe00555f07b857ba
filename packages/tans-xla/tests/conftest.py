"""Eight CPU devices for the tests of clients, arrays, transfers and callbacks."""

import os
import subprocess
import sys
import textwrap

import pytest

# Read when the client is made; subprocesses inherit it.
os.environ["JAX_NUM_CPU_DEVICES"] = "8"
os.environ["JAX_PLATFORMS"] = "cpu"


@pytest.fixture
def run_python():
    """Run a program in a fresh interpreter; returns its standard output."""

    def run(program: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def mesh():
    """A 2 by 4 mesh of explicit axes x and y."""
    import numpy as np

    from tans_core.mesh import AxisType, Mesh
    from tans_xla import devices

    grid = np.array(devices()).reshape(2, 4)
    return Mesh(grid, ("x", "y"), (AxisType.Explicit, AxisType.Explicit))
