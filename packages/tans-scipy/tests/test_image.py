"""Resampling: values known in closed form, and properties of all methods."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_autodiff.check_grads import check_grads
from tans_scipy import image

METHODS = ["linear", "cubic", "lanczos3", "lanczos5", "area", "cubic-pytorch"]


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_constants_stay_constant_and_equal_sizes_change_nothing(method, antialias):
    x = jnp.full((3, 4), 2.5)
    np.testing.assert_allclose(image.resize(x, (5, 2), method, antialias), np.full((5, 2), 2.5),
                               rtol=1e-5)  # fmt: skip
    y = jnp.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(image.resize(y, (3, 4), method, antialias), y)


def test_linear_weights_are_triangles():
    x = np.arange(5.0)
    place = np.clip((np.arange(8) + 0.5) * 5 / 8 - 0.5, 0, 4)
    np.testing.assert_allclose(image.resize(x, (8,), "linear"), place, rtol=1e-6)
    # Three pixels out of five: triangles of width 5 / 3 around 1/3, 2 and 11/3.
    w = np.maximum(1 - np.abs(np.arange(5) - 1 / 3) * 3 / 5, 0)
    np.testing.assert_allclose(image.resize(x, (3,), "bilinear")[0], w @ x / w.sum(), rtol=1e-6)


def test_area_is_the_mean_of_what_a_pixel_covers():
    np.testing.assert_allclose(image.resize(jnp.arange(6.0), (3,), "area"), [0.5, 2.5, 4.5])


def test_cubic_reproduces_parabolas_inside():
    x = np.arange(9.0) ** 2
    place = (np.arange(18) + 0.5) / 2 - 0.5
    np.testing.assert_allclose(image.resize(x, (18,), "cubic")[4:-4], place[4:-4] ** 2, rtol=1e-5)


def test_nearest_keeps_the_dtype():
    out = image.resize(jnp.arange(5), (8,), "nearest")
    assert out.dtype == np.int32
    np.testing.assert_array_equal(out, [0, 0, 1, 2, 2, 3, 4, 4])
    assert image.resize(jnp.arange(5), (3,), "linear").dtype == np.float32


def test_translation_moves_and_fills_with_0():
    x = jnp.arange(1.0, 5.0)
    out = image.scale_and_translate(x, (6,), (0,), jnp.ones(1), jnp.full(1, 1.5), "linear")
    np.testing.assert_allclose(out, [0, 1, 1.5, 2.5, 3.5, 4.0])


def test_derivatives(x64):
    x = np.random.default_rng(0).normal(size=(3, 4))
    check_grads(lambda v: image.resize(v, (5, 2), "cubic"), (x,), order=2)

    def moved(v, scale, shift):
        return image.scale_and_translate(v, (4, 4), (0, 1), scale, shift, "cubic")

    check_grads(moved, (x, np.array([1.2, 0.9]), np.array([0.13, 0.27])), order=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: image.resize(x, (3, 3), "linear"),
        lambda x: image.resize(x, (3,), "quintic"),
        lambda x: image.scale_and_translate(x, (3,), (), jnp.ones(0), jnp.ones(0), "linear"),
        lambda x: image.scale_and_translate(x, (3,), (0,), jnp.ones(1), jnp.ones(1), "nearest"),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(ValueError, match="given"):
        call(jnp.ones(4))
