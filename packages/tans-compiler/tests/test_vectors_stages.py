"""Vectors 28 to 34 of the compiler specification: the stages of a program."""

import numpy as np
import pytest

import tans
import tans.numpy as jnp

# No result has the type of the donated argument, which is warned of whenever it is lowered.
pytestmark = pytest.mark.filterwarnings("ignore:.*whose buffers no result can use:UserWarning")


def f(x, *, y):
    return {"o": jnp.tanh(x["a"]) @ y}


ARGS = {"a": np.ones((2, 3), np.float32)}
Y = np.ones((3, 4), np.float32)


@pytest.fixture
def traced():
    return tans.jit(f, donate_argnames="x").trace(ARGS, y=Y)


def test_v28_trees_and_donation(traced):
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        assert str(stage.in_tree) == "PyTreeDef((({'a': *},), {'y': *}))"
        assert str(stage.out_tree) == "PyTreeDef({'o': *})"
        assert stage.donate_argnums == (0,)
        assert stage.args_info[0][0]["a"].shape == (2, 3)
        assert stage.args_info[0][0]["a"].donated
        assert not stage.args_info[1]["y"].donated
        assert stage.out_info["o"].shape == (2, 4)
    assert traced.fun_name == "f"
    assert traced.effects == frozenset()


def test_v29_unknown_dialect(traced):
    with pytest.raises(ValueError, match="given dialect='mhlo', expected 'stablehlo' or 'hlo'"):
        traced.lower().as_text("mhlo")


def test_v30_cost(traced):
    cost = traced.lower().cost_analysis()
    assert (cost["flops"], cost["transcendentals"]) == (48.0, 6.0)
    assert cost["bytes accessed"] == 152.0


def test_v31_memory(traced):
    memory = traced.lower().compile().memory_analysis()
    assert memory.argument_size_in_bytes == 72
    assert memory.output_size_in_bytes == 32


def test_v32_other_types(traced):
    compiled = traced.lower().compile()
    with pytest.raises(TypeError) as caught:
        compiled({"a": np.ones((2, 2), np.float32)}, y=Y)
    text = str(caught.value)
    assert "x['a']" in text
    assert "float32[2,2]" in text
    assert "float32[2,3]" in text


def test_v33_inside_of_a_transformation(traced):
    compiled = traced.lower().compile()
    with pytest.raises(TypeError, match=r"traced value.*transformations"):
        tans.jit(lambda x: compiled({"a": x}, y=Y))(ARGS["a"])


def test_v34_static_arguments_are_compiled_in():
    compiled = tans.jit(lambda n, x: x * n, static_argnums=0).lower(3, 1.0).compile()
    assert float(compiled(1.0)) == 3.0
    with pytest.raises(TypeError, match="structure"):
        compiled(3, 1.0)
