"""`composite`: one compiled unit on arrays, inline under a trace."""

import numpy as np
import pytest

from tans_core import config_module as config
from tans_xla import composite, device_put, jit, make_jaxpr


@pytest.fixture
def wave(toys):
    calls = []

    @composite(static_argnames=("times",), static_argnums=(1,))
    def wave(x, times=1):
        """Doc."""
        calls.append(times)
        for _ in range(times):
            x = toys.sin(x)
        return x

    wave.calls = calls
    return wave


def test_concrete_arrays_run_one_program(wave, count_calls):
    x = device_put(np.ones(3, np.float32))
    np.testing.assert_allclose(wave(x, 2), np.sin(np.sin(np.ones(3))), rtol=1e-5)
    wave(x, times=2)
    wave(x, 3)
    before = len(wave.calls)
    assert len(count_calls(wave, x, 3)) == 1
    assert len(wave.calls) == before
    assert wave.compiled.lower(x, 3).as_text().count("stablehlo.sine") == 3


def test_under_a_trace_there_is_no_call(wave):
    assert str(make_jaxpr(lambda x: wave(x, 2))(1.0)) == (
        "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = sin b in (c,) }"
    )
    assert jit(lambda x: wave(x, times=2)).lower(1.0).as_text().count("func.func") == 1


def test_keeps_name_and_doc(wave):
    assert (wave.__name__, wave.__doc__) == ("wave", "Doc.")


def test_disabled_jit_runs_operations_one_by_one(wave):
    with config.disable_jit(True):
        wave(1.0, 2)
        wave(1.0, 2)
    assert wave.calls[-2:] == [2, 2]
