"""`tans.lax`: the primitives of `tans_lax`, with `map` and the implicit solves."""

import sys
from typing import Any

import tans_lax
from tans.removed import absent
from tans_autodiff import custom_linear_solve as custom_linear_solve
from tans_autodiff import custom_root as custom_root
from tans_autodiff.linear_maps import custom_linear_solve_p
from tans_batching import map as map
from tans_lax import linalg as linalg
from tans_xla.transfer import device_put_p as device_put_p

linear_solve_p = custom_linear_solve_p  # JAX's name

# ``import tans.lax.linalg`` finds the module here.
sys.modules[f"{__name__}.linalg"] = linalg

__all__ = sorted([*tans_lax.__all__, "custom_linear_solve", "custom_root", "map"])  # noqa: PLE0605  (computed)


def __getattr__(name: str) -> Any:
    if not hasattr(tans_lax, name):
        raise AttributeError(absent(__name__, name))
    found = globals()[name] = getattr(tans_lax, name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
