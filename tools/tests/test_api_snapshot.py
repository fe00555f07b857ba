import sys
import types

import pytest

import api_snapshot
from workspace import Package


class Thing:
    def method(self, x, *, y=1):
        return x, y

    @property
    def size(self):
        return 0

    def _private(self):
        return None


Thing.__module__ = "tans_made_up"


def function(x: int, flag: bool = False) -> int:
    return x if flag else 0


@pytest.fixture
def package(tmp_path, monkeypatch):
    module = types.ModuleType("tans_made_up")
    module.__all__ = ["function", "Thing", "LIMIT"]
    module.function, module.Thing, module.LIMIT = function, Thing, 3
    monkeypatch.setitem(sys.modules, "tans_made_up", module)
    (tmp_path / "tests").mkdir()
    return Package("tans-made-up", "0.1.0", tmp_path, (), {})


def test_one_line_per_public_name(package):
    lines = api_snapshot.snapshot(package).splitlines()
    assert "function(x: int, flag: bool = False) -> int" in lines
    assert "Thing.method(self, x, *, y=1)" in lines
    assert "Thing.size" in lines
    assert "LIMIT: int" in lines
    assert not any("_private" in line for line in lines)


def test_a_changed_signature_shows(package):
    text = api_snapshot.snapshot(package)
    file = package.path / "tests" / "api.txt"
    file.write_text(text)
    assert api_snapshot.difference(package) == ""
    file.write_text(text.replace("flag: bool = False", "flag: bool"))
    assert "+function(x: int, flag: bool = False) -> int" in api_snapshot.difference(package)


def test_a_listed_name_that_is_absent_is_an_error(package):
    sys.modules["tans_made_up"].__all__.append("gone")
    with pytest.raises(AttributeError, match="gone"):
        api_snapshot.snapshot(package)


def test_addresses_do_not_enter_the_snapshot():
    def with_default(x=object()):  # noqa: B008
        return x

    assert "0x" not in api_snapshot.signature(with_default)
