"""Eight virtual CPU devices, and a mesh in context for the tests that ask for one."""

from collections.abc import Iterator

import pytest

from tans_core import config_module as config
from tans_core.mesh import Mesh

config.update("jax_num_cpu_devices", 8)


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """A mesh with one explicit axis i of four devices, set for the test."""
    from tans import make_mesh, set_mesh

    found = make_mesh((4,), ("i",))
    set_mesh(found)
    yield found
    set_mesh(None)
