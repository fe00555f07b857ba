import ast
from pathlib import Path

import pytest

import dependencies
import import_law
import layers
from import_law import Allowed
from workspace import Package

ROOTS = frozenset({"tans_core", "tans_lax"})


def faults(source, file="tans_lax/slicing.py", allowed=()):
    found = []
    for item in import_law.imports(ast.parse(source)):
        found.append(import_law.check_import(item, Path(file), "tans_lax", ROOTS))
        found.append(import_law.check_late(item, Path(file), file, list(allowed)))
    return [f for f in found if f]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import jax", "never imports jax"),
        ("from jax import numpy", "never imports jax"),
        ("from jaxlib.mlir import ir", "_jaxlib.py"),
        ("from tans_core._jaxlib import ir", "private to tans_core"),
        ("from tans_core import _memo", "private to tans_core"),
        ("from . import rows", "relative"),
        ("def f():\n    import numpy", "inside f"),
        ("class A:\n    def __getattr__(self, name):\n        import numpy", "inside __getattr__"),
    ],
)
def test_a_forbidden_import_is_named(source, word):
    assert word in faults(source)[0]


@pytest.mark.parametrize(
    "source",
    [
        "from tans_core import jaxpr",
        "from tans_lax._memo import table",
        "from tans_core import __version__",
        "def __getattr__(name):\n    import tans_lax.linalg",
        "if True:\n    import numpy",
    ],
)
def test_an_allowed_import_passes(source):
    assert faults(source) == []


def test_jaxlib_is_allowed_in_its_file():
    source = "import jaxlib\ndef load():\n    from jaxlib.mlir import ir"
    assert faults(source, "tans_core/_jaxlib.py") == []


def test_a_listed_late_import_passes_in_its_file_only():
    source = "def f():\n    import opt_einsum"
    allowed = [Allowed("tans_lax/slicing.py", "opt_einsum", "slow to import")]
    assert faults(source, allowed=allowed) == []
    assert faults(source, "tans_lax/other.py", allowed) != []


def package(tmp_path, source, needs):
    folder = tmp_path / "src" / "tans_lax"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(source)
    return Package("tans-lax", "0.1.0", tmp_path, tuple(needs), {})


def test_an_undeclared_dependency_is_named_with_its_place(tmp_path):
    found = dependencies.faults(package(tmp_path, "import numpy, os\n", []), frozenset())
    assert len(found) == 1
    assert "does not declare numpy, imported in __init__.py:1" in found[0]


def test_an_unused_dependency_is_named(tmp_path):
    found = dependencies.faults(package(tmp_path, "", ["ml_dtypes >= 0.5"]), frozenset())
    assert "declares ml-dtypes, which nothing imports" in found[0]


def test_a_lazy_import_by_name_counts_as_use(tmp_path):
    lazy = package(tmp_path, 'LAZY = {"numpy": "tans_numpy"}\n', ["tans-numpy ~= 0.1.0"])
    assert dependencies.faults(lazy, frozenset()) == []


def test_what_tests_import_must_come_with_the_test_group(tmp_path):
    lax = package(tmp_path, "", ["numpy >= 2"])
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_m.py").write_text("import numpy, pytest, scipy, tans_lax\n")
    lax.groups["test"] = ("pytest >= 8",)
    (fault,) = dependencies.test_faults(lax, {"tans-lax": lax})
    assert "test_m.py:1: imports scipy" in fault


def test_every_package_is_in_the_layer_contract():
    import workspace

    text = (workspace.ROOT / ".importlinter").read_text()
    for name in (p.import_name for p in workspace.load().values()):
        lines = [line.strip() for line in text.splitlines()]
        assert lines.count(name) >= 3, f"{name} is missing from a contract in .importlinter"


def test_packages_that_do_not_exist_are_left_out_of_the_contract():
    text = "layers =\n    tans_a\n    tans_b | tans_c\nignore =\n    tans_a._jaxlib -> jaxlib\n"
    kept = layers.existing_only(text, frozenset({"tans_c"}))
    assert kept == "layers =\n    tans_c\nignore =\n"


def test_a_folder_without_init_is_named(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "__init__.py").touch()
    (tmp_path / "a" / "b" / "m.py").touch()
    (fault,) = import_law.hidden_folders(tmp_path / "a", tmp_path)
    assert fault.startswith("a/b: has no __init__.py")
