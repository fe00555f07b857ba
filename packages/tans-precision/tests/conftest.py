"""A generator of random numbers for each test."""

import numpy as np
import pytest

import tans

tans.config.update("jax_num_cpu_devices", 2)


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in each run."""
    return np.random.default_rng(20)
