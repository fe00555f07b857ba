"""`tans.lax`: the primitives of `tans_lax`, with `map` and the implicit solves."""

from typing import Any

import tans_lax
from tans_autodiff import custom_linear_solve as custom_linear_solve
from tans_autodiff import custom_root as custom_root
from tans_batching import map as map

__all__ = sorted([*tans_lax.__all__, "custom_linear_solve", "custom_root", "map"])  # noqa: PLE0605  (computed)


def __getattr__(name: str) -> Any:
    found = globals()[name] = getattr(tans_lax, name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
