"""Exchange of arrays with other libraries through DLPack."""

from tans_xla.dlpack import from_dlpack

__all__ = ["from_dlpack"]
