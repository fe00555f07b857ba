"""jaxlib's names under our names; the only file of tans-compiler to edit for a jaxlib release.

Tested with jaxlib 0.11.2 to 0.12.0.1.
"""

# pyright: reportAttributeAccessIssue=false

import io
import warnings
from typing import Any, Final

from jaxlib import _jax as jaxlib_core
from jaxlib import version as jaxlib_version
from jaxlib import xla_client

Device = xla_client.Device
JaxRuntimeError = jaxlib_core.JaxRuntimeError
VERSION: Final[str] = jaxlib_version.__version__

# A program that reads XLA_FLAGS as a backend does, for a process that may die of it.
READ_FLAGS: Final = (
    "from jaxlib import _jax; o = _jax.CompileOptions(); o.executable_build_options.debug_options"
)


def module_bytes(module: Any, *, with_locations: bool) -> bytes:
    """Return the bytecode of an MLIR module, with or without source locations."""
    from jaxlib.mlir import passmanager

    operation = module.operation
    if not with_locations:
        operation = operation.clone()
        with module.context:
            pipeline = passmanager.PassManager.parse("builtin.module(strip-debuginfo)")
            pipeline.run(operation)
    buffer = io.BytesIO()
    operation.write_bytecode(buffer)
    return buffer.getvalue()


def load_executable(client: Any, blob: bytes, devices: Any, options: Any, callbacks: Any) -> Any:
    """Load a serialised executable; the bytes must be trusted, since they hold machine code."""
    device_list = xla_client.DeviceList(tuple(devices))
    return client.deserialize_executable(blob, device_list, options, list(callbacks))


def debug_options_text(options: Any = None) -> str:
    """Return the flags of XLA in compile options with their values, one per line.

    Without options they are those of the process.
    """
    options = options or xla_client.CompileOptions()
    return repr(options.executable_build_options.debug_options)


def profile_events(call: Any) -> list[list[tuple[str, float, float]]] | None:
    """Run `call` under the profiler; return per thread the compiled operations that ran.

    Returns:
      Per thread, (name, start, duration) in nanoseconds; None when a profile is being taken.
    """
    from jaxlib import _profile_data, _profiler

    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    session = _profiler.ProfilerSession(options)
    call()
    try:
        space = session.stop()
    except JaxRuntimeError:  # it recorded nothing, because another one does
        return None
    data = _profile_data.ProfileData.from_serialized_xspace(space)
    threads = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the binding, about its own types
        for plane in data.planes:
            threads += [_operations(line) for line in plane.lines]
    return [events for events in threads if events]


def _operations(line: Any) -> list[tuple[str, float, float]]:
    found = []
    for event in line.events:
        if event.name.startswith("end: "):
            continue
        operation = dict(event.stats).get("hlo_op")
        if operation is not None:
            found.append((str(operation), event.start_ns, event.duration_ns))
    return found


def to_portable(module: Any, version: str) -> bytes:
    """Return the versioned, portable form of a StableHLO module."""
    return jaxlib_core.mlir.serialize_portable_artifact(
        module, version, use_mixed_serialization=True
    )


def from_portable(data: bytes, context: Any) -> Any:
    """Return the module in a portable artifact.

    Raises:
      JaxRuntimeError: the bytes hold none, or one of a newer version.
    """
    try:
        return jaxlib_core.mlir.deserialize_portable_artifact(data, context)
    except ValueError as error:
        raise JaxRuntimeError(str(error)) from error


def stablehlo_versions() -> tuple[str, str, str]:
    """Return StableHLO's version, the one that was current 4 weeks ago, and the oldest readable."""
    from jaxlib.mlir.dialects import stablehlo

    four_weeks = stablehlo.StablehloCompatibilityRequirement.WEEK_4
    return (
        stablehlo.get_current_version(),
        stablehlo.get_version_from_compatibility_requirement(four_weeks),
        stablehlo.get_minimum_version(),
    )


def __getattr__(name: str) -> Any:
    # MLIR costs 15 to 20 ms and is loaded at the first use.
    if name == "ir":
        from jaxlib.mlir import ir as found
    elif name == "func":
        from jaxlib.mlir.dialects import func as found
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def tpu_topology(name: str, options: dict[str, Any]) -> Any:
    """Return a topology of TPUs by name; the plugin is loaded."""
    return xla_client.make_tfrt_tpu_c_api_device_topology(name, **options)


def plugin_topology(c_api: Any, name: str, options: dict[str, Any]) -> Any:
    """Return a topology of a plugin."""
    return xla_client.make_c_api_device_topology(c_api, name, **options)


def read_topology(data: bytes) -> Any:
    """Return the topology in the bytes that its ``serialize`` wrote; its plugin is loaded."""
    return jaxlib_core.DeviceTopology.deserialize(data)


def attached_topology(devices: Any) -> Any:
    """Return the topology of the devices of a client."""
    return xla_client.get_topology_for_devices(list(devices))


def profiler() -> Any:
    """Return jaxlib's profiler module, which is loaded at the first use."""
    from jaxlib import _profiler

    return _profiler


def profile_data() -> Any:
    """Return jaxlib's reader of profiles."""
    from jaxlib import _profile_data

    return _profile_data


def with_static_shapes(module: Any, context: Any) -> Any:
    """Return a module whose main function has static shapes with all other shapes static too.

    Raises:
      ValueError: some shape inside does not follow from those of the arguments.
    """
    from jaxlib.mlir import ir as mlir

    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    data = jaxlib_core.mlir.refine_polymorphic_shapes(
        buffer.getvalue(), enable_shape_assertions=False, validate_static_shapes=True
    )
    return mlir.Module.parse(data, context)
