"""The handshake between core and the other packages."""

import pytest

from tans_core import interface
from tans_core.errors import InterfaceMismatchError


def test_a_fitting_package_passes_and_is_listed():
    interface.require_interface("tans-fake", built_for=interface.INTERFACE)
    assert interface.loaded_packages()["tans-fake"] == interface.INTERFACE


@pytest.mark.parametrize("built_for", [interface.INTERFACE + 1, interface.INTERFACE_OLDEST - 1])
def test_a_mismatch_names_both_versions_and_the_command(built_for):
    with pytest.raises(InterfaceMismatchError, match=f"interface {built_for}.*pip install"):
        interface.require_interface("tans-old", built_for=built_for)
    assert "tans-old" not in interface.loaded_packages()
