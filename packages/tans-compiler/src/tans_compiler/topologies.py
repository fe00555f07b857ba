"""Hardware that is not here: topologies of TPUs and GPUs, to compile for.

Devices of a topology can be put into a mesh and into shardings, and programs be lowered and
compiled for them with the plugin of the platform (libtpu, or the CUDA plugin with ptxas and
libdevice). Nothing runs on them.
"""

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_compiler import _jaxlib
from tans_core.mesh import Mesh
from tans_core.spelling import did_you_mean
from tans_xla import devices, plugins

__all__ = ["GPUS", "TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]

# What a TPU library needs to start where there is no TPU: it would ask a metadata server for
# minutes, and a second process could not load it.
_TPU_ENVIRONMENT: Final = {
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
}


def _hopper(name: str, memory: int, bandwidth: int) -> str:
    """Return the description of a GPU of compute capability 9.0, from its data sheet."""
    return f"""
gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 232448
  shared_memory_per_core: 233472 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth} l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: {memory} registers_per_core_limit: 65536 registers_per_block_limit: 65536
  cuda_compute_capability {{ major: 9 minor: 0 }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
device_description_str: "{name}"
"""


# Descriptions of GPUs to compile for, by the name that `get_topology_desc` takes.
GPUS: Final = {
    "h100": _hopper("NVIDIA H100", 84942979072, 3352320000000),
    "h200": _hopper("NVIDIA H200", 151397597184, 4800000000000),
}


class TopologyDescription:
    """Devices that may be absent.

    Attributes:
      devices: a list of them.
    """

    def __init__(self, devices: list[Any], topology: Any = None, platform: str = "") -> None:
        self.devices = devices
        self._topology = topology
        self._platform = platform

    def __repr__(self) -> str:
        return f"TopologyDescription({self.devices})"

    def serialize(self) -> bytes:
        """Return the topology as bytes, for `deserialize` in a process with the same plugin."""
        return self._platform.encode() + b"\0" + self._topology.serialize()

    @classmethod
    def deserialize(cls, serialized: bytes) -> "TopologyDescription":
        """Return the topology that `serialize` wrote.

        Raises:
          RuntimeError: the plugin is missing.
        """
        platform, _, data = serialized.partition(b"\0")
        name = platform.decode()
        _load(name)
        topology = _jaxlib.read_topology(data)
        return cls(topology._make_compile_only_devices(), topology, name)


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """Return devices of a platform that need not be here.

    Args:
      topology_name: for TPUs such as ``v5e:2x2``; for CUDA ``h100`` or ``h200``, or nothing, with
        ``target_config``.
      platform: ``tpu`` (the default) or ``cuda``.
      **kwargs: options of the plugin. For CUDA: ``target_config``, the text of a GPU's
        description, and ``topology``, ``"<partitions>x<hosts>x<devices per host>"``, which is
        ``1x1x1`` for a GPU given by name.

    Raises:
      NotImplementedError: the platform has no topologies.
      ImportError: its plugin is not installed.
      ValueError: there is no GPU of that name.
      JaxRuntimeError: the plugin refuses the name or an option.

    Example:
      Needs libtpu::

        topo = get_topology_desc("v5e:2x2")
        mesh = make_mesh(topo, (2, 2), ("x", "y"))
    """
    name = "tpu" if platform is None else platform
    name = "cuda" if name in ("gpu", "CUDA") else name
    if name == "tpu":
        _load(name)
        topology = _jaxlib.tpu_topology(topology_name, kwargs)
    elif name == "cuda":
        if topology_name:
            kwargs = {"topology": "1x1x1", "target_config": _gpu(topology_name), **kwargs}
        topology = _jaxlib.plugin_topology(_load(name), "", kwargs)
    else:
        raise NotImplementedError(
            f"get_topology_desc: given platform={platform!r}, expected 'tpu' or 'cuda', for which "
            "programs can be compiled without the hardware. Lower for other platforms with "
            "jit(f).trace(...).lower(lowering_platforms=...)."
        )
    return TopologyDescription(topology._make_compile_only_devices(), topology, name)


def _gpu(name: str) -> str:
    if name not in GPUS:
        raise ValueError(
            f"get_topology_desc: given the GPU {name!r}{did_you_mean(name, GPUS)}, expected one of "
            f"{', '.join(GPUS)}. Describe others with target_config=."
        )
    return GPUS[name]


_PACKAGES: Final = {
    "tpu": "libtpu",
    "cuda": "jax-cuda13-pjrt jax-cuda13-plugin nvidia-cuda-nvcc nvidia-nvvm",
}


def _load(platform: str) -> Any:
    """Load the plugin of a platform; return its interface."""
    plugin = plugins.find_plugins().get(platform)
    if plugin is None:
        raise ImportError(
            f"get_topology_desc: given the platform {platform}, whose plugin is not installed; "
            "expected its packages, which compile without the hardware. Write: "
            f"pip install --no-deps {_PACKAGES.get(platform, platform)}"
        )
    if platform == "tpu":
        for name, value in _TPU_ENVIRONMENT.items():
            os.environ.setdefault(name, value)
    return plugins.load(plugin)


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Return the topology of the devices that are here."""
    found = list(devices(platform))
    topology = _jaxlib.attached_topology(found)
    return TopologyDescription(found, topology, found[0].platform)


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Return a mesh over all devices of a topology, with Auto axes.

    Args:
      topo: the topology.
      mesh_shape: size of each axis.
      axis_names: their names.
      contiguous_submeshes: no effect: devices are taken in order.

    Raises:
      ValueError: the sizes do not multiply to the number of devices.
    """
    del contiguous_submeshes
    count = int(np.prod(mesh_shape))
    if count != len(topo.devices):
        raise ValueError(
            f"make_mesh: given mesh_shape={tuple(mesh_shape)} for {count} devices, expected "
            f"{len(topo.devices)}, as many as the topology has."
        )
    return Mesh(np.array(topo.devices, object).reshape(tuple(mesh_shape)), axis_names)
