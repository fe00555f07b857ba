"""debug_nans and debug_infs: on first calls and on calls that C++ runs."""

import numpy as np
import pytest

from tans_core import config_module as config
from tans_xla import jit


@pytest.fixture
def nested(toys):
    inner = jit(lambda x: toys.log(x))
    f = jit(lambda x: toys.add(inner(x), 1.0))
    f(1.0)
    f(1.0)
    return f


@pytest.mark.parametrize("calls", [1, 2])
def test_nan_is_traced_to_its_operation(nested, calls):
    with config.debug_nans(True):
        for _ in range(calls):
            with pytest.raises(FloatingPointError, match=r"nan.*result of log at .*debug_checks"):
                nested(-1.0)
    assert np.isnan(np.asarray(nested(-1.0)))


def test_nan_of_an_eager_operation(toys):
    with config.debug_nans(True), pytest.raises(FloatingPointError, match=r"log: .*nan"):
        toys.log(-1.0)


def test_infinities_have_a_flag_of_their_own(toys):
    with config.debug_nans(True):
        toys.log(0.0)
    with config.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        toys.log(0.0)


def test_global_flag(nested):
    config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            nested(-1.0)
    finally:
        config.update("jax_debug_nans", False)
    nested(-1.0)


def test_donated_arguments_can_not_be_run_again(toys):
    from tans_xla import device_put

    f = jit(lambda x: toys.add(toys.log(x), 1.0), donate_argnums=0)
    with config.debug_nans(True), pytest.raises(FloatingPointError, match="donat"):
        f(device_put(-np.ones(3, np.float32)))
