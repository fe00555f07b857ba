import zipfile

import pytest

import sessions
import workspace
from workspace import Package


def test_lowest_versions_pin_third_party_bounds_only(tmp_path):
    core = Package("tans-core", "0.1.0", tmp_path, ("jaxlib >= 0.11.2, < 0.13",), {})
    lax = Package("tans-lax", "0.1.0", tmp_path, ("tans-core ~= 0.1.0", "numpy >= 2.1"), {})
    assert sessions.lowest_versions([core, lax]) == ["jaxlib==0.11.2", "numpy==2.1"]


def test_a_dependency_without_lower_bound_is_refused(tmp_path):
    package = Package("tans-lax", "0.1.0", tmp_path, ("numpy",), {})
    with pytest.raises(ValueError, match="no lower bound"):
        sessions.lowest_versions([package])


def test_a_wheel_has_licence_types_and_metadata(tmp_path):
    package = workspace.load()["tans-core"]
    wheel = sessions.build_wheel(package, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = "tans_core-0.1.0.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
    assert "tans_core/py.typed" in names
    assert f"{info}/licenses/LICENSE" in names
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist: jaxlib<0.13,>=0.11.2" in metadata


def test_isolated_tests_leave_the_sources_behind(tmp_path):
    copy = sessions.isolated_tests(workspace.load()["tans-core"], tmp_path)
    assert (copy / "tests").is_dir()
    assert (copy / "pyproject.toml").is_file()
    assert not (copy / "src").exists()
