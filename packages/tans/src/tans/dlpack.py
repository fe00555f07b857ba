"""Exchange of arrays with other libraries through DLPack."""

from typing import Any

from tans.removed import absent
from tans_xla.dlpack import from_dlpack, is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]


def __getattr__(name: str) -> Any:
    raise AttributeError(absent(__name__, name))
