"""Clients and their devices: which backends exist, when they start, and how one is dropped.

No client is made at import; the first question about devices makes them. Each drop raises the
*generation*; what belongs to a client is kept in caches that are registered as such in core.
"""

import dataclasses
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from tans_core import cache, config
from tans_core.trace import eval_trace
from tans_xla import device_shardings as device_shardings  # attaches what needs devices
from tans_xla import plugins, startup
from tans_xla._jaxlib import Client, Device, JaxRuntimeError, PjitFunctionCache, make_cpu_client
from tans_xla.compile import slots

logger: Final = logging.getLogger("tans.backend")

_GPU_NAMES: Final = ("cuda", "rocm")
_ALIASES: Final = {"gpu": _GPU_NAMES}
type MakeCpu = Callable[[Callable[..., Client]], Client]


def _alone(make: Callable[..., Client]) -> Client:
    return make()


@dataclasses.dataclass(slots=True)
class _Backends:
    """The clients of this process; guarded by `_lock`."""

    clients: dict[str, Client] | None = None
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    generation: int = 0
    distributed: dict[str, Any] = dataclasses.field(default_factory=dict)
    make_cpu: MakeCpu = _alone


_lock: Final = threading.RLock()
_backends: Final = _Backends()


def clients() -> dict[str, Client]:
    """Return all clients by platform, the default first; makes them at the first call.

    Raises:
      RuntimeError: a platform that was asked for by name can't start, or none can.
    """
    made = _backends.clients
    if made is not None:
        return made
    with _lock:
        if _backends.clients is None:
            made, _backends.errors = _make_clients()
            # Handed out only now: C++ must know our array type before anyone reads a piece.
            startup.prepare(next(iter(made.values())))
            _backends.clients = made
        return _backends.clients


def is_started() -> bool:
    """Whether a client has been made (and not dropped)."""
    return _backends.clients is not None


def generation() -> int:
    """Return how often backends were dropped: part of any key that holds device ids."""
    return _backends.generation


def _make_clients() -> tuple[dict[str, Client], dict[str, str]]:
    if slots.check_environment is not None:
        slots.check_environment(False)
    asked = config.platforms.value
    if asked:
        return _make_asked([name.strip() for name in asked.split(",") if name.strip()])
    made: dict[str, Client] = {}
    errors: dict[str, str] = {}
    found = plugins.find_plugins()
    for plugin in sorted(found.values(), key=lambda p: -p.priority):
        try:
            made[plugin.platform] = _make_plugin_client(plugin)
        except (JaxRuntimeError, RuntimeError, OSError) as error:
            # An installed plugin without its device is common (one image for all machines).
            errors[plugin.platform] = str(error)
            logger.info("backend %s did not start: %s", plugin.platform, error)
    made["cpu"] = _make_cpu()
    return made, errors


def _make_asked(names: list[str]) -> tuple[dict[str, Client], dict[str, str]]:
    made: dict[str, Client] = {}
    found = {} if names == ["cpu"] else plugins.find_plugins()
    for name in names:
        platform = next((p for p in _ALIASES.get(name, (name,)) if p in found), name)
        if platform == "cpu":
            made[platform] = _make_cpu()
        elif platform in found:
            try:
                made[platform] = _make_plugin_client(found[platform])
            except (JaxRuntimeError, RuntimeError, OSError) as error:
                reason = str(error).rstrip(".")
                raise RuntimeError(
                    f"platform {name!r} was asked for with jax_platforms, but its backend did not "
                    f"start: {reason}. Check the device, or leave the name out of jax_platforms."
                ) from error
        else:
            raise RuntimeError(
                f"platform {name!r} was asked for with jax_platforms, but no plugin for it is "
                f"installed; found: {', '.join(['cpu', *found])}. Install its plugin, or name its "
                f"library in {plugins.PATHS_VARIABLE}."
            )
    return made, {}


def _make_plugin_client(plugin: plugins.Plugin) -> Client:
    options = config.pjrt_client_create_options.value
    return plugins.make_client(plugin, _backends.distributed, options)


def _make_cpu() -> Client:
    count = config.num_cpu_devices.value
    if count == 0:
        raise ValueError(
            "config jax_num_cpu_devices: given 0, expected at least 1, or -1 for the count in "
            "XLA_FLAGS. Leave the flag out for one device."
        )
    make = functools.partial(
        make_cpu_client,
        asynchronous=config.cpu_enable_async_dispatch.value,
        num_devices=None if count < 0 else count,
        **_backends.distributed,
    )
    return _backends.make_cpu(make)


def set_distributed(*, make_cpu: MakeCpu = _alone, **options: Any) -> None:
    """Set what clients need in a multi-process run (`distributed_client`, `node_id`, ...).

    Args:
      make_cpu: makes each CPU client, by calling what it is given, with further options of that
        client such as its own `collectives`; by default without any.
      options: options of every client.

    Raises:
      RuntimeError: a client exists already.
    """
    _refuse_if_started("a multi-process run is set up")
    _backends.distributed = options
    _backends.make_cpu = make_cpu


def _refuse_if_started(what: str) -> None:
    if is_started():
        raise RuntimeError(
            f"{what} while the backend is running; it must be done before the first array or "
            "device is used. Move it to the start of the program."
        )


def _refuse_new_count(value: Any) -> None:
    if value != config.num_cpu_devices.value:
        _refuse_if_started(f"jax_num_cpu_devices is set to {value}")


def _refuse_new_platforms(value: Any) -> None:
    if value != config.platforms.value:
        _refuse_if_started(f"jax_platforms is set to {value!r}")


config.num_cpu_devices.global_hooks.append(_refuse_new_count)
config.platforms.global_hooks.append(_refuse_new_platforms)


def get_client(platform: str | Client | None = None) -> Client:
    """Return the client of a platform; the default client for None.

    Args:
      platform: "cpu", "gpu", "cuda", "tpu", ... or a client, which is returned.

    Raises:
      RuntimeError: the platform has no client.
    """
    if isinstance(platform, Client):
        return platform
    known = clients()
    if platform is None:
        name = config.platform_name.value
        return get_client(name) if name else next(iter(known.values()))
    for name in _ALIASES.get(platform, (platform,)):
        if name in known:
            return known[name]
    reasons = [f"{name} did not start: {text}" for name, text in _backends.errors.items()]
    raise RuntimeError(
        f"unknown backend {platform!r}, expected one of {', '.join(known)}. "
        + (" ".join(reasons) or "Install the plugin of that platform.")
    )


def drop_backend() -> None:
    """Forget all clients and everything that refers to one; the next use makes new ones.

    Types, jaxprs and abstract meshes survive. Arrays that are still referenced keep their old
    client alive and can't be mixed with new ones.
    """
    with _lock:
        cache.drop_backend()
        eval_trace.clear()
        PjitFunctionCache.clear_all()
        _backends.clients = None
        _backends.errors = {}
        _backends.generation += 1


def is_lost(device: Device) -> bool:
    """Whether a device belongs to a client that was dropped."""
    if _backends.generation == 0:
        return False
    return all(device.client is not client for client in (_backends.clients or {}).values())


def devices(backend: str | Client | None = None) -> list[Device]:
    """Return all devices of a backend, those of other processes included.

    Args:
      backend: platform name or client; None means the default backend.

    Example:
      >>> devices("cpu")[0]
      CpuDevice(id=0)
    """
    return list(get_client(backend).devices())


def local_devices(
    process_index: int | None = None, backend: str | Client | None = None
) -> list[Device]:
    """Return the devices of one process; None means this one."""
    client = get_client(backend)
    if process_index is None:
        return list(client.local_devices())
    if not 0 <= process_index < process_count(client):
        raise ValueError(
            f"local_devices: process_index={process_index}, expected 0 to "
            f"{process_count(client) - 1}. Ask process_count() for the number of processes."
        )
    return [d for d in client.devices() if d.process_index == process_index]


def device_count(backend: str | Client | None = None) -> int:
    """Return the number of devices over all processes."""
    return int(get_client(backend).device_count())


def local_device_count(backend: str | Client | None = None) -> int:
    """Return the number of devices of this process."""
    return len(get_client(backend).local_devices())


def process_index(backend: str | Client | None = None) -> int:
    """Return the index of this process."""
    return get_client(backend).process_index()


def process_count(backend: str | Client | None = None) -> int:
    """Return the number of processes."""
    return max((d.process_index for d in get_client(backend).devices()), default=0) + 1


def process_indices(backend: str | Client | None = None) -> list[int]:
    """Return the indices of all processes."""
    return list(range(process_count(backend)))


def default_backend() -> str:
    """Return the platform name of the default backend: "cpu", "gpu" or "tpu"."""
    return platform_name(get_client())


def platform_name(client: Client) -> str:
    """Return the name users know: "gpu" for every kind of GPU."""
    return "gpu" if client.platform in _GPU_NAMES else client.platform


def default_device() -> Device:
    """Return the device for new arrays: the one of `default_device`, else the first local one."""
    chosen = config.default_device.value
    if chosen is None:
        return get_client().local_devices()[0]
    return get_client(chosen).local_devices()[0] if isinstance(chosen, str) else chosen
