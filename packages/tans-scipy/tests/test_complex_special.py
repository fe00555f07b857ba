"""Special functions of complex numbers: values, poles, and the class of exception where refused."""

import numpy as np
import pytest
import scipy.special

from tans_scipy import special

PLACES = np.random.default_rng(0).normal(size=(2, 60)) * 3
Z = (PLACES[0] + 1j * PLACES[1]).astype(np.complex64)


@pytest.mark.parametrize("name", ["gamma", "loggamma", "erfcx"])
def test_complex_values(name):
    expected = getattr(scipy.special, name)(Z.astype(np.complex128))
    np.testing.assert_allclose(getattr(special, name)(Z), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_poles_are_nan(name):
    assert np.isnan(getattr(special, name)(np.array([0, -1, -3], np.complex64))).all()


def test_loggamma_of_real_negative_numbers_is_nan():
    x = np.array([-3.5, -2.5, -1.0, -0.0, 0.0, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(special.loggamma(x), scipy.special.loggamma(x))


@pytest.mark.parametrize(
    ("name", "error"),
    [("spence", TypeError), ("fresnel", NotImplementedError), ("sici", ValueError)],
)
def test_complex_numbers_are_refused(name, error):
    with pytest.raises(error, match=f"{name}: given c64"):
        getattr(special, name)(1j)


def test_betaln_refuses_complex_numbers():
    with pytest.raises(TypeError, match="betaln: given c64"):
        special.betaln(1j, 2.0)


@pytest.mark.parametrize("name", ["ndtr", "log_ndtr", "spence"])
def test_lists_are_taken(name):
    np.testing.assert_array_equal(getattr(special, name)([0.5]), getattr(special, name)(0.5)[None])
