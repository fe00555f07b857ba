"""Foreign functions: compiled code of the user in programs."""

from tans_lax.foreign_calls import ffi_call
from tans_xla.ffi import (
    abstract_token,
    build_ffi_lowering_function,
    ffi_lowering,
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
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]
