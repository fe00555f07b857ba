"""Functions whose form may still change."""

from typing import Any

import tans_numpy  # noqa: F401  (gives arrays and traced values their operators)
from tans.removed import absent
from tans_xla.callbacks import io_callback

__all__ = ["io_callback"]


def __getattr__(name: str) -> Any:
    raise AttributeError(absent(__name__, name))
