"""`tans.scipy`: the submodules of `tans_scipy`, under both names."""

from importlib import import_module
from typing import Any, Final

_SUBMODULES: Final = (
    "cluster",
    "fft",
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
