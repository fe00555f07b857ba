"""Eight virtual CPU devices, and a mesh in context that each test leaves as it found it."""

from collections.abc import Iterator

import pytest

from tans_core import config_module as config
from tans_core.mesh import Mesh
from tans_sharding import make_mesh, set_mesh

config.update("jax_num_cpu_devices", 8)


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A mesh of explicit axes X (2) and Y (4), set for the test."""
    found = make_mesh((2, 4), ("X", "Y"))
    set_mesh(found)
    yield found
    set_mesh(None)
