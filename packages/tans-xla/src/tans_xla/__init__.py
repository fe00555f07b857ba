"""Compiling and running programs: lowering, clients, arrays, `jit` and its stages."""

from tans_core import require_interface

_INTERFACE_BUILT_FOR = 1
require_interface("tans-xla", built_for=_INTERFACE_BUILT_FOR)

from tans_xla import array, evaluate, tracer_methods  # noqa: E402  (after the handshake)
from tans_xla.api import eval_shape, make_jaxpr, named_call  # noqa: E402
from tans_xla.backend import (  # noqa: E402
    default_backend,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from tans_xla.compile import CompilerEffortLevel  # noqa: E402
from tans_xla.compile_time import ensure_compile_time_eval  # noqa: E402
from tans_xla.composite import composite  # noqa: E402
from tans_xla.environment_info import print_environment_info  # noqa: E402
from tans_xla.jit import Inline, jit  # noqa: E402
from tans_xla.shape_dtype_struct import ShapeDtypeStruct  # noqa: E402
from tans_xla.stages import Compiled, Lowered, Traced  # noqa: E402
from tans_xla.transfer import block_until_ready, device_get, device_put  # noqa: E402

evaluate.install()
tracer_methods.install()

__all__ = [
    "Compiled",
    "CompilerEffortLevel",
    "Inline",
    "Lowered",
    "ShapeDtypeStruct",
    "Traced",
    "array",
    "block_until_ready",
    "composite",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "ensure_compile_time_eval",
    "eval_shape",
    "jit",
    "local_device_count",
    "local_devices",
    "make_jaxpr",
    "named_call",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
]
