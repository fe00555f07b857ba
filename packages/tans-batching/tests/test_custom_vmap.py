"""custom_vmap and sequential_vmap: when the rule runs, what it is given, and its errors."""

import numpy as np
import pytest

import tans_lax as lax
from tans_batching import custom_vmap, sequential_vmap, vmap
from tans_xla import jit

ONES = np.ones(3, "float32")


def make(calls):
    @custom_vmap
    def fun(x, y):
        return lax.add(lax.sin(x), y)

    @fun.def_vmap
    def rule(axis_size, in_batched, x, y):
        calls.append((axis_size, in_batched, np.shape(x), np.shape(y)))
        y = y if np.ndim(y) else lax.broadcast(y, np.shape(x))
        return lax.add(lax.add(lax.sin(x), y), lax.full_like(x, 100)), True

    return fun


def test_rule_runs_under_vmap_only():
    calls = []
    fun = make(calls)
    np.testing.assert_allclose(fun(np.float32(0), np.float32(2)), 2)
    np.testing.assert_allclose(jit(fun)(np.float32(0), np.float32(2)), 2)
    assert calls == []
    np.testing.assert_allclose(vmap(fun)(0 * ONES, ONES), 101 * ONES)
    assert calls == [(3, [True, True], (3,), (3,))]


@pytest.mark.parametrize("wrap", [lambda f: vmap(jit(f)), lambda f: jit(vmap(f))])
def test_rule_runs_through_jit(wrap):
    calls = []
    np.testing.assert_allclose(wrap(make(calls))(0 * ONES, ONES), 101 * ONES)
    assert len(calls) == 1


def test_mapped_axis_is_first_and_unmapped_arguments_are_whole():
    calls = []
    found = vmap(make(calls), in_axes=(1, None))(np.zeros((2, 3), "float32"), np.float32(1))
    assert found.shape == (3, 2)
    assert calls == [(3, [True, False], (3, 2), ())]


def test_keyword_arguments_are_matched_to_positions():
    calls = []
    vmap(lambda x: make(calls)(x, y=np.float32(1)))(ONES)
    assert calls == [(3, [True, False], (3,), ())]


def test_rule_in_a_nested_map_is_mapped_itself():
    calls = []
    found = vmap(vmap(make(calls)))(np.zeros((2, 3), "float32"), np.ones((2, 3), "float32"))
    np.testing.assert_allclose(found, np.full((2, 3), 101))
    assert calls == [(3, [True, True], (3,), (3,))]


def test_trees_and_partly_mapped_outputs():
    @custom_vmap
    def fun(tree):
        return {"a": lax.neg(tree["a"]), "b": tree["b"]}

    @fun.def_vmap
    def rule(axis_size, in_batched, tree):
        assert in_batched == [{"a": True, "b": False}]
        return {"a": lax.neg(tree["a"]), "b": tree["b"]}, {"a": True, "b": in_batched[0]["b"]}

    found = vmap(fun, ({"a": 0, "b": None},), out_axes={"a": 0, "b": None})(
        {"a": ONES, "b": np.ones(2)}
    )
    np.testing.assert_array_equal(found["a"], -ONES)
    assert found["b"].shape == (2,)


def test_captured_unmapped_values_are_allowed():
    def outer(z):
        fun = custom_vmap(lambda x: lax.add(x, z))
        fun.def_vmap(lambda n, b, xs: (lax.mul(xs, lax.broadcast(z, (n,))), b[0]))
        return vmap(fun)(ONES)

    np.testing.assert_array_equal(jit(outer)(np.float32(5)), 5 * ONES)


def test_captured_mapped_values_are_refused():
    def outer(z):
        fun = custom_vmap(lambda x: lax.add(x, z))
        fun.def_vmap(lambda n, b, xs: (lax.add(xs, z), b[0]))
        return fun(np.float32(1))

    with pytest.raises(ValueError, match=r"closes over mapped values of type float32\[\]"):
        vmap(outer)(ONES)


@pytest.mark.parametrize(
    ("result", "fact"),
    [
        (lambda x: ((x, x), (True, True)), r"structure PyTreeDef\(\(\*, \*\)\)"),
        (lambda x: x, "pair"),
        (lambda x: (x, (True,)), "out_batched"),
        (lambda x: (lax.reduce_sum(x, (0,)), True), r"float32\[\], marked mapped.*float32\[3\]"),
        (lambda x: (x, False), r"not mapped; expected type float32\[\]"),
        (lambda x: (lax.convert_element_type(x, np.int32), True), r"int32\[3\]"),
    ],
)
def test_result_of_the_rule_is_checked(result, fact):
    fun = custom_vmap(lambda x: x)
    fun.def_vmap(lambda n, b, x: result(x))
    with pytest.raises(ValueError, match=fact):
        vmap(fun)(ONES)


def test_missing_rule_is_named():
    with pytest.raises(AttributeError, match="def_vmap"):
        custom_vmap(lax.sin)(1.0)


def test_keyword_only_arguments_are_refused():
    fun = custom_vmap(lambda x, *, k: x)
    fun.def_vmap(lambda *args: args)
    with pytest.raises(TypeError, match="'k'"):
        fun(1.0, k=2.0)


def test_sequential_vmap_runs_elements_in_a_loop():
    negate = sequential_vmap(lambda x, y: lax.sub(y, x))
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(vmap(negate, (0, None))(x, x[0]), x[0] - x)
    np.testing.assert_array_equal(vmap(vmap(negate))(x, x), 0 * x)
    text = str(jit(vmap(negate)).trace(x, x).jaxpr)
    assert "scan" in text
