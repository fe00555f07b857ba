"""Foreign functions: compiled code of the user in programs.

A library of typed handlers is built against the headers in `include_dir`, registered by name, and
called with `ffi_call` (in tans-lax).
"""

from tans_core.types import abstract_token as abstract_token
from tans_xla.ffi.lowering import build_ffi_lowering_function, ffi_lowering
from tans_xla.ffi.registration import (
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

__all__ = [
    "abstract_token",
    "build_ffi_lowering_function",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]
