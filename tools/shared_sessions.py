"""Sessions without packages of their own: checks, longer tests, measurements."""

import nox

from sessions import examples, pytest_in, python, tool
from workspace import ROOT


def tools(session: nox.Session) -> None:
    """Tests of the tools."""
    python(session, "-m", "pytest", "-c", "tools/pytest.ini", "-q", *session.posargs, "tools/tests")


def lint(session: nox.Session) -> None:
    """Ruff, check and format."""
    python(session, "-m", "ruff", "check", ".")
    python(session, "-m", "ruff", "format", "--check", ".")


def imports(session: nox.Session) -> None:
    """The layers, the rest of the import law, and declared against used dependencies."""
    tool(session, "layers.py")
    tool(session, "import_law.py")
    tool(session, "dependencies.py")


def sizes(session: nox.Session) -> None:
    """The size table, with limits."""
    tool(session, "sizes.py")


def api(session: nox.Session) -> None:
    """Public names and error pages against the code; ``-- --update`` writes them anew."""
    tool(session, "api_snapshot.py", *session.posargs)
    tool(session, "error_pages.py", *session.posargs)


def docs(session: nox.Session) -> None:
    """Every code block of the documentation and every docstring example."""
    examples(session)


def fuzz(session: nox.Session) -> None:
    """Two thousand random meshes, specs, reshards and mapped programs: none ends the process."""
    pytest_in(session, ROOT / "packages" / "tans-sharding", slow="tests/test_fuzz.py")


def oracles(session: nox.Session) -> None:
    """Every public function against its oracle, for all dtypes and shapes; CI takes fewer."""
    pytest_in(session, ROOT / "integration_tests", slow="test_oracles.py")


def slow(session: nox.Session) -> None:
    """The tests of tans-scipy that continuous integration leaves out: more of the same."""
    session.chdir(ROOT / "packages" / "tans-scipy")
    python(session, "-m", "pytest", "-m", "slow", "-q", "-n", "2", *session.posargs)


def faults(session: nox.Session) -> None:
    """The whole acceptance list of failures, and 50 schedules of real ones; takes half an hour."""
    session.chdir(ROOT / "packages" / "tans-fault")
    python(session, "-m", "pytest", "-m", "not orbax", "-q", *session.posargs)


def derivatives(session: nox.Session) -> None:
    """Derivatives of every primitive to second order, in all dtypes; a part of it is in CI."""
    session.chdir(ROOT / "integration_tests")
    options = ["-m", "walk or not walk", "-n", "2", "-q"]
    files = ["test_derivatives_to_second_order.py", "test_collective_derivatives.py"]
    python(session, "-m", "pytest", *options, *session.posargs, *files)


def bench(session: nox.Session) -> None:
    """The benchmark programs on Tans alone; ``-- --program eager`` for one of them."""
    tool(session, "peer_bench/run.py", "--alone", *session.posargs)


def peer_bench(session: nox.Session) -> None:
    """The benchmark programs against JAX, each in its own environment."""
    tool(session, "peer_bench/run.py", *session.posargs)


def sweep(session: nox.Session) -> None:
    """More than 20,000 calls against JAX: ``-- --reference JAX_ENV/bin/python``; not in CI."""
    tool(session, "sweep/run.py", *session.posargs)


def mutation(session: nox.Session) -> None:
    """Seeded faults in rules, one at a time, against the tests of their family; takes hours."""
    tool(session, "mutation/run.py", *session.posargs)


ALL = (
    tools, lint, imports, sizes, api, docs, fuzz, oracles,
    slow, faults, derivatives, bench, peer_bench, sweep, mutation,
)  # fmt: skip
