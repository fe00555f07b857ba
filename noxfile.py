"""Sessions; logic: tools/sessions.py. Most run in ``.venv`` (``python3 tools/dev.py setup``)."""

import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).parent / "tools"))

import sessions
from sessions import ROOT, isolated, pytest_in, python, tool, workspace

nox.options.sessions = ["ci"]
nox.needs_version = ">=2025.2.9"

PACKAGES = workspace.load()
each_package = nox.parametrize("name", [nox.param(p.name, id=p.short) for p in PACKAGES.values()])
shared = nox.session(venv_backend="none")


@shared
def ci(session: nox.Session) -> None:
    """All checks of continuous integration."""
    sessions.notify_all(session, PACKAGES)


@shared
@each_package
def tests(session: nox.Session, name: str) -> None:
    """Tests of one package against the packages in the checkout."""
    pytest_in(session, PACKAGES[name].path)


@nox.session
@each_package
def alone(session: nox.Session, name: str) -> None:
    """Tests of one package, from wheels, with only its declared dependencies."""
    isolated(session, PACKAGES[name])


@nox.session
@each_package
def minimums(session: nox.Session, name: str) -> None:
    """Tests of one package at the lowest versions that its dependency ranges allow."""
    isolated(session, PACKAGES[name], lowest=True)


@shared
def integration(session: nox.Session) -> None:
    """Tests of the packages together, on 8 CPU devices (``-- --device gpu`` elsewhere)."""
    pytest_in(session, ROOT / "integration_tests")


@nox.session
def cross_platform(session: nox.Session) -> None:
    """Programs compiled for TPUs and an H200 on this machine; a missing wheel is a failure."""
    sessions.cross_platform(session, PACKAGES)


@shared
def derivatives(session: nox.Session) -> None:
    """Derivatives of every primitive to second order, in all dtypes; a part of it is in CI."""
    session.chdir(ROOT / "integration_tests")
    options = ["-m", "walk or not walk", "-n", "2", "-q"]
    files = ["test_derivatives_to_second_order.py", "test_collective_derivatives.py"]
    python(session, "-m", "pytest", *options, *session.posargs, *files)


@shared
def tools(session: nox.Session) -> None:
    """Tests of the tools."""
    python(session, "-m", "pytest", "-c", "tools/pytest.ini", "-q", *session.posargs, "tools/tests")


@shared
def lint(session: nox.Session) -> None:
    """Ruff, check and format."""
    python(session, "-m", "ruff", "check", ".")
    python(session, "-m", "ruff", "format", "--check", ".")


@nox.session(reuse_venv=True)
def types(session: nox.Session) -> None:
    """Pyright, strict where pyrightconfig.json says so."""
    sessions.types(session)


@shared
def imports(session: nox.Session) -> None:
    """The layers, the rest of the import law, and declared against used dependencies."""
    tool(session, "layers.py")
    tool(session, "import_law.py")
    tool(session, "dependencies.py")


@shared
def sizes(session: nox.Session) -> None:
    """The size table, with limits."""
    tool(session, "sizes.py")


@shared
def api(session: nox.Session) -> None:
    """Public names and error pages against the code; ``-- --update`` writes them anew."""
    tool(session, "api_snapshot.py", *session.posargs)
    tool(session, "error_pages.py", *session.posargs)


@shared
def docs(session: nox.Session) -> None:
    """Every code block of the documentation and every docstring example."""
    sessions.examples(session)


@shared
def fuzz(session: nox.Session) -> None:
    """Two thousand random meshes, specs, reshards and mapped programs: none ends the process."""
    pytest_in(session, PACKAGES["tans-sharding"].path, slow="tests/test_fuzz.py")


@shared
def oracles(session: nox.Session) -> None:
    """Every public function against its oracle, for all dtypes and shapes; CI takes fewer."""
    pytest_in(session, ROOT / "integration_tests", slow="test_oracles.py")


@shared
def slow(session: nox.Session) -> None:
    """The tests of tans-scipy that continuous integration leaves out: more of the same."""
    session.chdir(PACKAGES["tans-scipy"].path)
    python(session, "-m", "pytest", "-m", "slow", "-q", "-n", "2", *session.posargs)


@shared
def faults(session: nox.Session) -> None:
    """The whole acceptance list of failures, and 50 schedules of real ones; takes half an hour."""
    session.chdir(PACKAGES["tans-fault"].path)
    python(session, "-m", "pytest", "-m", "faults or not faults", "-q", *session.posargs)


@shared
def bench(session: nox.Session) -> None:
    """The benchmark programs on Tans alone; ``-- --program eager`` for one of them."""
    tool(session, "peer_bench/run.py", "--alone", *session.posargs)


@shared
def peer_bench(session: nox.Session) -> None:
    """The benchmark programs against JAX, each in its own environment."""
    tool(session, "peer_bench/run.py", *session.posargs)


@shared
def sweep(session: nox.Session) -> None:
    """More than 20,000 calls against JAX: ``-- --reference JAX_ENV/bin/python``; not in CI."""
    tool(session, "sweep/run.py", *session.posargs)


@shared
def mutation(session: nox.Session) -> None:
    """Seeded faults in rules, one at a time, against the tests of their family; takes hours."""
    tool(session, "mutation/run.py", *session.posargs)


@shared
@each_package
def build(session: nox.Session, name: str) -> None:
    """Wheel and source distribution of one package, in dist/."""
    session.log(str(sessions.build_wheel(PACKAGES[name], ROOT / "dist", sdist=True)))


@nox.session
@each_package
def release(session: nox.Session, name: str) -> None:
    """Check, test at the lowest versions and build one package for release."""
    sessions.release(session, PACKAGES[name])
