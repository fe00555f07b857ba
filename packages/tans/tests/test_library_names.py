"""The library modules under the umbrella's names are the modules themselves."""

from importlib import import_module

import pytest

import tans

SAME = {
    "nn": "tans_nn",
    "nn.initializers": "tans_nn.initializers",
    **{
        f"scipy.{name}": f"tans_scipy.{name}"
        for name in (
            "cluster",
            "cluster.vq",
            "fft",
            "integrate",
            "interpolate",
            "linalg",
            "ndimage",
            "optimize",
            "signal",
            "sparse",
            "sparse.linalg",
            "spatial",
            "spatial.transform",
            "special",
            "stats",
        )
    },
}
NAMES = {
    "ops": ["segment_max", "segment_min", "segment_prod", "segment_sum"],
    "flatten_util": ["ravel_pytree"],
    "image": ["ResizeMethod", "resize", "scale_and_translate"],
    "test_util": ["check_grads", "check_jvp", "check_vjp"],
}


@pytest.mark.parametrize("name", SAME)
def test_modules_are_the_same_object(name):
    expected = import_module(SAME[name])
    assert import_module(f"tans.{name}") is expected
    value = tans
    for part in name.split("."):
        value = getattr(value, part)
    assert value is expected


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert sorted(getattr(tans, name).__all__) == sorted(NAMES[name])


def test_unknown_parts_of_scipy_are_absent():
    assert not hasattr(tans.scipy, "odr")
