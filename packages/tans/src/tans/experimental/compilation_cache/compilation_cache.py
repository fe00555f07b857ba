"""Where compiled programs are kept."""

from tans_compiler import reset_cache, set_cache_dir

__all__ = ["reset_cache", "set_cache_dir"]
