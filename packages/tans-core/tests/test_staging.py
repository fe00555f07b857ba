import gc
import weakref

import numpy as np
import pytest

from tans_core import (
    JaxprTrace,
    Literal,
    MissingRuleError,
    Primitive,
    ShapedArray,
    Tracer,
    check_jaxpr,
    dce_jaxpr,
    eval_closed,
    hoist_consts,
    is_evaluating,
    lift_tracer_consts,
    trace_to_jaxpr,
)
from tans_core.debug_info import debug_info_of
from tans_core.errors import (
    TracerArrayConversionError,
    TracerBoolConversionError,
    UnexpectedTracerError,
)
from tans_core.staging import _MEMO

F3 = ShapedArray((3,), np.float32)


def test_every_bind_is_recorded_even_of_constants(toys):
    def f(x):
        y = toys.neg_p.bind(2.0)
        return [toys.add_p.bind(x, y)]

    closed = trace_to_jaxpr(f, [F3])
    assert str(closed) == (
        "{ lambda ; a:f32[3]. let b:f32[] = neg 2.0:f32[]; c:f32[3] = add a b in (c,) }"
    )
    check_jaxpr(closed)


def test_text_of_nested_programs(toys):
    inner = trace_to_jaxpr(lambda x: [toys.neg_p.bind(x)], [F3])
    closed = trace_to_jaxpr(lambda x: toys.call_p.bind(x, jaxpr=inner), [F3])
    assert str(closed) == (
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[3] = call[jaxpr={ lambda ; c:f32[3]. let d:f32[3] = neg c in (d,) }] a\n"
        "  in (b,) }"
    )


def test_unused_results_are_printed_as_underscore(toys):
    closed = trace_to_jaxpr(lambda x: [toys.split_p.bind(x, n=2)[1]], [F3])
    assert "_:f32[3] b:f32[3] = split[n=2] a" in str(closed)


def test_outer_values_become_constants_once(toys):
    outer = np.ones(3, np.float32)

    def f(x):
        return [toys.add_p.bind(toys.add_p.bind(x, outer), outer)]

    closed = trace_to_jaxpr(f, [F3])
    assert [c is outer for c in closed.consts] == [True]
    lifted, consts = hoist_consts(closed)
    assert len(lifted.in_avals) == 2
    assert consts[0] is outer
    check_jaxpr(lifted)


def test_numpy_scalars_are_literals_of_the_canonical_dtype(toys):
    closed = trace_to_jaxpr(lambda x: [toys.add_p.bind(x, np.float64(2.0))], [F3])
    literal = closed.eqns[0].invars[1]
    assert isinstance(literal, Literal)
    assert literal.val.dtype == np.float32


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**70])
def test_python_integers_beyond_their_dtype_are_refused(toys, value):
    with pytest.raises(OverflowError, match=f"integer {value}; expected .* int32"):
        trace_to_jaxpr(lambda x: [toys.add_p.bind(x, value)], [F3])


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31)])
def test_the_outermost_python_integers_are_literals(toys, value):
    closed = trace_to_jaxpr(lambda x: [toys.neg_p.bind(value)], [F3])
    assert closed.eqns[0].invars[0].val == value


def test_assignment_to_a_traced_value_says_what_to_write(toys):
    def f(x):
        x[0] = 1
        return [x]

    with pytest.raises(TypeError, match=r"x\.at\[i\]\.set"):
        trace_to_jaxpr(f, [F3])


def test_params_without_a_hash_are_named(toys):
    with pytest.raises(TypeError, match=r"neg: .* axes=\[0\] of type list; expected .* tuples"):
        trace_to_jaxpr(lambda x: [toys.neg_p.bind(x, axes=[0])], [F3])


def test_tracers_of_an_enclosing_trace_are_captured(toys):
    def outer(x):
        inner = trace_to_jaxpr(lambda y: [toys.add_p.bind(x, y)], [F3])
        lifted, tracers = lift_tracer_consts(inner)
        assert tracers == [x] or tracers[0] is x
        return toys.call_p.bind(*tracers, x, jaxpr=lifted)

    closed = trace_to_jaxpr(outer, [F3])
    assert not closed.consts
    assert len(closed.eqns[0].invars) == 2
    check_jaxpr(closed)


def test_a_leaked_tracer_names_the_argument_the_function_and_its_place(toys):
    leaked = []

    def leaky(x):
        leaked.append(x)
        return [x]

    trace_to_jaxpr(leaky, [F3], debug_info_of("jit", leaky, ("x",)))
    with pytest.raises(UnexpectedTracerError, match=r"argument x in leaky at .*test_staging\.py"):
        trace_to_jaxpr(lambda y: [toys.add_p.bind(leaked[0], y)], [F3])


def test_a_leaked_result_names_the_line_that_made_it(toys):
    leaked = []

    def leaky(x):
        leaked.append(toys.neg_p.bind(x))
        return [x]

    trace_to_jaxpr(leaky, [F3], debug_info_of("jit", leaky))
    with pytest.raises(UnexpectedTracerError, match=r"computed by neg at .*test_staging\.py:\d+"):
        trace_to_jaxpr(lambda y: [toys.add_p.bind(leaked[0], y)], [F3])


def test_a_trace_leaves_nothing_behind_after_an_exception(toys):
    def f(x):
        toys.neg_p.bind(x)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        trace_to_jaxpr(f, [F3])
    assert is_evaluating()
    assert "neg" in str(trace_to_jaxpr(lambda x: [toys.neg_p.bind(x)], [F3]))


def test_a_failed_type_rule_is_not_remembered(toys):
    before = len(_MEMO)
    with pytest.raises(TypeError, match="add"):
        trace_to_jaxpr(lambda x: [toys.add_p.bind(x, np.ones(3, np.int32))], [F3])
    assert len(_MEMO) == before


def test_recording_after_the_end_raises(toys):
    trace = JaxprTrace()
    x = trace.new_input(F3)
    trace.to_jaxpr([x])
    with pytest.raises(UnexpectedTracerError, match="already finished"):
        trace.process(toys.neg_p, (x,), {})


def test_missing_rule_says_where_it_belongs():
    lonely = Primitive("lonely", family="tans_core")
    with pytest.raises(MissingRuleError, match=r"'lonely' has no types rule.*tans_core\.types"):
        trace_to_jaxpr(lambda x: [lonely.bind(x)], [F3])


@pytest.mark.parametrize(
    ("use", "error"),
    [(bool, TracerBoolConversionError), (np.asarray, TracerArrayConversionError)],
)
def test_conversions_of_a_traced_value_raise_the_documented_error(toys, use, error):
    with pytest.raises(error, match=r"f32\[3\]"):
        trace_to_jaxpr(lambda x: [use(x)], [F3])


def test_tracers_are_arrays_and_have_no_hash():
    from tans_core import Array

    seen = []
    trace_to_jaxpr(lambda x: (seen.append(isinstance(x, Array)), [x])[1], [F3])
    assert seen == [True]
    assert Tracer.__hash__ is None


def test_dead_equations_go_and_effects_stay(toys):
    def f(x, y):
        toys.neg_p.bind(y)
        toys.print_p.bind(x)
        return [toys.neg_p.bind(x), toys.neg_p.bind(y)]

    closed = trace_to_jaxpr(f, [F3, F3])
    live, used = dce_jaxpr(closed, [True, False])
    assert [str(e.primitive) for e in live.eqns] == ["print", "neg"]
    assert used == [True, False]
    assert live.effects == frozenset({"print"})


def test_dce_goes_into_bodies(toys):
    inner = trace_to_jaxpr(lambda x, y: [toys.neg_p.bind(x), toys.neg_p.bind(y)], [F3, F3])
    closed = trace_to_jaxpr(lambda x, y: toys.call_p.bind(x, y, jaxpr=inner), [F3, F3])
    live, used = dce_jaxpr(closed, [False, True])
    assert used == [False, True]
    assert len(live.eqns[0].params["jaxpr"].eqns) == 1
    check_jaxpr(live)


def test_evaluating_a_recorded_program_records_it_again(toys):
    closed = trace_to_jaxpr(lambda x: [toys.neg_p.bind(toys.add_p.bind(x, 1.0))], [F3])
    again = trace_to_jaxpr(lambda x: eval_closed(closed, x), [F3])
    assert str(again) == str(closed)
    assert [e.traceback is f.traceback for e, f in zip(again.eqns, closed.eqns, strict=True)] == [
        True,
        True,
    ]


def test_programs_are_freed(toys):
    def make():
        closed = trace_to_jaxpr(lambda x: [toys.neg_p.bind(x)], [F3])
        trace_to_jaxpr(lambda x: toys.call_p.bind(x, jaxpr=closed), [F3])
        return weakref.ref(closed)

    ref = make()
    gc.collect()
    assert ref() is None
