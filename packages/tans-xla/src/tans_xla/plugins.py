"""Find PJRT plugins (GPU, TPU, others) on disk and load them.

A plugin package advertises itself as a module of the namespace package ``jax_plugins`` or an entry
point of that group. Its module imports jax, so it is located but never imported: we load the
library in its folder ourselves.
"""

import ctypes
import dataclasses
import functools
import importlib.metadata
import importlib.util
import logging
import os
import pathlib
from collections.abc import Iterator
from typing import Any, Final

from tans_core import config
from tans_xla import _jaxlib

logger: Final = logging.getLogger("tans.plugins")

PATHS_VARIABLE: Final = "TANS_PJRT_PLUGINS"
GROUP: Final = "jax_plugins"
_NVIDIA_LIBRARIES: Final = {
    "nvidia.cu13": (
        "libcudart.so.13", "libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13",
        "libcupti.so.13", "libcusparse.so.12", "libcusolver.so.12", "libcufft.so.12",
    ),
    "nvidia.cuda_runtime": ("libcudart.so.12",),
    "nvidia.cuda_nvrtc": ("libnvrtc.so.12",),
    "nvidia.cublas": ("libcublasLt.so.12", "libcublas.so.12"),
    "nvidia.cuda_cupti": ("libcupti.so.12",),
    "nvidia.cusparse": ("libcusparse.so.12",),
    "nvidia.cusolver": ("libcusolver.so.11",),
    "nvidia.cufft": ("libcufft.so.11",),
    "nvidia.nccl": ("libnccl.so.2",),
    "nvidia.nvshmem": ("libnvshmem_host.so.3",),
    "nvidia.cudnn": ("libcudnn.so.9",),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Plugin:
    """A PJRT library: platform name, file, and how much it is preferred over others."""

    platform: str
    library: pathlib.Path
    priority: int

    @property
    def is_cuda(self) -> bool:
        """Whether the library is for NVIDIA GPUs."""
        return self.platform == "cuda"


def find_plugins() -> dict[str, Plugin]:
    """Return the plugins on this machine by platform, without importing or loading any.

    Those of the environment variable ``TANS_PJRT_PLUGINS`` (``name:path,...``) come first.

    Raises:
      ValueError: the variable is malformed.
    """
    found: dict[str, Plugin] = {}
    for plugin in (*_from_environment(), *_from_packages(), *_from_libtpu()):
        found.setdefault(plugin.platform, plugin)
    return found


def _from_environment() -> Iterator[Plugin]:
    for entry in filter(None, os.environ.get(PATHS_VARIABLE, "").split(",")):
        name, colon, path = entry.partition(":")
        if not (name and colon and path):
            raise ValueError(
                f"{PATHS_VARIABLE}: entry {entry!r} was given, expected 'name:path'. Example: "
                f"{PATHS_VARIABLE}=cuda:/opt/plugins/xla_cuda_plugin.so"
            )
        yield Plugin(name.strip(), pathlib.Path(path.strip()), 400)


def _module_names() -> Iterator[str]:
    for entry_point in importlib.metadata.entry_points(group=GROUP):
        yield entry_point.value.partition(":")[0]
    namespace = importlib.util.find_spec(GROUP)
    for folder in (namespace and namespace.submodule_search_locations) or ():
        for child in sorted(pathlib.Path(folder).glob("*/__init__.py")):
            yield f"{GROUP}.{child.parent.name}"


def _from_packages() -> Iterator[Plugin]:
    for module in dict.fromkeys(_module_names()):
        folder = _folder_of(module)
        library = None if folder is None else _library_in(folder)
        if library is None:
            logger.info("plugin %s offers no library that can be loaded without jax", module)
            continue
        yield Plugin(_platform_of(module), library, 200)


def _folder_of(module: str) -> pathlib.Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else pathlib.Path(spec.origin).parent


def _library_in(folder: pathlib.Path) -> pathlib.Path | None:
    known = folder / "xla_cuda_plugin.so"
    if known.exists():
        return known
    candidates = sorted((*folder.glob("*pjrt*.so"), *folder.glob("*plugin*.so")))
    return candidates[0] if candidates else None


def _platform_of(module: str) -> str:
    name = module.rpartition(".")[2]
    if "cuda" in name:
        return "cuda"
    return "rocm" if "rocm" in name else name.removeprefix("xla_")


def _from_libtpu() -> Iterator[Plugin]:
    explicit = os.environ.get("TPU_LIBRARY_PATH")
    folder = _folder_of("libtpu")
    library = pathlib.Path(explicit) if explicit else folder and folder / "libtpu.so"
    if library and library.exists():
        yield Plugin("tpu", library, 300)


def make_client(plugin: Plugin, distributed: dict[str, Any], options: Any) -> _jaxlib.Client:
    """Load a plugin's library and return its client.

    Args:
      plugin: from `find_plugins`.
      distributed: keyword arguments of a multi-process run (`distributed_client`, node ids).
      options: extra client options by name, or None.

    Raises:
      JaxRuntimeError: the library can't be opened, or there is no such device.
    """
    load(plugin)
    settings = dict(_jaxlib.generate_gpu_options()) if plugin.is_cuda else {}
    client = distributed.get("distributed_client")
    if client is not None:
        settings |= {"node_id": distributed["node_id"], "num_nodes": distributed["num_nodes"]}
    settings |= _visible_devices(plugin.platform) | _parse_options(options)
    return _jaxlib.make_c_api_client(plugin.platform, settings, client)


def _visible_devices(platform: str) -> dict[str, list[int]]:
    """Return the option that restricts a client to the devices of a flag."""
    flag = config.visible_devices.get(platform)
    if flag is None or flag.value == "all":
        return {}
    ids = [part.strip() for part in flag.value.split(",")]
    if not all(part.isdecimal() for part in ids):
        raise ValueError(
            f"jax_{platform}_visible_devices is {flag.value!r}, expected 'all' or ids split by "
            f"commas. Write '0,1' for the first two."
        )
    return {"visible_devices": [int(part) for part in ids]}


_c_apis: Final[dict[str, Any]] = {}


def load(plugin: Plugin) -> Any:
    """Load a plugin's library, once; return its interface.

    Raises:
      JaxRuntimeError: the library can't be opened.
    """
    if _jaxlib.plugin_is_loaded(plugin.platform):
        return _c_apis.get(plugin.platform)
    if plugin.is_cuda:
        _preload_nvidia()
    c_api = _jaxlib.load_plugin_library(plugin.platform, str(plugin.library))
    _c_apis[plugin.platform] = c_api
    _jaxlib.register_plugin_profiler(c_api)
    if plugin.is_cuda:
        _register_cuda_targets(c_api)
    if not _jaxlib.plugin_is_initialized(plugin.platform):
        _jaxlib.initialize_plugin(plugin.platform)
    return c_api


def _register_cuda_targets(c_api: Any) -> None:
    extension = _jaxlib.import_from_plugin("cuda", "cuda_plugin_extension")
    if extension is None:
        logger.warning("the CUDA plugin has no extension for this jaxlib: callbacks are missing")
        return
    register_type = functools.partial(extension.register_custom_type, c_api)
    register_target = functools.partial(extension.register_custom_call_target, c_api)
    _jaxlib.register_custom_type_handler("CUDA", register_type)
    _jaxlib.register_custom_call_handler("CUDA", register_target)
    for name, value in extension.ffi_types().items():
        _jaxlib.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        _jaxlib.register_custom_call_target(name, value, platform="CUDA", api_version=1)


def _preload_nvidia() -> None:
    """Open NVIDIA libraries that are installed as wheels, so that the plugin finds them."""
    for package, names in _NVIDIA_LIBRARIES.items():
        folder = _folder_of_namespace(package)
        for path in (folder / "lib" / name for name in names) if folder else ():
            if path.exists():
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _folder_of_namespace(package: str) -> pathlib.Path | None:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    locations = list((spec and spec.submodule_search_locations) or ())
    return pathlib.Path(locations[0]) if locations else None


def _parse_options(options: Any) -> dict[str, Any]:
    """Accept a dictionary, or the text form ``name:value;name:value``."""
    if not options:
        return {}
    if isinstance(options, dict):
        return dict(options)
    pairs = (entry.partition(":") for entry in str(options).split(";") if entry)
    return {name.strip(): _parse_value(value.strip()) for name, _, value in pairs}


def _parse_value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
