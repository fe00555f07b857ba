"""Sine, cosine and Fresnel integrals: their values near, far and at the ends, in every dtype."""

import numpy as np
import pytest
import scipy.special

from tans_core.config import enable_x64
from tans_scipy import special

PLACES = np.concatenate([np.linspace(0, 9, 301), [20.0, 50.0, 90.0, np.inf, -np.inf, -2.0]])


@pytest.mark.parametrize("name", ["fresnel", "sici"])
@pytest.mark.parametrize(
    ("dtype", "within"),
    [("float16", 2e-3), ("float32", 1e-6), ("float64", 4e-15), ("bool", 1e-6), ("int8", 1e-6)],
)
def test_wave_integrals(name, dtype, within):
    x = np.unique(PLACES[np.isfinite(PLACES)] if dtype == "int8" else PLACES).astype(dtype)
    with enable_x64(dtype == "float64"):
        found = [np.asarray(v, float) for v in getattr(special, name)(x)]
    for ours, theirs in zip(found, getattr(scipy.special, name)(x.astype(float)), strict=True):
        is_real = ~np.isnan(theirs)  # the cosine integral of negative numbers is a choice
        np.testing.assert_allclose(ours[is_real], theirs[is_real], rtol=within, atol=within)
