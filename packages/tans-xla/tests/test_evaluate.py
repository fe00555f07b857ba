"""Eager operations: one C++ object per (primitive, params), and evaluation while tracing."""

import numpy as np
import pytest

from tans_core import Tracer, errors, eval_trace
from tans_core import config_module as config
from tans_xla import device_put, ensure_compile_time_eval, jit, make_jaxpr, print_environment_info


def test_a_repeated_operation_runs_two_frames_of_python(toys, count_calls):
    x = device_put(np.ones(3, np.float32))
    toys.sin(x)
    assert count_calls(toys.sin, x) == ["Primitive.bind", "EvalTrace.process"]


def test_runners_are_kept_by_params_and_limited(toys, monkeypatch):
    monkeypatch.setattr(type(eval_trace), "LIMIT", 8)
    eval_trace.clear()
    from tans_core import Primitive, rules

    scaled_p = Primitive("scaled")
    rules.types[scaled_p] = lambda x, *, by: x
    rules.lowering[scaled_p] = lambda ctx, x, *, by: x
    for by in range(20):
        scaled_p.bind(1.0, by=by)
    assert len(eval_trace._runners) <= 8
    del rules.types[scaled_p], rules.lowering[scaled_p]


def test_eager_operations_ignore_disable_jit(toys):
    with config.disable_jit(True):
        assert float(toys.add(toys.sin(0.0), 1.0)) == 1.0


def test_compile_time_evaluation_of_constants(toys):
    seen = []

    @jit
    def f(x):
        with ensure_compile_time_eval():
            n = toys.add(toys.mul(2.0, 3.0), jit(lambda y: toys.sin(y))(0.0))
            seen.append(isinstance(n, Tracer))
            y = toys.add(x, n)
        return toys.mul(y, float(n))

    assert float(f(1.0)) == 42.0
    assert seen == [False]
    assert len(make_jaxpr(f)(1.0).eqns[0].params["jaxpr"].eqns) == 2
    with ensure_compile_time_eval():
        assert float(toys.sin(0.0)) == 0.0


def test_conditions_on_tracers_raise_with_a_remedy(toys):
    with pytest.raises(errors.TracerBoolConversionError, match=r"argument flag.*lax\.cond"):
        jit(lambda flag: 1.0 if flag else 2.0)(True)
    with pytest.raises(errors.ConcretizationTypeError, match="argument x"):
        jit(lambda x: float(x))(1.0)
    with pytest.raises(errors.TracerArrayConversionError, match=r"tans\.numpy"):
        jit(lambda x: np.sin(x))(1.0)
    with pytest.raises(errors.TracerIntegerConversionError, match="argument n"):
        jit(lambda n: [1, 2][n])(1)


def test_environment_info(capsys):
    print_environment_info()
    shown = capsys.readouterr().out
    assert "jaxlib: " in shown
    assert "8 local devices" in shown
    assert print_environment_info(return_string=True) + "\n" == shown
