"""`tans.lax`: the primitives of `tans_lax`, with `map` from `tans_batching`."""

from typing import Any

import tans_lax
from tans_batching import map as map  # noqa: A004  (JAX's name)

__all__ = sorted([*tans_lax.__all__, "map"])  # noqa: PLE0605  (computed)


def __getattr__(name: str) -> Any:
    found = globals()[name] = getattr(tans_lax, name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
