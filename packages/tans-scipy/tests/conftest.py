"""Shared by the tests: CPU only, and double precision on request."""

import os

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture
def x64():
    """Turn double precision on for one test."""
    from tans_core.config import enable_x64

    with enable_x64(True):
        yield
