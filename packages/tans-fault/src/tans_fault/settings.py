"""The arguments of `distributed.initialize`, completed from the environment and checked."""

import dataclasses
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from operator import index
from pathlib import Path
from typing import Any

from tans_core import config_module as config
from tans_fault import clusters
from tans_xla import plugins

COLLECTIVE_FLAG = "--xla_cpu_collective_timeout_seconds"
DEFAULT_COLLECTIVE_SECONDS = 20
_MTLS = ("cert_file", "key_file", "ca_file", "peer_uri_prefix")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What a process needs to join a job.

    Attributes:
      host, port: where the coordination service is; the host without brackets.
      bind_address: ``host:port`` that process 0 listens on.
      num_processes, process_id: the size of the job, and the index in it.
      start_service: whether this process runs the service.
      security: keyword arguments about encryption.
    """

    host: str
    port: int
    bind_address: str
    num_processes: int
    process_id: int
    start_service: bool
    security: dict[str, Any]

    @property
    def address(self) -> str:
        """The service's ``host:port``, an IPv6 address in brackets."""
        return join_address(self.host, self.port)


def environment(name: str) -> str | None:
    """Return the variable ``TANS_<name>``, or else ``JAX_<name>``."""
    return os.environ.get(f"TANS_{name}", os.environ.get(f"JAX_{name}"))


def environment_number(name: str, lowest: int) -> int | None:
    """Return the whole number in ``TANS_<name>`` or ``JAX_<name>``; None where it is not set.

    Raises:
      ValueError: it holds something else.
    """
    text = environment(name)
    return clusters.number(f"TANS_{name} or JAX_{name}", text, lowest) if text else None


def whole_number(name: str, value: Any, lowest: int, where: str = "distributed.initialize") -> int:
    """Return an argument that must be a whole number of at least `lowest`.

    Raises:
      TypeError: it is no int.
      ValueError: it is too small.
    """
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(
            f"{where}: {name}={value!r} is a {type(value).__name__}, expected an int. Write "
            f"int({name})."
        )
    if number < lowest:
        raise ValueError(
            f"{where}: {name}={number}, expected at least {lowest}. Give {lowest} or more."
        )
    return number


def truth(name: str, value: Any) -> bool | None:
    """Return an argument that must be a bool or None.

    Raises:
      TypeError: it is something else.
    """
    if value is None or isinstance(value, bool):
        return value
    raise TypeError(
        f"distributed.initialize: {name}={value!r} is a {type(value).__name__}, expected True, "
        f"False or None. Write bool({name})."
    )


def host_and_port(name: str, text: Any) -> tuple[str, int]:
    """Return the host, without brackets, and the port of an address.

    Raises:
      ValueError: it is no ``host:port``, or the port is out of range.
    """
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    is_clear = ":" not in host or (host[0] == "[" and host[-1] == "]")
    if not host or host != host.strip() or not is_clear or not port.isdecimal():
        port = "0"
    if not 0 < int(port) < 65535:
        raise ValueError(
            f"distributed.initialize: {name}={text!r}, expected 'host:port' with a port from 1 to "
            "65534, such as '10.0.0.1:8476' or '[fd00::1]:8476'. Give the address of process 0."
        )
    return host.strip("[]"), int(port)


def join_address(host: str, port: int) -> str:
    """Return ``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def complete(
    address: str | None,
    num_processes: int | None,
    process_id: int | None,
    local_device_ids: int | Sequence[int] | None,
    method: str | None,
) -> clusters.Place:
    """Return the place of this process from arguments, environment variables and cluster."""
    ids = _local_device_ids(local_device_ids)
    given = clusters.Place(
        address or environment("COORDINATOR_ADDRESS"), num_processes, process_id, ids
    )
    if None in (given.coordinator_address, num_processes, process_id) or method is not None:
        found = clusters.detect(method)
        port = environment_number("COORDINATOR_PORT", 1)
        if port is not None and found.coordinator_address is not None:
            host = found.coordinator_address.rpartition(":")[0]
            found = dataclasses.replace(found, coordinator_address=f"{host}:{port}")
        if found.num_processes == 1 and ids is None:
            found = dataclasses.replace(found, local_device_ids=None)
        given = clusters.merge(given, found)
    return given


def _local_device_ids(given: Any) -> tuple[int, ...] | None:
    if given is None and (text := environment("LOCAL_DEVICE_IDS")):
        name = "TANS_LOCAL_DEVICE_IDS or JAX_LOCAL_DEVICE_IDS"
        given = [clusters.number(name, part, 0) for part in text.split(",")]
    if given is None:
        return None
    parts = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    ids = tuple(whole_number("local_device_ids", part, 0) for part in parts)
    if not ids or len(set(ids)) < len(ids):
        raise ValueError(
            f"distributed.initialize: local_device_ids={given!r}, expected one or more different "
            "ids. Leave it out to use all devices of the machine."
        )
    return ids


def check(place: clusters.Place) -> tuple[str, int, int, int]:
    """Return host, port, number of processes and index of this one.

    Raises:
      ValueError: one of them is missing, malformed or out of range.
      TypeError: a number is not an int.
    """
    address, count, process = place.coordinator_address, place.num_processes, place.process_id
    for name, value, what in (
        ("coordinator_address", address, "the address of process 0, such as '10.0.0.1:8476'"),
        ("num_processes", count, "the number of processes"),
        ("process_id", process, "the index of this process"),
    ):
        if value is None:
            raise ValueError(
                f"distributed.initialize: {name} was not given and no cluster environment says "
                f"it; expected {what}. Pass {name}=..., or start the program with "
                "python -m tans_fault.launch."
            )
    count, process = whole_number("num_processes", count, 1), whole_number("process_id", process, 0)
    if process >= count:
        raise ValueError(
            f"distributed.initialize: process_id={process} with num_processes={count}, expected "
            "an id from 0 to num_processes - 1. Ids count from 0."
        )
    return *host_and_port("coordinator_address", address), count, process


def bind_address(given: str | None, host: str, port: int) -> str:
    """Return where process 0 listens: the loopback interface only if the address is on it."""
    given = given or environment("COORDINATOR_BIND_ADDRESS")
    if given is not None:
        return join_address(*host_and_port("coordinator_bind_address", given))
    return join_address(host if is_loopback(host) else "::", port)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's loopback interface."""
    return host in ("localhost", "::1") or host.startswith("127.")


def security(verify: bool | None = None, **given: str | None) -> dict[str, Any]:
    """Return keyword arguments about encryption, from arguments or flags."""
    found = {
        f"mtls_{name}": given.get(name) or config.find_flag(f"jax_mtls_{name}").value
        for name in _MTLS
    }
    files = [name for name in _MTLS[:3] if found[f"mtls_{name}"]]
    if 0 < len(files) < 3:
        missing = sorted(set(_MTLS[:3]) - set(files))
        raise ValueError(
            f"distributed.initialize: given mtls_{files[0]} but not "
            f"{' and '.join('mtls_' + m for m in missing)}; expected all three files or none. "
            "Give the certificate, its key and the authority."
        )
    for name in _MTLS[: 3 if files else 0]:
        path = found[f"mtls_{name}"]
        if not isinstance(path, str) or not os.path.isfile(path):
            raise ValueError(
                f"distributed.initialize: mtls_{name}={path!r}, expected the path of a file. "
                "Correct the path, or leave all three out."
            )
    prefix = found["mtls_peer_uri_prefix"]
    if prefix and not (isinstance(prefix, str) and prefix.endswith("/")):
        raise ValueError(
            f"distributed.initialize: mtls_peer_uri_prefix={prefix!r}, expected text that ends "
            "with '/': others might begin with it too. Write 'spiffe://example.org/'."
        )
    if truth("verify_secure_credentials", verify) is None:
        verify = config.find_flag("jax_distributed_verify_secure_credentials").value
    found = {name: value for name, value in found.items() if value}
    return {**found, "verify_secure_credentials": verify} if found else {}


def heartbeat_seconds(given: int | None) -> int:
    """Return the heartbeat timeout: 10 s where only CPUs are used, else 100 s."""
    if given is not None:
        return whole_number("heartbeat_timeout_seconds", given, 1)
    return environment_number("HEARTBEAT_TIMEOUT_SECONDS", 1) or (10 if only_cpu() else 100)


def collective_seconds(given: int | None) -> int | None:
    """Return the bound of CPU collectives; None where neither argument nor variable says it."""
    if given is not None:
        return whole_number("collective_timeout_seconds", given, 1)
    return environment_number("COLLECTIVE_TIMEOUT_SECONDS", 1)


def partition_index(slice_index: int | None, given: int | None) -> int | None:
    """Return the index of the group of devices, from either argument or a variable."""
    if slice_index is not None and given is not None:
        raise ValueError(
            f"distributed.initialize: given slice_index={slice_index} and "
            f"partition_index={given}, expected one of them: they mean the same. "
            "Leave slice_index out."
        )
    for name, value in (("slice_index", slice_index), ("partition_index", given)):
        if value is not None:
            return whole_number(name, value, 0)
    number = environment_number("PARTITION_INDEX", 0)
    return environment_number("SLICE_INDEX", 0) if number is None else number


def only_cpu() -> bool:
    """Whether the CPU is the only backend that will be started."""
    asked = config.platforms.value
    return asked == "cpu" if asked else not plugins.find_plugins()


def set_collective_timeout(seconds: int | None) -> None:
    """Bound the wait of CPU collectives, which XLA reads from XLA_FLAGS at the first client."""
    flags = os.environ.get("XLA_FLAGS", "")
    if seconds is None and COLLECTIVE_FLAG in flags:
        return
    kept = [flag for flag in flags.split() if not flag.startswith(COLLECTIVE_FLAG)]
    seconds = DEFAULT_COLLECTIVE_SECONDS if seconds is None else seconds
    os.environ["XLA_FLAGS"] = " ".join([*kept, f"{COLLECTIVE_FLAG}={seconds}"])


def collective_bound() -> int:
    """Return how many seconds a CPU collective waits; 0 where it is without limit."""
    flags = os.environ.get("XLA_FLAGS", "")
    return max((int(n) for n in re.findall(rf"{COLLECTIVE_FLAG}=(\d+)", flags)), default=0)


def set_visible_devices(ids: tuple[int, ...] | None) -> None:
    """Restrict accelerators to those of this process; the CPU ignores it."""
    if ids is None:
        return
    for flag in config.visible_devices.values():
        flag.update(",".join(map(str, ids)))


def warn_of_proxies() -> None:
    """Warn if a proxy is set, through which the connection to the service might go."""
    if not config.find_flag("jax_check_proxy_envs").value:
        return
    names = sorted(
        n for n in os.environ if n.lower().endswith("_proxy") and n.lower() != "no_proxy"
    )
    if names:
        warnings.warn(
            f"distributed.initialize: the environment has {', '.join(names)}, and a proxy may "
            "hold up the connection to the coordinator; expected none. Unset them, or set "
            "jax_check_proxy_envs to False.",
            UserWarning,
            stacklevel=3,
        )


def must_be_same(*, recoverable: bool, encrypted: bool) -> dict[str, str | bool | None]:
    """Return what has to be equal on all processes: versions, the main program, how they join."""
    return {
        "recoverable": recoverable,
        "encrypted connections": encrypted,
        "jaxlib": version("jaxlib"),
        "tans-fault": version("tans-fault"),
        "program": os.environ.get("TANS_PROGRAM_DIGEST", _digest_of_main()),
    }


def _digest_of_main() -> str | None:
    path = Path(getattr(sys.modules.get("__main__"), "__file__", None) or "")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None
