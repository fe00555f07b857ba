"""print_saved_residuals: one line per value that reverse mode keeps."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import checkpoint, checkpoint_name, checkpoint_policies, print_saved_residuals
from tans_xla import ShapeDtypeStruct, device_put, jit

f32 = np.float32


def printed(capsys, f, *args, **kwargs):
    print_saved_residuals(f, *args, **kwargs)
    return capsys.readouterr().out.splitlines()


def test_arguments_and_computed_values(capsys, matrix, batch):
    lines = printed(capsys, lambda x, w: lax.tanh(lax.dot(lax.sin(x), w)), batch, matrix)
    assert "f32[3,3] from the argument w" in lines
    assert any(s.startswith("f32[2,3] output of sin from ") and __file__ in s for s in lines)
    assert any(s.startswith("f32[2,3] output of cos from ") for s in lines)
    assert len(lines) == 4


def test_named_values_and_paths(capsys, batch):
    def f(d):
        return lax.sin(lax.mul(3.0, checkpoint_name(lax.sin(d["a"]), "foo")))

    policy = checkpoint_policies.save_only_these_names("foo")
    lines = printed(capsys, checkpoint(f, policy=policy), {"a": batch})
    assert sorted(s.split(" from ")[0] for s in lines) == ["f32[2,3]", "f32[2,3] named 'foo'"]
    assert "f32[2,3] from the argument d['a']" in lines


def test_constants_keywords_and_jitted_functions(capsys):
    c = device_put(np.ones(3, f32))
    shape = ShapeDtypeStruct((3,), f32)

    def f(x, *, k):
        return jit(lax.sin)(lax.mul(lax.mul(lax.mul(x, k), c), 2.0))

    lines = printed(capsys, f, shape, k=c)
    assert "f32[3] from the argument x" in lines
    assert "f32[3] from the argument k" in lines
    assert "f32[3] from a constant" in lines
    assert any("output of jitted function 'sin'" in s for s in lines)


def test_only_functions():
    with pytest.raises(TypeError, match="function"):
        print_saved_residuals(1, 2.0)
