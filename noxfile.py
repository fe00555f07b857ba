"""Sessions; logic: tools/sessions.py. Most run in ``.venv`` (``python3 tools/dev.py setup``)."""

import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).parent / "tools"))

import sessions
import shared_sessions
from sessions import ROOT, isolated, pytest_in, workspace

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


@nox.session
def orbax(session: nox.Session) -> None:
    """Checkpoints that Orbax and JAX read and write, beside them; a missing wheel is a failure."""
    sessions.with_extra(session, PACKAGES["tans-fault"], "orbax")


@nox.session(reuse_venv=True)
def types(session: nox.Session) -> None:
    """Pyright, strict where pyrightconfig.json says so."""
    sessions.types(session)


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


for function in shared_sessions.ALL:
    shared(function)
