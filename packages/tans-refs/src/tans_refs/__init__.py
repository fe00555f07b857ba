"""Mutable array references: in-place state that composes with the transformations."""

from typing import Any, Final

from tans_core import require_interface
from tans_core.refs import AbstractRef
from tans_refs.access import TransformedRef, addupdate, get, set, swap
from tans_refs.creation import empty_ref, free_ref, freeze, new_ref
from tans_refs.indexing import ds
from tans_refs.ref import Ref
from tans_xla.discharge import discharge_state

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-refs", built_for=_INTERFACE_BUILT_FOR)

__all__ = [
    "AbstractRef",
    "Ref",
    "TransformedRef",
    "addupdate",
    "discharge_state",
    "ds",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tans-refs")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
