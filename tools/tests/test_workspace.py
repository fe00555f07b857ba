import pytest

import workspace

PYPROJECT = """
[project]
name = "{name}"
version = "0.1.0"
dependencies = {dependencies}
[dependency-groups]
test = {test}
"""


@pytest.fixture
def make(tmp_path):
    def _make(name, dependencies=(), test=()):
        folder = tmp_path / "packages" / name
        (folder / "src" / name.replace("-", "_")).mkdir(parents=True)
        text = PYPROJECT.format(name=name, dependencies=list(dependencies), test=list(test))
        (folder / "pyproject.toml").write_text(text)
        return tmp_path

    return _make


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("numpy >= 2.1", "numpy"),
        ("ml_dtypes>=0.5", "ml-dtypes"),
        ("tans-core ~= 0.1.0", "tans-core"),
        ("jax-cuda13-plugin[with-cuda] < 0.13", "jax-cuda13-plugin"),
    ],
)
def test_requirement_name_is_normalised(requirement, name):
    assert workspace.requirement_name(requirement) == name


def test_packages_come_after_those_they_need(make):
    make("a", ["b ~= 0.1.0", "numpy >= 2"])
    make("b", ["c ~= 0.1.0"])
    root = make("c")
    assert list(workspace.load(root)) == ["c", "b", "a"]


def test_a_circle_of_packages_is_refused(make):
    make("a", ["b"])
    root = make("b", ["a"])
    with pytest.raises(ValueError, match="circle: a, b"):
        workspace.load(root)


def test_closure_holds_needs_of_needs_and_nothing_else(make):
    make("a", ["b ~= 0.1.0"])
    make("b", ["c ~= 0.1.0"])
    make("c")
    packages = workspace.load(make("d", ["c"]))
    assert [p.name for p in workspace.closure(["a"], packages)] == ["c", "b", "a"]


def test_requirements_name_every_package_and_each_extra_once(make):
    make("a", ["b"], test=["pytest >= 8", "b"])
    root = make("b", test=["pytest >= 8", "scipy"])
    arguments = workspace.requirements(["test"], root)
    assert arguments.count("-e") == 2
    assert arguments[-2:] == ["pytest >= 8", "scipy"]


def test_the_repository_loads():
    packages = workspace.load()
    assert next(iter(packages)) == "tans-core"
    assert all(p.version and p.source.is_dir() for p in packages.values())
