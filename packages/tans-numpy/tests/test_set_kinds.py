"""Dtypes of set operations that a wide sweep of calls found."""

import numpy as np
import pytest

import tans_numpy as jnp


@pytest.mark.parametrize("other", [jnp.int8, jnp.float16, jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize("unique", [False, True])
def test_set_differences_have_the_dtype_of_the_first(other, size, unique):
    a, b = jnp.array([1, 2, 3]), jnp.array([2], other)
    found = jnp.setdiff1d(a, b, assume_unique=unique, size=size)
    assert (found.dtype, found.tolist()) == (np.int32, [1, 3])
    assert jnp.setdiff1d(b, a, assume_unique=unique, size=size).dtype == other
