"""Dimensions as numbers inside a program: they yield to other types, as Python ints do."""

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import export


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32", "complex64"])
def test_a_dimension_takes_the_dtype_of_the_other_operand(dtype):
    (n,) = export.symbolic_shape("n")
    made = export.export(tans.jit(lambda x: x * x.shape[0]))(tans.ShapeDtypeStruct((n,), dtype))
    x = np.arange(5).astype(dtype)
    out = made.call(x)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, x * np.asarray(5, dtype))


def test_a_dimension_alone_is_a_weak_integer():
    (n,) = export.symbolic_shape("n")
    seen = []

    def program(x):
        seen.append(tans.typeof(jnp.asarray(x.shape[0])))
        return jnp.asarray(x.shape[0])

    made = export.export(tans.jit(program))(tans.ShapeDtypeStruct((n,), np.float32))
    assert seen == [tans.typeof(7)]
    assert int(made.call(np.ones(7, np.float32))) == 7
