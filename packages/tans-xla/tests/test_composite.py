"""`composite`: one compiled unit on arrays, inline under a trace."""

import numpy as np
import pytest

from tans_core import Trace, is_value, recording_trace
from tans_core import config_module as config
from tans_core.state import set_current_trace
from tans_core.trace import eval_trace
from tans_xla import composite, device_put, jit, make_jaxpr


@pytest.fixture
def wave(toys):
    calls = []

    @composite(static_argnames=("times",))
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


def test_ways_to_write_one_call_share_a_program(wave):
    x = device_put(np.ones(3, np.float32))
    before = len(wave.calls)
    for call in (lambda: wave(x), lambda: wave(x, 1), lambda: wave(x, times=1), lambda: wave(x=x)):
        call()
    assert wave.calls[before:] == [1]
    wave(x, True)
    assert len(wave.calls) == before + 2  # compared by type


def test_a_default_that_is_an_operand_is_part_of_the_program(toys):
    @composite
    def scaled(x, /, y=2.0, *, z=None):
        return toys.mul(x, y) if z is None else toys.mul(x, z)

    x = device_put(np.ones(3, np.float32))
    lowered = scaled.compiled.lower(x)
    assert "2.0" in lowered.as_text()
    results = scaled(x), scaled(x, 3.0), scaled(x, y=4.0), scaled(x, z=5.0)
    assert [float(np.asarray(v)[0]) for v in results] == [2, 3, 4, 5]
    scaled(x)
    assert len(scaled.compiled._jitted.table) == 4


def test_a_dynamic_argument_behind_a_static_one_keeps_its_place(toys):
    @composite(static_argnames=("times", "last"))
    def power(x, times, y, last=0):
        for _ in range(times):
            x = toys.mul(x, y)
        return x

    x, y = (device_put(np.float32(v)) for v in (3, 2))
    assert [float(power(x, 2, y)), float(power(x, 2, y, 0)), float(power(x, 1, y))] == [12, 12, 6]
    assert float(power(y=y, x=x, times=2)) == 12
    with pytest.raises(TypeError, match="multiple values"):
        power(x, 2, y, times=3)


@pytest.mark.parametrize("times", [[1], np.array(1), device_put(np.int32(1))])
def test_a_static_argument_without_a_hash_runs_the_function_itself(toys, times):
    @composite(static_argnames=("times",))
    def wave(x, times):
        assert type(times) is type(given)
        return toys.sin(x)

    given = times
    np.testing.assert_allclose(wave(1.0, times), np.sin(1), rtol=1e-6)
    np.testing.assert_allclose(wave(1.0, times=times), np.sin(1), rtol=1e-6)


def test_an_error_of_the_function_is_raised_as_it_is():
    @composite(static_argnames=("n",))
    def fail(x, n):
        raise ValueError("told you")

    with pytest.raises(ValueError, match="told you"):
        fail(1.0, 2)


@pytest.mark.parametrize("given", [[1.0, 2.0], "a"])
def test_what_a_function_refuses_is_shown_as_it_was_given(given):
    @composite
    def refuse(x):
        if not hasattr(x, "dtype"):
            raise TypeError(f"given {x!r}")

    with pytest.raises(TypeError) as caught:
        refuse(given)
    assert str(caught.value) == f"given {given!r}"


def test_each_nan_is_one_static_argument(toys):
    calls = []

    @composite(static_argnames=("fill",))
    def masked(x, fill):
        calls.append(fill)
        return toys.sin(x)

    for _ in range(3):
        masked(1.0, float("nan"))
    assert len(calls) == 1


def test_an_array_as_static_argument_before_numpy_has_printed_any(run_python):
    printed = run_python("""
        import numpy as np
        from tans_xla import composite

        @composite(static_argnames=("kind",))
        def kind_of(x, kind):
            return kind.dtype.name

        print(kind_of(1.0, np.array(1, np.int8)))
    """)
    assert printed.strip() == "int8"


def test_an_eager_transformation_works_on_a_whole_function(toys):
    traces, bound = [], []

    @composite(static_argnames=("times",), is_whole=True)
    def wave(x, times=1):
        traces.append(recording_trace() is not None)
        if not is_value(x):
            raise TypeError(f"given {x!r}")
        for _ in range(times):
            x = toys.sin(x)
        return x

    class Eager(Trace):
        def process(self, primitive, args, params):
            bound.append(primitive.name)
            with set_current_trace(eval_trace):
                return primitive.bind(*args, **params)

    x = device_put(np.ones(3, np.float32))
    with set_current_trace(Eager()):
        out = wave(x, 2)
        wave(x, times=2)
        with pytest.raises(TypeError, match="given 'a'"):
            wave("a")
    np.testing.assert_allclose(out, np.sin(np.sin(np.ones(3))), rtol=1e-5)
    assert bound == ["jit", "jit"]
    assert traces == [True, False]
    assert str(make_jaxpr(lambda x: wave(x, 2))(1.0)) == (
        "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = sin b in (c,) }"
    )
