"""Join a multi-process job and leave it."""

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tans_core import config_module as config
from tans_fault import joining, settings
from tans_fault.coordination import EXIT_COORDINATOR_LOST, check_coordinator, state
from tans_fault.settings import Settings
from tans_xla import backend

__all__ = ["EXIT_COORDINATOR_LOST", "initialize", "is_initialized", "shutdown"]

_joining: Final = threading.Lock()


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int | None = None,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
    mtls_cert_file: str | None = None,
    mtls_key_file: str | None = None,
    mtls_ca_file: str | None = None,
    mtls_peer_uri_prefix: str | None = None,
    verify_secure_credentials: bool | None = None,
    *,
    start_service: bool | None = None,
    recoverable: bool | None = None,
    collective_timeout_seconds: int | None = None,
) -> None:
    """Join a job of several processes; call it first in the program.

    Returns when all processes have called it, or, in a recoverable job, at once when the process
    takes the place of one that ended. What is not given is taken from environment variables and
    from the cluster environment (this package's launcher, Cloud TPU, Slurm, Open MPI, Kubernetes).

    Args:
      coordinator_address: ``host:port`` of process 0, where the coordination service listens; the
        next port serves the roll call. ``JAX_COORDINATOR_ADDRESS``.
      num_processes: number of processes.
      process_id: index of this process, from 0.
      local_device_ids: which accelerators of the machine are this process's.
        ``JAX_LOCAL_DEVICE_IDS``.
      cluster_detection_method: name of the cluster environment; None takes the first that is
        found, "deactivate" none.
      initialization_timeout: seconds to wait for the coordinator and for all processes.
      heartbeat_timeout_seconds: seconds of silence after which a process counts as dead; by
        default 10 on CPU, else 100.
      shutdown_timeout_seconds: seconds that the end waits for other processes.
      coordinator_bind_address: where process 0 listens; by default all interfaces, or only the
        loopback interface if the address is on it.
      slice_index: older name of `partition_index`.
      partition_index: index of the group of devices with fast links.
      mtls_cert_file, mtls_key_file, mtls_ca_file: files for encrypted control connections.
      mtls_peer_uri_prefix: what the certificates of others must begin with.
      verify_secure_credentials: whether to check the files.
      start_service: whether this process runs the service; by default process 0 does. False for
        all when a coordinator of its own runs (``python -m tans_fault.coordinator``).
      recoverable: whether the job lives on when a process is lost; by default the flag
        ``jax_enable_recoverability``. The same on all processes.
      collective_timeout_seconds: how long a collective on CPU waits for another process; by
        default 20 in a recoverable job, otherwise without limit.

    Raises:
      ValueError: an argument is missing or out of range; another process has this id; the number
        of processes differs from the coordinator's.
      TypeError: a number is not an int.
      TimeoutError: no coordinator, or processes are missing; it names them.
      RuntimeError: called twice, by two threads at once, after the first use of a device, or with
        other versions or another program than the other processes.

    Example:
      >>> from tans_fault import distributed
      >>> distributed.is_initialized()
      False
    """
    with _one_at_a_time():
        _check_first()
        place = settings.complete(
            coordinator_address,
            num_processes,
            process_id,
            local_device_ids,
            cluster_detection_method,
        )
        host, port, count, process = settings.check(place)
        joined = Settings(
            host,
            port,
            settings.bind_address(coordinator_bind_address, host, port),
            count,
            process,
            _starts_service(start_service, process),
            settings.security(
                verify_secure_credentials,
                cert_file=mtls_cert_file,
                key_file=mtls_key_file,
                ca_file=mtls_ca_file,
                peer_uri_prefix=mtls_peer_uri_prefix,
            ),
        )
        number = settings.whole_number
        collective = settings.collective_seconds(collective_timeout_seconds)
        facts = {
            "recoverable": _is_recoverable(recoverable),
            "heartbeat_timeout": settings.heartbeat_seconds(heartbeat_timeout_seconds),
            "shutdown_timeout": number("shutdown_timeout_seconds", shutdown_timeout_seconds, 0),
            "initialization_timeout": number("initialization_timeout", initialization_timeout, 1),
            "partition_index": settings.partition_index(slice_index, partition_index),
        }
        settings.warn_of_proxies()
        settings.set_visible_devices(place.local_device_ids)
        for name, value in facts.items():
            setattr(state, name, value)
        if state.recoverable or collective is not None:
            settings.set_collective_timeout(collective)
        try:
            joining.join(joined)
        except BaseException:
            _abandon()
            raise
        atexit.register(_leave_at_exit)
        sys.excepthook = _note_failure(sys.excepthook)


def is_initialized() -> bool:
    """Return whether this process has joined a job."""
    return state.client is not None


def shutdown() -> None:
    """Leave the job; nothing happens when the process is not in one.

    If no process can be lost, it waits for all to leave. The process that runs the coordination
    service waits until the others have left, at most ``shutdown_timeout_seconds``.
    """
    if state.client is None:
        return
    if state.preemption_sync_manager is not None:
        state.preemption_sync_manager.shutdown()
    state.client.shutdown()
    if state.answer is not None:
        state.answer.close()
    if state.service is not None:
        if state.roll is not None:
            state.roll.wait_empty(state.shutdown_timeout)
        state.service.shutdown()
    if state.roll is not None:
        state.roll.close()
    state.reset()
    if not backend.is_started():
        backend.set_distributed()
    atexit.unregister(_leave_at_exit)


def _check_first() -> None:
    if state.client is not None:
        raise RuntimeError(
            "distributed.initialize: called a second time, expected one call. Call "
            "distributed.shutdown() first to join another job."
        )
    if backend.is_started():
        raise RuntimeError(
            "distributed.initialize: called after the first use of a device; expected the call "
            "before any array is made. Move it to the start of the program."
        )


def _starts_service(given: bool | None, process: int) -> bool:
    if settings.truth("start_service", given) is None:
        return process == 0 and os.environ.get("TANS_LAUNCH_STANDALONE") != "1"
    return bool(given) and process == 0


def _is_recoverable(given: bool | None) -> bool:
    if settings.truth("recoverable", given) is None:
        return bool(config.find_flag("jax_enable_recoverability").value)
    return bool(given)


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Refuse a thread while another one joins: a failure of either would end what both set up."""
    if not _joining.acquire(blocking=False):
        raise RuntimeError(
            "distributed.initialize: given a second call while another thread joins the job; "
            "expected one call in a process. Call it from one thread before the others start."
        )
    try:
        yield
    finally:
        _joining.release()


def _abandon() -> None:
    for part in (state.answer, state.roll):
        if part is not None:
            part.close()
    if state.service is not None:
        state.service.shutdown()
    state.reset()


def _leave_at_exit() -> None:
    """Leave when the program ends, but not when it ends by an error: others may hang then."""
    if not _failed[0]:
        shutdown()


_failed: Final = [False]


def _note_failure(previous: Callable[..., Any]) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        _failed[0] = True
        check_coordinator()  # its loss explains the error
        return previous(*args)

    return hook
