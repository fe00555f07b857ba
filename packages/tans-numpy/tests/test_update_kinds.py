"""Dtypes of ``x.at[...]`` that a wide sweep of calls found."""

import numpy as np
import pytest

import tans_numpy as jnp


@pytest.mark.parametrize(
    "index", [1, slice(1, 3), np.array([0, 1, 1]), 9, np.array([True, False, True])]
)
def test_powers_of_booleans_are_integers(index):
    x = jnp.array([True, False, True])
    with pytest.warns(FutureWarning, match="dtype int32 for an array of dtype bool"):
        found = x.at[index].power(2)
    assert found.dtype == np.int32
    assert found.tolist() == [1, 0, 1]
    with pytest.raises(TypeError, match="given booleans and a boolean exponent"):
        x.at[index].power(True)


@pytest.mark.parametrize("index", [1, slice(1, 3), np.array([0, 1, 1]), 9])
def test_functions_at_places_keep_the_dtype(index):
    x = jnp.arange(4)
    with pytest.raises(TypeError, match="return"):
        x.at[index].apply(lambda v: v + 1.5)
    assert x.at[index].apply(lambda v: v * 2).dtype == x.dtype
    halves = x.astype(jnp.float16)
    assert halves.at[index].apply(lambda v: v + 1.5).dtype == jnp.float16
