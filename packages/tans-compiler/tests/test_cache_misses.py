"""What `explain_cache_misses` logs: which argument changed, and how."""

import logging
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tans
import tans.numpy as jnp

X = np.ones(3, np.float32)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """Function that returns the messages since the last call of it."""
    caplog.set_level(logging.WARNING, logger="tans.cache_misses")

    def take() -> list[str]:
        found = [r.getMessage() for r in caplog.records if r.name == "tans.cache_misses"]
        caplog.clear()
        return found

    with tans.explain_cache_misses(True):
        yield take


def test_first_trace_names_the_function_and_both_places(log):
    def scale(x):
        return x * 2

    tans.jit(scale)(X)
    (text,) = log()
    assert "scale at " in text
    assert text.count("test_cache_misses.py:") == 2
    assert "not traced before" in text


def test_nothing_is_logged_on_a_hit(log):
    f = tans.jit(lambda x: x + 1)
    f(X)
    log()
    f(X + 1)
    assert log() == []


def test_nothing_is_logged_while_the_flag_is_off(log):
    with tans.explain_cache_misses(False):
        tans.jit(lambda x: x + 5)(X)
    assert log() == []


@pytest.mark.parametrize(
    ("new", "facts"),
    [
        (np.ones(4, np.float32), ["x: f32[4] now, f32[3] before", "dimension 0 is 4 instead of 3"]),
        (np.ones((3, 1), np.float32), ["2 dimensions instead of 1"]),
        (np.ones(3, np.int32), ["dtype int32 instead of float32"]),
        (1.0, ["a Python scalar instead of an array"]),
    ],
    ids=["shape", "rank", "dtype", "weak"],
)
def test_type_changes_say_what_changed(log, new, facts):
    f = tans.jit(lambda x: x * 3)
    f(X)
    log()
    f(new)
    (text,) = log()
    for fact in facts:
        assert fact in text
    assert "static" not in text


def test_only_the_argument_that_changed_is_named(log):
    f = tans.jit(lambda first, second: first + second)
    f(X, 1.0)
    log()
    f(X, np.int32(1))
    (text,) = log()
    assert "second: i32[] now" in text
    assert "first:" not in text


def test_a_changed_static_argument_is_no_change_of_types(log):
    f = tans.jit(lambda x, power: x**power, static_argnums=1)
    f(X, 2)
    log()
    f(X, 3)
    (text,) = log()
    assert "static argument power: now 3, before 2" in text
    assert "f32" not in text


def test_structures_that_differ_name_the_leaf(log):
    f = tans.jit(lambda params: params["w"])
    f({"w": X})
    log()
    f({"w": X, "b": X})
    assert "params['b']: there now, not before" in log()[0]
    f.clear_cache()


def test_a_flag_in_the_trace_context_is_named(log):
    f = tans.jit(lambda x: x - 1)
    f(X)
    log()
    with tans.enable_x64(True):
        f(X)
    assert "the flag jax_enable_x64: now True, before False" in log()[0]


def test_a_mesh_in_context_is_named(log):
    f = tans.jit(lambda x: x - 7)
    f(X)
    log()
    with tans.set_mesh(tans.make_mesh((4,), ("d",))):
        f(X)
    assert any("the mesh in context: now" in text for text in log())


def test_functions_made_in_a_loop_are_told_apart_from_changed_types(log):
    for _ in range(2):
        tans.jit(lambda x: x * 11)(X)
    assert "function object number 2 made at this place" in log()[1]


def test_the_nearest_of_several_keys_is_compared(log):
    f = tans.jit(lambda x, n: x * n, static_argnums=1)
    f(X, 2)
    f(np.ones((2, 2), np.int32), 5)
    log()
    f(np.ones((2, 2), np.int32), 6)
    (text,) = log()
    assert "traced 2 times before" in text
    assert "static argument n: now 6, before 5" in text
    assert "i32" not in text


def test_a_second_compilation_for_the_same_types_names_the_placement(log):
    f = tans.jit(lambda x: x * 13)
    f(X)
    log()
    f(tans.device_put(jnp.ones(3), tans.devices()[1]))
    (text,) = log()
    assert "compiled again" in text
    assert "where it runs" in text
    assert str(tans.devices()[1]) in text


def test_a_second_compilation_names_changed_compiler_flags(log):
    f = tans.jit(lambda x: x * 17)
    f(X)
    log()
    old = tans.config.read("jax_disable_most_optimizations")
    tans.config.update("jax_disable_most_optimizations", True)
    try:
        f(X)
    finally:
        tans.config.update("jax_disable_most_optimizations", old)
    assert "the flag jax_disable_most_optimizations: now True, before False" in log()[0]


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


def test_a_static_argument_whose_repr_fails_breaks_no_call(log):
    f = tans.jit(lambda x, n: x, static_argnums=1)
    f(1.0, 2)
    assert float(f(1.0, Unprintable())) == 1.0
    assert "static argument n: now a Unprintable, whose repr raises RuntimeError" in log()[-1]


def test_a_function_that_is_traced_again_as_the_same_object(log):
    def f(x):
        return x * 2

    tans.jit(f)(1.0)
    tans.clear_caches()
    tans.jit(f)(1.0)
    text = log()[-1]
    assert "this function was traced before" in text
    assert "function object" not in text


def test_many_changed_arguments_are_cut_short(log):
    f = tans.jit(lambda *xs: xs[0])
    f(*[1.0] * 50)
    f(*[1] * 50)
    text = log()[-1]
    assert "xs[7]" in text
    assert "xs[8]" not in text
    assert "and 42 more arguments" in text


def test_flags_and_options_of_the_compiler_have_their_names(log):
    def f(x):
        return x + 3

    tans.jit(f)(1.0)
    tans.jit(f, compiler_options={"xla_backend_optimization_level": 1})(1.0)
    assert "now {'xla_backend_optimization_level': 1}, before {}" in log()[-1]
    tans.config.update("jax_optimization_level", "O1")
    try:
        tans.jit(f)(1.0)
    finally:
        tans.config.update("jax_optimization_level", "UNKNOWN")
    assert "the flag jax_optimization_level: now 'O1', before 'UNKNOWN'" in log()[-1]


def test_a_new_context_is_a_reason(log):
    f = tans.jit(lambda x: x + 4)
    f(1.0)
    tans.make_user_context(0)
    f(1.0)
    assert "make_user_context made another one" in log()[-1]
