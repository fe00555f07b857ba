"""Eight CPU devices for the tests of clients, arrays, transfers and callbacks."""

import os
import subprocess
import sys
import textwrap
import types

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


def _binary_type(x, y):
    wide = x if x.ndim >= y.ndim else y
    if x.dtype != y.dtype or (x.ndim == y.ndim and x.shape != y.shape):
        raise TypeError(f"toy: {x.str_short()} and {y.str_short()}")
    return wide.update(weak_type=x.weak_type and y.weak_type)


def _elementwise(name):
    def lower(ctx, *operands):
        from tans_xla import hlo

        operands = hlo.broadcast_operands(ctx, operands)
        return hlo.op1(f"stablehlo.{name}", ctx.result_type, operands)

    return lower


@pytest.fixture
def toys():
    """A few primitives with rules for types and lowering, as functions."""
    from tans_core import Primitive, rules

    names = {"sin": "sine", "log": "log", "add": "add", "mul": "multiply"}
    unary = ("sin", "log")
    primitives = {name: Primitive(name) for name in names}
    twice = Primitive("twice", multiple_results=True)
    for name, primitive in primitives.items():
        rules.types[primitive] = (lambda x: x) if name in unary else _binary_type
        rules.lowering[primitive] = _elementwise(names[name])
    rules.types[twice] = lambda x: (x, x)
    rules.lowering[twice] = lambda ctx, x: [x, x]
    yield types.SimpleNamespace(
        twice=twice.bind,
        primitives=primitives | {"twice": twice},
        **{name: primitive.bind for name, primitive in primitives.items()},
    )
    for primitive in (*primitives.values(), twice):
        rules.types.pop(primitive, None)
        rules.lowering.pop(primitive, None)


@pytest.fixture
def count_calls():
    """Count the Python functions that start while a function runs."""

    def count(fun, *args):
        calls = []

        def profile(frame, event, arg):
            if event == "call":
                calls.append(frame.f_code.co_qualname)

        sys.setprofile(profile)
        try:
            fun(*args)
        finally:
            sys.setprofile(None)
        return calls

    return count


@pytest.fixture
def is_clean():
    """Check that the thread's contexts are those of a fresh thread."""
    from tans_core import eval_trace, state
    from tans_core.config import trace_marker

    def check():
        assert state.trace is eval_trace
        assert state.source is None
        assert state.name_stack == ""
        assert trace_marker.value is None

    return check
