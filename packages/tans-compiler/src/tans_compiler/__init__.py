"""Control over the compiler: options, metadata of operations, compiled programs kept on disk.

Importing it gives `tans_xla` better errors for compiler options, a check of ``XLA_FLAGS`` and the
compilation cache.
"""

from importlib import import_module
from typing import Any, Final

from tans_core import require_interface

_INTERFACE_BUILT_FOR = 1
require_interface("tans-compiler", built_for=_INTERFACE_BUILT_FOR)

from tans_compiler.installing import install  # noqa: E402  (after the handshake)

install()

_MODULES: Final = {
    "disk_cache": "reset_cache set_cache_dir statistics",
    "explaining": "Explanation explain",
    "operation_tags": """
        fuse_limit must_fuse_call set_xla_metadata xla_metadata_call xla_metadata_call2
    """,
    "surviving": "surviving_tags",
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  (from the table above)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tans_compiler' has no attribute {name!r}")
    found = getattr(import_module(f"tans_compiler.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
