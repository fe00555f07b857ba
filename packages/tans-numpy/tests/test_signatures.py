"""Parameter names, kinds and defaults of public functions: what libraries for JAX rely on."""

import inspect
from pathlib import Path

import pytest

import tans_numpy

SNAPSHOT = (Path(__file__).parent / "signatures.txt").read_text().splitlines()


def _function(name):
    found = tans_numpy
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _default(value):
    return value.__name__ if isinstance(value, type) else repr(value)


def _rendered(function):
    kinds = inspect.Parameter
    parts, starred = [], False
    parameters = list(inspect.signature(function).parameters.values())
    for i, p in enumerate(parameters):
        following = parameters[i + 1] if i + 1 < len(parameters) else None
        if p.kind is kinds.VAR_POSITIONAL:
            parts.append(f"*{p.name}")
            starred = True
        elif p.kind is kinds.VAR_KEYWORD:
            parts.append(f"**{p.name}")
        else:
            if p.kind is kinds.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            parts.append(p.name if p.default is p.empty else f"{p.name}={_default(p.default)}")
            if p.kind is kinds.POSITIONAL_ONLY and (
                following is None or following.kind is not kinds.POSITIONAL_ONLY
            ):
                parts.append("/")
    return ", ".join(parts)


PRESENT = [line for line in SNAPSHOT if _function(line.partition("(")[0]) is not None]


@pytest.mark.parametrize("line", PRESENT, ids=lambda line: line.partition("(")[0])
def test_signature_is_that_of_the_snapshot(line):
    name = line.partition("(")[0]
    assert f"{name}({_rendered(_function(name))})" == line


def test_all_functions_of_the_snapshot_are_present():
    assert len(PRESENT) == len(SNAPSHOT)


def test_every_public_name_resolves():
    for name in tans_numpy.__all__:
        assert getattr(tans_numpy, name) is not None or name == "newaxis"
