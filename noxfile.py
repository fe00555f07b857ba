"""Sessions; the packages come from the pyproject files, the logic from tools/.

Most sessions run in ``.venv`` (``python3 tools/dev.py setup``). ``alone``, ``minimums``,
``release`` and ``peer_bench`` make environments of their own.
"""

import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "tools"))

import sessions  # noqa: E402
import workspace  # noqa: E402
from sessions import isolated, python, tool  # noqa: E402

nox.options.sessions = ["ci"]
nox.needs_version = ">=2025.2.9"

PACKAGES = workspace.load(ROOT)
each_package = nox.parametrize("name", [nox.param(p.name, id=p.short) for p in PACKAGES.values()])
shared = nox.session(venv_backend="none")


@shared
def ci(session: nox.Session) -> None:
    """All checks of continuous integration."""
    packages = [f"tests({p.short})" for p in PACKAGES.values()]
    checks = ["lint", "imports", "sizes", "api", "tools"]
    for name in [*checks, *packages, "integration", "docs"]:
        session.notify(name, posargs=[])


@shared
@each_package
def tests(session: nox.Session, name: str) -> None:
    """Tests of one package against the packages in the checkout."""
    session.chdir(PACKAGES[name].path)
    python(session, "-m", "pytest", "-n", "2", "-q", *session.posargs)


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
    session.chdir(ROOT / "integration_tests")
    python(session, "-m", "pytest", "-n", "2", "-q", *session.posargs)


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
    session.install(*workspace.tool_groups(ROOT)["types"])
    session.run("pyright", "--pythonpath", sessions.venv_python(), *session.posargs)


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
    options = ["-c", "tools/docs.ini", "--rootdir", ".", "-n", "2", "-q"]
    python(
        session, "-m", "pytest", *options, *(session.posargs or ["README.md", "docs", "packages"])
    )


@shared
def fuzz(session: nox.Session) -> None:
    """Two thousand random meshes, specs, reshards and mapped programs: none ends the process."""
    session.chdir(PACKAGES["tans-sharding"].path)
    options = ["-m", "slow", "-q", "-n", "2"]
    python(session, "-m", "pytest", *options, *(session.posargs or ["tests/test_fuzz.py"]))


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
    faults = sessions.check_release(PACKAGES[name], ROOT)
    if faults:
        session.error("\n".join(faults))
    isolated(session, PACKAGES[name], lowest=True)
    session.chdir(ROOT)
    built = sessions.build_wheel(PACKAGES[name], ROOT / "dist", sdist=True)
    session.log(f"{built}; tag it {name}-v{PACKAGES[name].version}")
