"""The numbered vectors of explicit mode, vectors/*.md: programs and what they print or raise."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    UnreducedKind,
)


class Vector(NamedTuple):
    """A program; what it prints; the class and a fragment of what it raises, or None."""

    code: str
    printed: str | None
    error: str | None
    fragment: str


def read_vectors() -> list[Any]:
    """Return the vectors as pytest params, with their numbers as ids."""
    params = []
    for path in sorted(Path(__file__).with_name("vectors").glob("*.md")):
        for section in path.read_text().split("\n**V")[1:]:
            number, _, title = section.partition("**")[0].partition(". ")
            params.append(pytest.param(parse(section), id=f"V{number}-{title}"))
    return params


def parse(section: str) -> Vector:
    """Read one section: a python block, then a text block or a line about an error."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    code = next(text for kind, text in blocks if kind == "python")
    printed = next((text for kind, text in blocks if kind == "text"), None)
    tail = section[section.rindex("```") :]
    error = re.search(r"raises `(\w+)`; message contains:? (.+)", tail)
    if error is None:
        return Vector(code, printed, None, "")
    first = re.search(r"prints `([^`]+)` and then", tail)
    fragment = error[2].strip().strip("`")
    return Vector(code, first[1] if first else None, error[1], fragment)


def arranged(shape: tuple[int, ...], *spec: Any, dtype: Any = "float32", **states: Any) -> Any:
    """Return 0, 1, 2, ... in a shape, with a sharding."""
    values = jnp.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    return tans.reshard(values, P(*spec, **states))


def collectives(fun: Any, *args: Any) -> dict[str, int]:
    """Count the collectives in the compiled program."""
    text = tans.jit(fun).lower(*args).compile().as_text()
    names = "all-reduce reduce-scatter all-gather all-to-all collective-permute".split()
    counts = {n: len(re.findall(rf" {n}(?:-start)?\(", text)) for n in names}
    return {name: count for name, count in counts.items() if count}


def auto_mesh() -> Mesh:
    """Return the same mesh with Auto axes."""
    return tans.make_mesh((2, 4), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)


@pytest.fixture
def namespace(mesh: Any) -> dict[str, Any]:
    """Return the names that the programs use."""
    return {
        "np": np,
        "jax": tans,
        "jnp": jnp,
        "lax": lax,
        "P": P,
        "AxisType": AxisType,
        "NamedSharding": NamedSharding,
        "AbstractMesh": AbstractMesh,
        "Mesh": Mesh,
        "UnreducedKind": UnreducedKind,
        "mesh": mesh,
        "A": arranged,
        "T": lambda *xs: print(*[tans.typeof(x) for x in xs]),
        "coll": collectives,
        "auto_mesh": auto_mesh,
        "U": P(unreduced={"X"}),
        "R": P(reduced={"X"}),
    }


def words(text: str) -> list[str]:
    """Return printed text as words, since line breaks of jaxprs are free."""
    return text.split()


@pytest.mark.parametrize("vector", read_vectors())
def test_vector(vector: Vector, namespace: dict[str, Any]) -> None:
    out = io.StringIO()
    raised: Exception | None = None
    with contextlib.redirect_stdout(out):
        try:
            exec(vector.code, namespace)
        except Exception as error:
            raised = error
    if vector.error is None:
        if raised is not None:
            raise raised
    else:
        assert vector.error in [cls.__name__ for cls in type(raised).__mro__], raised
        assert vector.fragment in str(raised)
    if vector.printed is not None:
        assert words(out.getvalue()) == words(vector.printed)
