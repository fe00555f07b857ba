"""Shared by the tests: CPU only, and arrays made the short way."""

import os

import numpy as np
import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture
def primitives():
    """Return a function that counts the primitives of a jaxpr by name, inner programs apart."""

    def count(closed) -> dict[str, int]:
        counts: dict[str, int] = {}
        for eqn in closed.eqns:
            counts[eqn.primitive.name] = counts.get(eqn.primitive.name, 0) + 1
        return counts

    return count


@pytest.fixture
def matrix():
    """A 3 by 3 float32 array on a device."""
    from tans_xla import device_put

    return device_put(np.arange(9, dtype=np.float32).reshape(3, 3) / 10)


@pytest.fixture
def batch():
    """A 2 by 3 float32 array on a device."""
    from tans_xla import device_put

    return device_put(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
