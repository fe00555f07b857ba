"""Joining a multi-process job and leaving it."""

from tans_fault.distributed import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
