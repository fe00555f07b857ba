import pytest

import doctor
from workspace import Package


@pytest.mark.parametrize(
    ("version", "requirement", "fits"),
    [
        ("0.12.0.1", "jaxlib >= 0.11.2, < 0.13", True),
        ("0.13.0", "jaxlib >= 0.11.2, < 0.13", False),
        ("0.11.1", "jaxlib >= 0.11.2, < 0.13", False),
        ("0.1.7", "tans-core ~= 0.1.0", True),
        ("0.2.0", "tans-core ~= 0.1.0", False),
    ],
)
def test_ranges(version, requirement, fits):
    assert doctor.within(version, requirement) is fits


def package(tmp_path, name="tans-lax"):
    return Package(name, "0.1.0", tmp_path, (), {})


def test_a_package_that_is_not_installed_has_a_remedy(tmp_path):
    row = doctor.package_row(package(tmp_path, "tans-made-up"), (1, 2))
    assert row.found == "not installed"
    assert "setup" in row.remedy


def test_an_interface_mismatch_names_the_pip_command(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "installed", lambda name: "0.1.0")
    monkeypatch.setattr(doctor, "constant", lambda module, name: 8)
    row = doctor.package_row(package(tmp_path), (5, 7))
    assert "interface 8" in row.found
    assert row.remedy == "pip install --upgrade tans-core tans-lax"


def test_a_fitting_interface_needs_no_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "installed", lambda name: "0.1.0")
    monkeypatch.setattr(doctor, "constant", lambda module, name: 6)
    assert doctor.package_row(package(tmp_path), (5, 7)).remedy == ""


def test_core_states_its_interfaces():
    oldest, newest = doctor.served_interfaces()
    assert 1 <= oldest <= newest


def test_a_device_process_that_dies_becomes_a_row(monkeypatch):
    monkeypatch.setattr(doctor, "_DEVICES", "raise SystemExit('driver too old')")
    (row,) = doctor.device_rows()
    assert "driver too old" in row.found
    assert "JAX_PLATFORMS=cpu" in row.remedy


def test_the_remedy_stands_below_its_row():
    text = doctor.report([doctor.Row("a", "fine"), doctor.Row("b", "broken", "mend it")])
    assert text.splitlines()[1].startswith("FAIL b")
    assert text.splitlines()[2].endswith("remedy: mend it")
