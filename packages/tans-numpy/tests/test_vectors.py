"""The specification's test vectors of the NumPy API, by their numbers there."""

import builtins
import operator
import pickle
import re
import warnings
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import tans_autodiff
import tans_batching
import tans_core
import tans_lax as lax
import tans_numpy as jnp
import tans_xla
from tans_core import config, dtypes, errors

SECTIONS = (
    "construction casting promotion reductions static_shapes integers sets nan_and_order "
    "array_object"
).split()
# Vectors of functions that other packages supply, or that come with later features.
ELSEWHERE = {
    264: "tests of tans-random", 362: "tests of tans-nn", 363: "tests of tans-nn",
}  # fmt: skip
# Deliberate differences, explained in docs/reference/differences-from-jax.md.
DIFFERENT = {
    115: "the last bit: the divisor is a constant, and the result correctly rounded",
    275: "a private base class of errors",
    276: "a private base class of errors",
    315: "a strong operand makes a strong result",
    319: "rounding integers to tens works",
}

NAMESPACE = SimpleNamespace(
    Array=tans_core.Array,
    config=config,
    device_put=tans_xla.device_put,
    devices=tans_xla.devices,
    dtypes=dtypes,
    errors=errors,
    grad=tans_autodiff.grad,
    jit=tans_xla.jit,
    typeof=tans_core.typeof,
    vmap=tans_batching.vmap,
    enable_x64=config.enable_x64,
    numpy_dtype_promotion=config.numpy_dtype_promotion,
    numpy_rank_promotion=config.numpy_rank_promotion,
    debug_nans=config.debug_nans,
)


def _names(setup: str) -> dict:
    names = {
        "jax": NAMESPACE, "jnp": jnp, "lax": lax, "np": np, "operator": operator, "pickle": pickle,
    }  # fmt: skip
    exec(setup, names)
    return names


def _class(path: str) -> type:
    name = path.rsplit(".", 1)[-1]
    for module in (builtins, errors, dtypes):
        if hasattr(module, name):
            return getattr(module, name)
    raise AssertionError(f"no class {path}")


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text.replace("jax.numpy", "tans.numpy"))


CASES = [
    pytest.param(section, number, id=f"{number}-{section}")
    for section in SECTIONS
    for number in import_module(f"vectors.{section}").VECTORS
    if number not in ELSEWHERE and number not in DIFFERENT
]


@pytest.mark.parametrize(("section", "number"), CASES)
def test_vector(section, number):
    module = import_module(f"vectors.{section}")
    expression, expected, warned = module.VECTORS[number]
    names = _names(module.SETUP)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if expected.startswith("raises "):
            with pytest.raises(_class(expected.removeprefix("raises "))):
                eval(expression, names)
        else:
            assert _plain(repr(eval(expression, names))) == _plain(expected)
    assert sorted(w.category.__name__ for w in seen) == sorted(filter(None, warned.split(", ")))
