"""Vectors 35 to 45 of the compiler specification: attributes of operations."""

import re

import numpy as np
import pytest

import tans
import tans.lax as lax
import tans.numpy as jnp
from tans.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)
from tans_compiler import surviving_tags

FOUR = 'flag = "true", n = "3", r = "0.5", tag = "blk"'


def wave(x):
    return jnp.sin(x) * jnp.cos(x)


@pytest.fixture
def blk():
    return xla_metadata_call(tag="blk", n=3, flag=True, r=0.5)(wave)


def test_v35_tagged_call(blk, stablehlo, calls):
    assert blk.__name__ == "wave"
    (eqn,) = tans.make_jaxpr(blk)(1.0).eqns
    assert eqn.primitive.name == "xla_metadata_call"
    assert eqn.params["ad_metadata"] == "same"
    expected = (("flag", "true"), ("n", "3"), ("r", "0.5"), ("tag", "blk"))
    assert eqn.params["xla_metadata"] == expected
    text = stablehlo(blk, 1.0)
    assert f"call @xla_metadata_call(%arg0) {{mhlo.frontend_attributes = {{{FOUR}}}}}" in text
    assert "func.func private @xla_metadata_call(%arg0: tensor<f32>) -> tensor<f32> {" in text
    hlo = tans.jit(blk).lower(1.0).as_text("hlo")
    assert 'frontend_attributes={flag="true",n="3",r="0.5",tag="blk"}' in hlo
    optimised = tans.jit(blk).lower(1.0).compile().as_text()
    assert "xla_metadata_call/mul" in optimised


def test_calls_take_trees_keywords_and_run_eagerly():
    @xla_metadata_call(stage="a")
    def f(tree, *, scale):
        return {"y": tree["x"] * scale}, tree["x"]

    out, same = f({"x": np.float32(2)}, scale=3.0)
    assert (float(out["y"]), float(same)) == (6.0, 2.0)


def test_v36_vmap(blk, calls, stablehlo):
    x = jnp.ones(3)
    assert calls(tans.vmap(blk), x) == [FOUR]
    assert "call @xla_metadata_call(%arg0)" in stablehlo(tans.vmap(blk), x)
    assert "(tensor<3xf32>) -> tensor<3xf32>" in stablehlo(tans.vmap(blk), x)
    np.testing.assert_allclose(tans.vmap(blk)(x), np.sin(1) * np.cos(1) * np.ones(3), rtol=1e-6)


def test_v37_grad(blk, calls):
    assert calls(tans.grad(blk), 1.0) == [FOUR, FOUR]
    np.testing.assert_allclose(tans.grad(blk)(0.7), np.cos(1.4), rtol=1e-6)


@pytest.mark.parametrize("ad", ["same", "drop", {"tag": "y"}])
def test_v38_jvp_is_one_call(ad, calls):
    f = xla_metadata_call2(wave, {"tag": "x"}, ad_metadata=ad)
    assert calls(lambda x: tans.jvp(f, (x,), (x,)), 1.0) == ['tag = "x"']


@pytest.mark.parametrize(
    ("ad", "backward"), [("same", 'tag = "x"'), ("drop", ""), ({"tag": "y"}, 'tag = "y"')]
)
def test_v39_backward_calls(ad, backward, calls):
    f = xla_metadata_call2({"tag": "x"}, ad_metadata=ad)(wave)
    assert calls(tans.value_and_grad(f), 1.0) == ['tag = "x"', backward]


def test_v40_second_derivative(calls):
    f = xla_metadata_call2(wave, {"tag": "x"}, ad_metadata={"tag": "y"})
    assert calls(tans.grad(tans.grad(f)), 1.0) == ['tag = "x"', *['tag = "y"'] * 3]
    np.testing.assert_allclose(tans.grad(tans.grad(f))(0.7), -2 * np.sin(1.4), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (lambda: xla_metadata_call(a=[1])(jnp.sin), "'a': [1] of type list"),
        (lambda: xla_metadata_call2(jnp.sin, {"a": 1}, ad_metadata="zz"), "ad_metadata='zz'"),
        (lambda: xla_metadata_call2(jnp.sin, [("a", 1)]), "metadata=[('a', 1)] of type list"),
        (lambda: xla_metadata_call2(3, {"a": 1}), "given 3 of type int, expected a callable"),
        (lambda: xla_metadata_call(3, a=1), "given 3 of type int, expected a callable"),
        (lambda: xla_metadata_call2(jnp.sin, {1: 2}), "1: 2 of type int"),
        (lambda: set_xla_metadata(a=(1,)), "'a': (1,) of type tuple"),
        (lambda: set_xla_metadata(1.0, a=(1,)), "'a': (1,) of type tuple"),
    ],
)
def test_v41_bad_attributes(make, given):
    with pytest.raises(TypeError, match=re.escape(given)):
        make()


def test_v42_of_nested_calls_the_innermost_wins():
    inner = xla_metadata_call(jnp.sin, b=2)
    outer = xla_metadata_call(lambda x: inner(x) * jnp.exp(x), a=1)
    found = surviving_tags(tans.jit(outer).lower(1.0))
    for operation in found.after:
        if operation.opcode in ("sine", "multiply", "fusion"):
            expected = {"b": "2"} if operation.opcode == "sine" else {"a": "1"}
            assert operation.attributes == expected
    assert {op.opcode for op in found.carrying("a", 1)} >= {"multiply", "fusion"}
    assert [op.opcode for op in found.carrying("b")] == ["sine"]
    assert found.lost == []


def scoped(x):
    with set_xla_metadata(a="1", b=True):
        y = jnp.sin(x)
        with set_xla_metadata(a="2", c=3, b=None):
            z = jnp.cos(y)
    return z * 2


def test_v43_scopes(stablehlo):
    text = stablehlo(scoped, 1.0)
    assert re.search(r'sine .* \{mhlo.frontend_attributes = \{a = "1", b = "true"\}\}', text)
    assert re.search(r'cosine .* \{mhlo.frontend_attributes = \{a = "2", c = "3"\}\}', text)
    assert re.search(r"multiply %\d+, %\w+ : ", text)
    assert text.count("frontend_attributes") == 2
    assert "metadata" not in str(tans.make_jaxpr(scoped)(1.0))


def test_scopes_under_grad(stablehlo):
    lines = [line for line in stablehlo(tans.grad(scoped), 1.0).splitlines() if "multiply" in line]
    assert [re.findall(r'(\w) = "', line) for line in lines] == [[], ["a", "c"], ["a", "b"]]
    around = stablehlo(lambda x: set_xla_metadata(k="v")(tans.grad(scoped))(x), 1.0)
    operations = [
        line for line in around.splitlines() if re.search(r"= stablehlo\.(?!const)", line)
    ]
    assert all('k = "v"' in line for line in operations)
    assert float(tans.grad(scoped)(0.5)) == pytest.approx(-2 * np.sin(np.sin(0.5)) * np.cos(0.5))


def test_scopes_in_bodies(stablehlo):
    def f(x):
        with set_xla_metadata(k="v"):
            y, _ = lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 3)
            return lax.cond(y > 0, jnp.exp, jnp.log, y)

    text = stablehlo(f, 1.0)
    for operation in ("sine", "exponential", "log", "compare", '"stablehlo.case"', "while"):
        assert operation.strip('"').split(".")[-1] in text
    for operation in ("sine", "exponential", "log"):
        (line,) = [ln for ln in text.splitlines() if f"stablehlo.{operation} " in ln]
        assert 'k = "v"' in line


def test_a_decorator_keeps_the_methods_of_jit():
    decorated = set_xla_metadata(k="v")(tans.jit(lambda x: jnp.sin(x)))
    assert 'k = "v"' in decorated.lower(1.0).as_text()
    assert float(decorated(0.0)) == 0.0

    class Model:
        @set_xla_metadata(k="v")
        def apply(self, x):
            return jnp.sin(x)

    assert 'k = "v"' in tans.jit(Model().apply).lower(1.0).as_text()


def test_v44_scopes_are_part_of_the_trace():
    counts = []
    calls = 0

    @tans.jit
    def inner(x):
        nonlocal calls
        calls += 1
        return x + 1

    for tags in ({}, {"k": "v"}, {"k": "w"}, {}):
        with set_xla_metadata(**tags):
            inner(1.0)
        counts.append(calls)
    assert counts == [1, 2, 3, 3]
    assert inner._cache_size() == 3


def test_scopes_end_with_the_block():
    from tans_core.config import xla_metadata

    with set_xla_metadata(k="v"):
        assert xla_metadata.value == (("k", "v"),)
    assert xla_metadata.value is None
    with pytest.raises(ZeroDivisionError), set_xla_metadata(k="v"):
        _ = 1 // 0
    assert xla_metadata.value is None
    assert tans.eval_shape(scoped, 1.0).shape == ()
    assert xla_metadata.value is None


def test_v45_values(stablehlo):
    def f(x):
        return set_xla_metadata({"y": x * x}, breakpoint=True)["y"] + 1

    (_, eqn, _) = tans.make_jaxpr(f)(2.0).eqns
    assert eqn.params == {"xla_metadata_kvs": (("breakpoint", True),)}
    tag = '{mhlo.frontend_attributes = {breakpoint = "true"}}'
    assert re.search(r"multiply .*" + re.escape(tag), stablehlo(f, 2.0))
    assert re.search(r"multiply .*" + re.escape(tag), stablehlo(tans.vmap(f), jnp.ones(2)))
    assert "frontend" not in stablehlo(tans.grad(f), 2.0)
    assert float(tans.grad(f)(2.0)) == 4.0
    assert "frontend" not in stablehlo(lambda x: set_xla_metadata(x, breakpoint=True) + 1, 2.0)
    assert f(2.0) == 5.0


def test_values_keep_attributes_that_are_there(stablehlo):
    def f(x):
        with set_xla_metadata(a="scope", b="scope"):
            y = jnp.sin(x)
        return set_xla_metadata(y, a="value", c="value")

    assert '{a = "scope", b = "scope", c = "value"}' in stablehlo(f, 1.0)


def test_must_fuse_and_fuse_limit(stablehlo, calls):
    f = must_fuse_call("1")(lambda x: jnp.sum(x * x))
    assert calls(f, jnp.ones(4)) == ['MUST_FUSE = "1"']
    found = surviving_tags(tans.jit(f).lower(jnp.ones(4)))
    assert "fusion" in {op.opcode for op in found.carrying("MUST_FUSE", "1")}

    def g(x):
        with fuse_limit():
            return jnp.sin(x)

    assert '{FUSE_LIMIT = "true"}' in stablehlo(g, 1.0)


def test_dead_parts_of_a_tagged_call_go(stablehlo):
    f = xla_metadata_call(lambda x, y: (jnp.sin(x), jnp.cos(y)), k="v")
    text = stablehlo(lambda x, y: f(x, y)[0], 1.0, 2.0)
    assert "cosine" not in text
    assert "call @xla_metadata_call(%arg0)" in text
    assert "call" not in stablehlo(lambda x, y: (f(x, y), x)[1], 1.0, 2.0)


def test_a_report_names_what_was_lost():
    @tans.jit
    def f(x):
        with set_xla_metadata(kept="1"):
            y = jnp.sin(x)
        with set_xla_metadata(gone="1"):
            z = y * 1.0 + 0.0 * y
        return y, jnp.sum(lax.stop_gradient(z)) * 0.0 * 0.0

    found = surviving_tags(f.lower(np.float32(1.0)).compile())
    assert found.platform == "cpu"
    text = str(found)
    assert "kept=1: 1 sine -> " in text
    assert ("gone", "1") in {pair for op in found.before for pair in op.attributes.items()}
    assert all(pair[0] == "gone" for pair in found.lost)


def test_remat_and_tagged_calls(blk):
    f = tans.checkpoint(lambda x: blk(jnp.exp(x)))
    expected = np.cos(2 * np.exp(0.3)) * np.exp(0.3)
    np.testing.assert_allclose(tans.grad(f)(0.3), expected, rtol=1e-5)


def test_attributes_that_are_no_unicode_are_refused():
    with pytest.raises(ValueError, match="UTF-8"):
        xla_metadata_call(lax.sin, k="\ud800")
    with pytest.raises(ValueError, match="UTF-8"):
        set_xla_metadata(k="\ud800")


@pytest.mark.parametrize("given", [3, tans.jit(lax.sin)])
def test_tags_of_what_is_no_program(given):
    with pytest.raises(TypeError, match=r"surviving_tags: given .* Pass jit\(f\)\.lower"):
        surviving_tags(given)


TEXTS = (
    *('q"uo', 'x", y="z', "new\nline", "\\", "{x}", "{a}{", "ü", "", "v=1, b = 2", "}"),
    *('{"a": "}"}', '{"a": "{"}', "{a\nb}", '{"a\\"}', 'op_name="x"', "a\0b"),
)


@pytest.mark.parametrize("value", TEXTS, ids=repr)
@pytest.mark.parametrize("name", ["tag", "a b", "a-b", "a=b", "a,b", 'q"k', "a\nb"])
def test_tags_of_any_text_are_found_again(name, value):
    f = set_xla_metadata(**{name: value})(lambda x: jnp.sin(x))
    found = surviving_tags(tans.jit(lambda x: f(x)).lower(1.0))
    assert [operation.attributes for operation in found.before] == [{name: value}]
    assert found.lost == []
    assert all(operation.attributes == {name: value} for operation in found.after)
    assert all(operation.op_name for operation in found.after)
    assert len(str(found).splitlines()) == 2


def test_attributes_have_names():
    with pytest.raises(ValueError, match=r"set_xla_metadata: given the name '' .*expected"):
        set_xla_metadata(**{"": "v"})


def test_a_loaded_program_has_no_lowered_form():
    from tans.experimental.serialize_executable import deserialize_and_load, serialize

    loaded = deserialize_and_load(*serialize(tans.jit(jnp.sin).lower(1.0).compile()))
    with pytest.raises(ValueError, match=r"sin, which was loaded from bytes.*Pass jit"):
        surviving_tags(loaded)


@pytest.mark.parametrize(
    ("misuse", "text"),
    [
        (lambda: set_xla_metadata("x", tag=1), "'x' of type str, expected arrays"),
        (lambda: set_xla_metadata(jnp.sin, tag=1), "decorate it: set_xla_metadata"),
        (lambda: must_fuse_call(jnp.sin), r"Write must_fuse_call('name')(f)"),
        (lambda: xla_metadata_call2({"a": 1}, {"b": 2}), "Write {**first, **second}"),
    ],
)
def test_misuse_names_the_remedy(misuse, text):
    with pytest.raises(TypeError) as caught:
        misuse()
    assert text in str(caught.value)


def test_a_value_without_attributes_is_the_value(stablehlo):
    assert "frontend_attributes" not in stablehlo(lambda x: set_xla_metadata(jnp.sin(x)), 1.0)
