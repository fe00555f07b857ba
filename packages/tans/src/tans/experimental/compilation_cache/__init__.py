"""Compiled programs on disk."""

from tans.experimental.compilation_cache import compilation_cache as compilation_cache

__all__ = ["compilation_cache"]
