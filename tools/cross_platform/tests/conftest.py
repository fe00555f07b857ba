"""The topologies; a missing wheel is an error of the fixture, and so of every test that uses it."""

import os
from importlib.metadata import version
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"

import pytest

from tans_compiler import topologies

REQUIREMENTS = Path(__file__).parent.parent / "requirements.txt"


@pytest.fixture(scope="session", autouse=True)
def _wheels() -> None:
    """Fail unless all wheels are there, in the versions that go together."""
    for line in REQUIREMENTS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, wanted = line.partition("==")
            assert version(name) == wanted


@pytest.fixture(scope="session")
def tpu():
    return topologies.get_topology_desc("v5e:2x2")


@pytest.fixture(scope="session")
def gpu():
    return topologies.get_topology_desc("h200", platform="cuda", topology="1x1x4")
