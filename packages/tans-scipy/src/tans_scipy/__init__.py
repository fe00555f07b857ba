"""The parts of the SciPy API that work on Tans arrays.

Submodules load at their first use.
"""

from importlib import import_module
from typing import Any, Final

from tans_core import require_interface

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-scipy", built_for=_INTERFACE_BUILT_FOR)

_SUBMODULES: Final = (
    "cluster",
    "fft",
    "image",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)

__all__ = list(_SUBMODULES)


def __getattr__(name: str) -> Any:
    if name not in _SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*_SUBMODULES, *globals()})
