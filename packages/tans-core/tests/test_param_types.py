"""Params that are equal but of different types are different programs."""

import numpy as np
import pytest

from tans_core import Primitive, ShapedArray, eval_trace, rules, trace_to_jaxpr

PAIRS = [
    (1, 1.0),
    (1.0, True),
    (True, 1),
    (0.0, -0.0),
    (np.float32(1), 1.0),
    (0j, complex(0.0, -0.0)),
    ((1, 2), (1.0, 2.0)),
    ((1,), (True,)),
    ((0.0,), (-0.0,)),
    (((1,), ()), ((1.0,), ())),
    (frozenset({1}), frozenset({1.0})),
]


def same(given, expected):
    return type(given) is type(expected) and repr(given) == repr(expected)


@pytest.fixture
def scaled_p():
    primitive = Primitive("scaled", family="my_ops")

    def type_rule(x, *, by, **_):
        return ShapedArray((2,), np.dtype(np.int32 if type(by) is int else np.float32))

    rules.types[primitive] = type_rule
    return primitive


@pytest.mark.parametrize(("first", "second"), [*PAIRS, *((b, a) for a, b in PAIRS)])
def test_equal_params_are_recorded_as_they_are(scaled_p, first, second):
    def program(x):
        return [scaled_p.bind(x, by=p) for p in (first, second, first)]

    closed = trace_to_jaxpr(program, [ShapedArray((), np.dtype(np.float32))])
    recorded = [eqn.params["by"] for eqn in closed.eqns]
    assert [same(*pair) for pair in zip(recorded, (first, second, first), strict=True)] == [
        True
    ] * 3


def test_types_follow_the_param(scaled_p):
    closed = trace_to_jaxpr(
        lambda x: [scaled_p.bind(x, by=1), scaled_p.bind(x, by=1.0)],
        [ShapedArray((), np.dtype(np.float32))],
    )
    assert [a.dtype for a in closed.out_avals] == [np.int32, np.float32]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_equal_params_are_compiled_apart(scaled_p, monkeypatch, first, second):
    compiled = []

    def compiler(primitive, params):
        compiled.append(params["by"])
        return lambda *args: params["by"]

    monkeypatch.setattr(eval_trace, "compiler", compiler)
    results = [scaled_p.bind(0.0, by=p) for p in (first, second, first, second)]
    assert [same(*p) for p in zip(results, (first, second) * 2, strict=True)] == [True] * 4


def test_equal_params_of_one_type_are_compiled_once(scaled_p, monkeypatch):
    compiled = []

    def compiler(primitive, params):
        compiled.append(params)
        return lambda *args: None

    monkeypatch.setattr(eval_trace, "compiler", compiler)
    for _ in range(4):
        scaled_p.bind(0.0, by=(1.5, 2), other="x")
    assert len(compiled) == 1


def test_params_without_numbers_keep_plain_keys(scaled_p):
    trace_to_jaxpr(lambda x: [scaled_p.bind(x, by="a")], [ShapedArray((), np.dtype(np.float32))])
    assert scaled_p.param_numbers == 0
