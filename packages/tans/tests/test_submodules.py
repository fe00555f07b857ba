"""Every public module is an attribute of the package, without an import of its own."""

import pkgutil
import subprocess
import sys

import tans

INTERNAL = {"removed"}


def test_each_module_is_reached_by_its_name():
    found = {m.name for m in pkgutil.iter_modules(tans.__path__)} - INTERNAL
    assert found <= set(tans.__all__)
    code = f"import tans\nfor name in {sorted(found)!r}: getattr(tans, name)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
