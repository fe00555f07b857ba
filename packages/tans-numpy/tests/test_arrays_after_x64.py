"""64-bit arrays that were made under x64 and are used while it is off: they are narrowed."""

import numpy as np
import pytest

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import grad
from tans_batching import vmap
from tans_core import config
from tans_xla import jit

CALLS = {
    "mean": jnp.mean,
    "var": jnp.var,
    "pad": lambda x: jnp.pad(x, 1),
    "at": lambda x: x.at[0].set(1),
    "at add": lambda x: x.at[0].add(1.5),
    "item": lambda x: x[1],
    "nan_to_num": jnp.nan_to_num,
    "logaddexp": lambda x: jnp.logaddexp(x, x),
    "times": lambda x: x * 2.5,
    "jit": jit(lambda x: x + 1),
    "vmap": vmap(lambda x: jnp.sin(x) * 2),
    "grad": grad(lambda x: jnp.mean(x * x)),
    "take_along_axis": lambda x: jnp.take_along_axis(x, np.array([1, 0]), 0),
}


@pytest.fixture
def wide():
    with config.enable_x64(True):
        x = jnp.array([0.5, 1.5, 2.5, 1e-3])
    assert x.dtype == np.float64
    return x


@pytest.mark.parametrize("name", CALLS)
def test_functions_narrow_them(name, wide):
    found = CALLS[name](wide)
    # A cotangent has the type of what it belongs to, which stays wide.
    assert found.dtype == (np.float64 if name == "grad" else np.float32)
    np.testing.assert_allclose(found, CALLS[name](jnp.asarray(np.asarray(wide, np.float32))))


def test_integers_are_narrowed_without_a_warning():
    with config.enable_x64(True):
        x = jnp.arange(4)
    assert x.dtype == np.int64
    assert x.at[0].set(3).dtype == np.int32
    assert (x + 1).dtype == np.int32


def test_single_operations_keep_them(wide):
    with config.enable_x64(True):
        expected = lax.mul(wide, np.float64(0.1))
    found = lax.mul(wide, np.float64(0.1))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_the_same_call_under_x64_is_wide_again(wide):
    assert jnp.mean(wide).dtype == np.float32
    with config.enable_x64(True):
        assert jnp.mean(wide).dtype == np.float64


def test_python_numbers_beside_captured_arrays_narrow_them(wide):
    for fun in (lambda: wide + 1, lambda: 2.5 * wide, lambda: wide[0] - 1):
        assert jit(fun)().dtype == np.float32
