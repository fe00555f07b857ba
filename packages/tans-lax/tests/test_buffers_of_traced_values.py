"""Methods that read a buffer, on values that have none: traced ones and deleted constants."""

import numpy as np
import pytest

import tans_lax as lax
from tans_core.errors import ConcretizationTypeError
from tans_xla import device_put, jit

NAMES = "addressable_data delete devices is_deleted on_device_size_in_bytes tobytes".split()


@pytest.mark.parametrize("name", [*NAMES, "__dlpack__", "__dlpack_device__"])
def test_traced_values_have_no_buffer(name):
    with pytest.raises(ConcretizationTypeError, match=rf"traced value.*expected.*{name}"):
        jit(lambda x: getattr(x, name)())(1.0)


def test_a_traced_value_is_not_exported():
    with pytest.raises(ConcretizationTypeError, match=r"traced value.*expected a concrete value"):
        jit(lambda x: np.from_dlpack(x))(np.ones(3, np.float32))


@pytest.mark.parametrize("ahead", [False, True])
def test_a_captured_array_that_is_deleted_later_is_named(ahead):
    captured, x = device_put(np.ones(3, np.float32)), device_put(np.ones(3, np.float32))
    fun = jit(lambda x: lax.add(x, captured))
    if ahead:
        fun = fun.lower(x).compile()
    other = jit(lambda x: lax.mul(x, x))
    assert fun(x).tolist() == fun(x).tolist() == [2, 2, 2]
    assert other(x).tolist() == [1, 1, 1]
    captured.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"captured constant.*deleted; expected.*use that"):
            fun(x)
    assert other(x).tolist() == [1, 1, 1]
