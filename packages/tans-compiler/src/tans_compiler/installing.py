"""Fills the places that `tans_xla.compile` leaves for this package.

What a program may never need is loaded at its first use.
"""

from importlib import import_module
from typing import Any

from tans_compiler import program_pickling, progress, xla_flags
from tans_core import config
from tans_xla.compile import slots


class _DiskCache:
    """The compilation cache, loaded when a directory is configured."""

    def get(self, request: Any) -> Any:
        """Return the loaded executable of a request, or None."""
        if not config.compilation_cache_dir.value:
            return None
        return import_module("tans_compiler.disk_cache").cache.get(request)

    def put(self, request: Any, executable: Any, seconds: float) -> None:
        """Store an executable that took `seconds` to compile."""
        if config.compilation_cache_dir.value:
            import_module("tans_compiler.disk_cache").cache.put(request, executable, seconds)


def _explain_failure(error: Exception, request: Any) -> Exception | None:
    explained = import_module("tans_compiler.option_errors").explain_failure(error, request)
    if explained is None:
        explained = import_module("tans_compiler.backend_errors").explain_refusal(error, request)
    return explained


def _explain(compiled: Any, *args: Any, **kwargs: Any) -> Any:
    return import_module("tans_compiler.explaining").explain_compiled(compiled, *args, **kwargs)


def install() -> None:
    """Set the compilation cache, errors of options, the check of the environment and reports.

    Backward programs can be pickled from here on.
    """
    slots.compilation_cache = _DiskCache()
    slots.explain_failure = _explain_failure
    slots.check_environment = xla_flags.check_environment
    slots.watch = progress.watch
    slots.explain = _explain
    program_pickling.install()
