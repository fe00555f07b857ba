"""Transfer guards: let a program forbid, or log, copies between host and devices.

The flags are set like all others (`config.update`, or as context managers); hooks copy them into
the C++ guard, which does the checking. Explicit transfers announce themselves with `explicit_put`
and `explicit_get`.
"""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from tans_core import config
from tans_core.flags import Flag
from tans_xla._jaxlib import guard_lib

_LEVELS: Final = {
    None: None,
    "allow": guard_lib.TransferGuardLevel.ALLOW,
    "log": guard_lib.TransferGuardLevel.LOG,
    "disallow": guard_lib.TransferGuardLevel.DISALLOW,
    "log_explicit": guard_lib.TransferGuardLevel.LOG_EXPLICIT,
    "disallow_explicit": guard_lib.TransferGuardLevel.DISALLOW_EXPLICIT,
}
_COLLECTION_LEVELS: Final = {
    None: None,
    "allow": guard_lib.GarbageCollectionGuardLevel.ALLOW,
    "log": guard_lib.GarbageCollectionGuardLevel.LOG,
    "fatal": guard_lib.GarbageCollectionGuardLevel.FATAL,
}
_DIRECTIONS: Final = ("host_to_device", "device_to_device", "device_to_host")
# Whether any guard was ever set: until then transfers skip the announcement.
_used: Final = {"guards": False}


def _setter(
    state: Callable[[], Any], fields: tuple[str, ...], levels: dict[Any, Any]
) -> Callable[[Any], None]:
    def hook(value: str | None) -> None:
        _used["guards"] = True
        for field in fields:
            setattr(state(), field, levels[value])

    return hook


def _connect(flag: Flag, fields: tuple[str, ...], levels: dict[Any, Any]) -> None:
    flag.global_hooks.append(_setter(guard_lib.global_state, fields, levels))
    flag.thread_hooks.append(_setter(guard_lib.thread_local_state, fields, levels))
    if flag.value is not None:
        _setter(guard_lib.global_state, fields, levels)(flag.value)


transfer_guard: Final = config.all_transfer_guard
transfer_guard_host_to_device: Final = config.transfer_guard_host_to_device
transfer_guard_device_to_device: Final = config.transfer_guard_device_to_device
transfer_guard_device_to_host: Final = config.transfer_guard_device_to_host

_connect(transfer_guard, _DIRECTIONS, _LEVELS)
_connect(transfer_guard_host_to_device, ("host_to_device",), _LEVELS)
_connect(transfer_guard_device_to_device, ("device_to_device",), _LEVELS)
_connect(transfer_guard_device_to_host, ("device_to_host",), _LEVELS)
_connect(config.array_garbage_collection_guard, ("garbage_collect_array",), _COLLECTION_LEVELS)


def are_used() -> bool:
    """Whether a guard was ever set, so that transfers have to announce themselves."""
    return _used["guards"]


class _Announcement:
    """Context manager that marks the transfers inside as asked for by the user."""

    __slots__ = ("_field", "_previous")

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        state = guard_lib.thread_local_state()
        self._previous = getattr(state, self._field)
        setattr(state, self._field, True)

    def __exit__(self, *_: object) -> None:
        setattr(guard_lib.thread_local_state(), self._field, self._previous)


def explicit_put() -> contextlib.AbstractContextManager[None]:
    """Mark transfers to a device as explicit for the length of the block."""
    return _Announcement("explicit_device_put") if _used["guards"] else contextlib.nullcontext()


def explicit_get() -> contextlib.AbstractContextManager[None]:
    """Mark transfers to the host as explicit for the length of the block."""
    return _Announcement("explicit_device_get") if _used["guards"] else contextlib.nullcontext()
