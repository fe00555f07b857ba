"""Kinds of faults that a wide sweep of calls found."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("dtype", [BFLOAT16, np.float32, np.int8])
def test_weak_initial_values_adopt_the_operands_dtype(dtype):
    x = np.ones(4, dtype)
    total = lax.reduce(x, 0, lax.add, (0,))
    assert (total.dtype, float(total)) == (dtype, 4.0)
    windows = lax.reduce_window(x, 0, lax.add, (2,))
    assert (windows.dtype, windows.tolist()) == (dtype, [2, 2, 2])


def test_a_float_does_not_start_a_sum_of_integers():
    with pytest.raises(TypeError, match="int32 but its initial value has dtype float32"):
        lax.reduce(np.ones(3, np.int32), 0.5, lax.add, (0,))


def test_full_takes_one_size():
    assert lax.full(3, 1, np.int8).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_all_of_the_mass_lies_at_zero_for_order_zero(name):
    x = np.array([0.0, 0.5, np.inf], np.float32)
    found = np.asarray(getattr(lax, name)(np.zeros(3, np.float32), x))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [float(name == "igamma")] * 2
