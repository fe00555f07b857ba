"""What the nox sessions do with packages: wheels, isolated tests, lowest versions, releases."""

import re
import shutil
import subprocess
from pathlib import Path

import nox

import environment
import workspace
from workspace import ROOT, Package


def venv_python() -> str:
    """Return the interpreter of ``.venv``."""
    return environment.venv_python(str(ROOT))


def python(session: nox.Session, *args: str) -> None:
    """Run the interpreter of ``.venv``."""
    if not Path(venv_python()).exists():
        session.error("there is no .venv yet; run: python3 tools/dev.py setup")
    session.run(venv_python(), *args, external=True)


def tool(session: nox.Session, name: str, *args: str) -> None:
    """Run a script of tools/ in ``.venv``."""
    python(session, str(ROOT / "tools" / name), *args)


def notify_all(session: nox.Session, packages: dict[str, Package]) -> None:
    """Queue the checks of continuous integration."""
    tests = [f"tests({p.short})" for p in packages.values()]
    checks = ["lint", "imports", "sizes", "api", "tools"]
    for name in [*checks, *tests, "integration", "docs"]:
        session.notify(name, posargs=[])


def examples(session: nox.Session) -> None:
    """Run every code block of the documentation and every docstring example."""
    options = ["-c", "tools/docs.ini", "--rootdir", ".", "-n", "2", "-q"]
    places = session.posargs or ["README.md", "docs", "packages"]
    python(session, "-m", "pytest", *options, *places)


def pytest_in(session: nox.Session, folder: Path, *, slow: str = "") -> None:
    """Run tests in a folder; `slow` names the file with the marker that other runs leave out."""
    session.chdir(folder)
    options = ["-m", "slow"] if slow else []
    places = session.posargs or ([slow] if slow else [])
    python(session, "-m", "pytest", *options, "-n", "2", "-q", *places)


def types(session: nox.Session) -> None:
    """Run the type checker on the packages of ``.venv``."""
    session.install(*workspace.tool_groups(ROOT)["types"])
    session.run("pyright", "--pythonpath", venv_python(), *session.posargs)


def release(session: nox.Session, package: Package) -> None:
    """Check, test at the lowest versions and build a package."""
    faults = check_release(package, ROOT)
    if faults:
        session.error("\n".join(faults))
    isolated(session, package, lowest=True)
    session.chdir(ROOT)
    built = build_wheel(package, ROOT / "dist", sdist=True)
    session.log(f"{built}; tag it {package.name}-v{package.version}")


def isolated(session: nox.Session, package: Package, *, lowest: bool = False) -> None:
    """Run a package's tests in the session's own environment, from wheels of its closure.

    Args:
      session: a session with an environment of its own.
      package: the package to test.
      lowest: whether to install the lowest versions that the dependency ranges allow.
    """
    packages = workspace.load()
    folder = Path(session.create_tmp()).resolve()
    needed = tested_closure(package, packages)
    arguments = [str(build_wheel(p, folder / "wheels")) for p in needed]
    arguments += test_requirements(package, packages)
    if lowest:
        constraints = folder / "lowest.txt"
        constraints.write_text("\n".join(lowest_versions(needed)) + "\n", encoding="utf-8")
        arguments += ["-c", str(constraints)]
    session.install(*arguments)
    session.chdir(isolated_tests(package, folder / "alone"))
    session.run("python", "-m", "pytest", "-q", *session.posargs)


def with_extra(session: nox.Session, package: Package, extra: str) -> None:
    """Run the tests of a package that need one of its extras, and bear the name as a marker.

    A wheel that can't be installed fails the session; so does one that the tests don't find.
    """
    packages = workspace.load()
    needed = [p for p in tested_closure(package, packages) if p.name != package.name]
    editable = [word for p in needed for word in ("-e", str(p.path))]
    session.install("hatchling>=1.27", "editables")
    target = ("-e", f"{package.path}[{extra}]", *test_requirements(package, packages))
    session.install("--no-build-isolation", *editable, *target)
    session.chdir(package.path)
    session.run("python", "-m", "pytest", "-q", "-m", extra, *session.posargs)


def test_requirements(package: Package, packages: dict[str, Package]) -> list[str]:
    """Return the third-party part of a package's test group."""
    group = package.groups.get("test", ())
    return [r for r in group if workspace.requirement_name(r) not in packages]


def tested_closure(package: Package, packages: dict[str, Package]) -> list[Package]:
    """Return the packages that the tests of one need: its closure and those of its test group."""
    group = [workspace.requirement_name(r) for r in package.groups.get("test", ())]
    return workspace.closure([package.name, *group], packages)


def build_wheel(package: Package, folder: Path, *, sdist: bool = False) -> Path:
    """Build a package into ``folder`` and return the wheel; the checkout stays clean.

    Raises:
      RuntimeError: the build failed; the text is the builder's output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    targets = ["-t", "wheel", *(["-t", "sdist"] if sdist else [])]
    command = [venv_python(), "-m", "hatchling", "build", "-d", str(folder.resolve()), *targets]
    done = subprocess.run(command, cwd=package.path, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"building {package.name} failed:\n{done.stdout}{done.stderr}")
    return folder / f"{package.import_name}-{package.version}-py3-none-any.whl"


def isolated_tests(package: Package, folder: Path) -> Path:
    """Copy what the tests of a package need, without its sources, and return the copy."""
    target = folder / package.name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(package.path / name, target / name)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package.path / "tests", target / "tests", ignore=ignore)
    return target


def lowest_versions(packages: list[Package]) -> list[str]:
    """Return constraints that pin each third-party dependency to its lower bound.

    Raises:
      ValueError: a dependency has no lower bound.
    """
    pins: dict[str, str] = {}
    ours = {p.name for p in packages}
    for package in packages:
        for requirement in package.dependencies:
            name = workspace.requirement_name(requirement)
            if name in ours:
                continue
            bound = re.search(r"(?:>=|~=)\s*([\w.]+)", requirement)
            if bound is None:
                raise ValueError(
                    f"{package.name}: dependency {requirement!r} has no lower bound; "
                    "write 'name >= version'"
                )
            pins[name] = bound.group(1)
    return [f"{name}=={version}" for name, version in sorted(pins.items())]


def check_release(package: Package, root: Path) -> list[str]:
    """Return what stands in the way of releasing a package; nothing when all is ready."""
    faults = []
    notes = sorted((package.path / "changes").glob("*.md"))
    if notes:
        names = ", ".join(p.name for p in notes)
        faults.append(
            f"{package.name}: change notes are not gathered yet ({names}); run "
            f"towncrier build --yes --version {package.version} --dir packages/{package.name}"
        )
    tag = f"{package.name}-v{package.version}"
    git = ["git", "-C", str(root)]
    listed = subprocess.run([*git, "tag", "-l", tag], capture_output=True, text=True, check=False)
    if listed.stdout.strip():
        faults.append(f"{package.name}: tag {tag} exists; raise the version in its pyproject.toml")
    state = subprocess.run(
        [*git, "status", "--porcelain", "--", str(package.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if state.stdout.strip():
        faults.append(f"{package.name}: uncommitted changes; commit or undo them:\n{state.stdout}")
    return faults


def cross_platform(session: nox.Session, packages: dict[str, Package]) -> None:
    """Compile for absent hardware, in an environment with the compilers of TPUs and NVIDIA GPUs.

    A wheel that can't be installed fails the session; so does one that the tests don't find.
    """
    folder = ROOT / "tools" / "cross_platform"
    session.install("hatchling>=1.27", "editables", "pytest>=8.2", "numpy>=2.1", "opt_einsum")
    session.install("ml_dtypes>=0.5", "scipy>=1.14")
    session.install("--no-deps", "-r", str(folder / "requirements.txt"))
    editable = [word for p in packages.values() for word in ("-e", str(p.path))]
    session.install("--no-deps", "--no-build-isolation", *editable)
    # A question to a metadata server that hangs shows as a timeout.
    command = ["timeout", "300", "python", "-m", "pytest", "-c", str(folder / "pytest.ini")]
    session.run(*command, "--rootdir", str(folder), str(folder), *session.posargs, external=True)
