"""Derivatives: the primal is looked at, tangents and cotangents are not."""

from collections.abc import Sequence
from typing import Any, Final

from tans_xla.inspection import inspect_sharding_p


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    del tangents
    inspect_sharding_p.bind(*primals, **params)
    return [], []


def _transpose(cts: Sequence[Any], x: Any, **params: Any) -> list[None]:
    """Return nothing: it has no result, so that no cotangent comes back through it."""
    del cts, x, params
    return [None]


JVP: Final = {inspect_sharding_p: _jvp}
TRANSPOSE: Final = {inspect_sharding_p: _transpose}
