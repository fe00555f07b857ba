"""Derivatives of `dce_sink`: it keeps the value itself, and has no results."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.rows import not_linear
from tans_lax.sinks import dce_sink_p

type Value = Any


def _sink_jvp(
    primals: tuple[Value], tangents: tuple[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    del tangents
    dce_sink_p.bind(*primals, **params)
    return [], []


JVP: Final[dict[Primitive, Any]] = {
    dce_sink_p: _sink_jvp,
}

TRANSPOSE: Final[dict[Primitive, Any]] = {
    dce_sink_p: not_linear,
}
