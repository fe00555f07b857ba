"""jaxlib's names under our names; the only file of tans-xla to edit for a jaxlib release.

Tested with jaxlib 0.11.2 to 0.12.0.1.
"""

# The types of the names here are in _jaxlib.pyi.
# pyright: reportAttributeAccessIssue=false

import os
from typing import Any, Final

import jaxlib
from jaxlib import _jax as jaxlib_core
from jaxlib import xla_client

import tans_core  # noqa: F401  (sets the log level before jaxlib's C++ code loads)


def include_dir() -> str:
    """Return the folder of the C++ headers of XLA's foreign function interface."""
    return os.path.join(os.path.dirname(jaxlib.__file__), "include")


# Client and devices.
Client = xla_client.Client
Device = xla_client.Device
DeviceList = xla_client.DeviceList
make_cpu_client = xla_client.make_cpu_client
make_c_api_client = xla_client.make_c_api_client
generate_gpu_options = xla_client.generate_pjrt_gpu_plugin_options
load_plugin_library = xla_client.load_pjrt_plugin_dynamically
plugin_is_loaded = xla_client.pjrt_plugin_loaded
initialize_plugin = xla_client.initialize_pjrt_plugin
plugin_is_initialized = xla_client.pjrt_plugin_initialized
register_custom_call_handler = xla_client.register_custom_call_handler
register_custom_call_as_batch_partitionable = xla_client.register_custom_call_as_batch_partitionable
register_custom_call_target = xla_client.register_custom_call_target
register_custom_type = xla_client.register_custom_type
register_custom_type_handler = xla_client.register_custom_type_handler
JaxRuntimeError = jaxlib_core.JaxRuntimeError

# Arrays.
ArrayImpl = xla_client.ArrayImpl
Array = jaxlib_core.Array
ArrayCopySemantics = xla_client.ArrayCopySemantics
HostBufferSemantics = xla_client.HostBufferSemantics
array_result_handler = xla_client.array_result_handler
batched_block_until_ready = xla_client.batched_block_until_ready
batched_copy = xla_client.batched_copy_array_to_devices_with_sharding
batched_device_put = xla_client.batched_device_put
reorder_shards = xla_client.reorder_shards
from_dlpack_capsule = jaxlib_core.dlpack_managed_tensor_to_buffer
PjitFunctionCache = jaxlib_core.PjitFunctionCache
guard_lib = jaxlib_core.guard_lib


def batched_copy_to_host_async(arrays: list[Any]) -> None:
    """Start copying arrays to the host; a hint, which jaxlib before 0.12 gives one by one."""
    batched = getattr(jaxlib_core, "batched_copy_to_host_async", None)
    if batched is not None:
        batched(arrays)
        return
    for array in arrays:
        for piece in array._arrays:
            piece._copy_single_device_array_to_host_async()


# Newest DLPack version that capsules can have; jaxlib before 0.12 knows only the unversioned form.
DLPACK_VERSION: Final[tuple[int, int]] = getattr(jaxlib_core, "dlpack_version", (0, 8))


def to_dlpack_capsule(array: Any, stream: Any, version: tuple[int, int], copied: bool) -> Any:
    """Return a DLPack capsule of an array's buffer in the newest form up to `version`."""
    if min(version, DLPACK_VERSION) < (1, 0):
        return jaxlib_core.buffer_to_dlpack_managed_tensor(array, stream=stream)
    return jaxlib_core.buffer_to_dlpack_managed_tensor(
        array, stream=stream, max_version=min(version, DLPACK_VERSION), copied=copied
    )


def register_plugin_profiler(c_api: Any) -> None:
    """Let the profiler read events of a plugin."""
    from jaxlib import _profiler

    _profiler.register_plugin_profiler(c_api)


def import_from_plugin(plugin: str, name: str) -> Any:
    """Return an extension module of an installed plugin, or None."""
    from jaxlib import plugin_support

    return plugin_support.import_from_plugin(plugin, name)


def load_lapack() -> dict[str, Any]:
    """Bind SciPy's LAPACK kernels and return jaxlib's calls of them: target name to capsule."""
    from jaxlib.cpu import _lapack

    _lapack.initialize()
    return _lapack.registrations()


approx_top_k_output_size = jaxlib_core.approx_top_k_reduction_output_size

# Compiling and dispatch.
CompileOptions = xla_client.CompileOptions
HloSharding = xla_client.HloSharding
encode_inspect_sharding_callback = jaxlib_core.encode_inspect_sharding_callback
partition_call_by_batch = jaxlib_core.register_custom_call_as_batch_partitionable
OpSharding = xla_client.OpSharding
DeviceAssignment = xla_client.DeviceAssignment
LoadedExecutable = jaxlib_core.LoadedExecutable
PjitFunction = jaxlib_core.PjitFunction
parse_arguments = jaxlib_core.jax_jit.parse_arguments
pjit = jaxlib_core.pjit

# Names of MLIR cost 15 to 20 ms and are loaded at the first use.
_MLIR_NAMES: Final = frozenset(
    "ir func sdy stablehlo chlo passmanager TracebackToLocationCache inlined_func_call "
    "make_ir_context".split()
)


def __getattr__(name: str) -> Any:
    if name not in _MLIR_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update(_load_mlir())
    return globals()[name]


def _load_mlir() -> dict[str, Any]:
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, func, mhlo, sdy, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    pool = ir.ThreadPool()

    class Context(ir.Context):
        def __init__(self) -> None:
            # Skips the bindings' site hook, which loads every dialect (1.5 ms per context).
            super(ir.Context, self).__init__()

    def make_ir_context() -> Any:
        context = Context()
        context.append_dialect_registry(registry)
        context.set_thread_pool(pool)
        for dialect in (sdy, chlo, stablehlo):
            dialect.register_dialect(context)
        mhlo.register_mhlo_dialect(context)
        _ = context.dialects["func"]  # access loads a dialect
        return context

    return {
        "ir": ir,
        "func": func,
        "sdy": sdy,
        "stablehlo": stablehlo,
        "chlo": chlo,
        "passmanager": passmanager,
        "TracebackToLocationCache": _jax_mlir_ext.TracebackToLocationCache,
        "inlined_func_call": _jax_mlir_ext.inlined_func_call,
        "make_ir_context": make_ir_context,
    }


def computation_of(module: Any) -> Any:
    """Return the XLA computation of a module."""
    from io import BytesIO

    buffer = BytesIO()
    module.operation.write_bytecode(file=buffer)
    return jaxlib_core.mlir.mlir_module_to_xla_computation(buffer.getvalue())


def cost_of(module: Any, client: Any) -> Any:
    """Return XLA's estimate of the cost of a module before optimisation."""
    return jaxlib_core.hlo_module_cost_analysis(client, computation_of(module).get_hlo_module())


def hlo_text_of(module: Any, debug_info: bool = False) -> str:
    """Return the HLO of a module before optimisation, with or without names and source lines."""
    computation = computation_of(module)
    if not debug_info:
        return computation.as_hlo_text()
    options = xla_client.hlo.HloPrintOptions()
    options.print_metadata = True
    options.print_percent = False
    return computation.get_hlo_module().to_string(options)
