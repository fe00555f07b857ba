"""Join a multi-process job and leave it."""

import atexit
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import config_module as config
from tans_fault import _jaxlib, epochs, roll_call, settings
from tans_fault.coordination import CoordinationClient, state
from tans_fault.settings import Settings
from tans_xla import backend

__all__ = ["EXIT_COORDINATOR_LOST", "initialize", "is_initialized", "shutdown"]

EXIT_COORDINATOR_LOST: Final = 75
"""Exit status of a process whose coordinator is gone; a supervisor may start the job anew."""


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
      RuntimeError: called twice, after the first use of a device, or with other versions or
        another program than the other processes.

    Example:
      >>> from tans_fault import distributed
      >>> distributed.is_initialized()
      False
    """
    _check_first()
    place = settings.complete(
        coordinator_address, num_processes, process_id, local_device_ids, cluster_detection_method
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
    state.recoverable = _is_recoverable(recoverable)
    state.heartbeat_timeout = settings.heartbeat_seconds(heartbeat_timeout_seconds)
    state.shutdown_timeout = shutdown_timeout_seconds
    state.partition_index = _partition_index(slice_index, partition_index)
    settings.warn_of_proxies()
    settings.set_visible_devices(place.local_device_ids)
    if state.recoverable or collective_timeout_seconds is not None:
        settings.set_collective_timeout(collective_timeout_seconds)
    try:
        _join(joined, initialization_timeout)
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
    if given is None:
        return process == 0 and os.environ.get("TANS_LAUNCH_STANDALONE") != "1"
    return given and process == 0


def _is_recoverable(given: bool | None) -> bool:
    return config.find_flag("jax_enable_recoverability").value if given is None else given


def _partition_index(slice_index: int | None, partition_index: int | None) -> int | None:
    if slice_index is not None and partition_index is not None:
        raise ValueError(
            f"distributed.initialize: given slice_index={slice_index} and "
            f"partition_index={partition_index}, expected one of them: they mean the same. "
            "Leave slice_index out."
        )
    text = settings.environment("PARTITION_INDEX") or settings.environment("SLICE_INDEX")
    given = partition_index if slice_index is None else slice_index
    return int(text) if given is None and text else given


def _join(joined: Settings, seconds: int) -> None:
    end = time.monotonic() + seconds
    if joined.start_service:
        _start_service(joined, seconds)
    _answer_roll_call(joined, seconds)
    raw = _jaxlib.make_client(
        f"{joined.host}:{joined.port}",
        joined.process_id,
        init_timeout=max(int(end - time.monotonic()), 1) + 5,
        shutdown_timeout=state.shutdown_timeout,
        heartbeat_timeout=state.heartbeat_timeout,
        shutdown_on_destruction=False,
        use_compression=True,
        **joined.security,
    )
    client = CoordinationClient(raw)
    client.connect()
    if config.find_flag("jax_enable_preemption_service").value:
        state.preemption_sync_manager = _jaxlib.make_preemption_manager()
        state.preemption_sync_manager.initialize(client.raw)
    state.process_id, state.num_processes = joined.process_id, joined.num_processes
    state.coordinator_address = f"{joined.host}:{joined.port}"
    backend.set_distributed(
        cpu_options=epochs.cpu_options,
        distributed_client=client.raw,
        node_id=joined.process_id,
        num_nodes=joined.num_processes,
    )
    state.client = client
    if state.answer is not None:
        state.answer.watch(_coordinator_lost)


def _start_service(joined: Settings, seconds: int) -> None:
    state.roll, state.service = start_coordinator(
        joined.bind_address,
        joined.num_processes,
        heartbeat_timeout=state.heartbeat_timeout,
        register_timeout=seconds,
        shutdown_timeout=state.shutdown_timeout,
        recoverable=state.recoverable,
        security=joined.security,
    )


def start_coordinator(
    address: str,
    num_processes: int,
    *,
    heartbeat_timeout: int,
    register_timeout: int,
    shutdown_timeout: int,
    recoverable: bool,
    security: dict[str, Any],
) -> tuple[roll_call.Server, Any]:
    """Start the roll call, then the coordination service; return both.

    Raises:
      RuntimeError: a port is taken.
    """
    host, _, port = address.rpartition(":")
    try:
        roll = roll_call.Server(
            host.strip("[]"), int(port) + 1, num_processes, may_rejoin=recoverable
        )
    except OSError as error:
        raise _port_taken(int(port) + 1, "the roll call", error) from None
    try:
        service = _jaxlib.make_service(
            address,
            num_processes,
            heartbeat_timeout=heartbeat_timeout,
            cluster_register_timeout=register_timeout,
            shutdown_timeout=shutdown_timeout,
            recoverable=recoverable,
            **security,
        )
    except RuntimeError as error:
        roll.close()
        raise _port_taken(int(port), "the coordination service", error) from None
    return roll, service


def _port_taken(port: int, what: str, error: Exception) -> RuntimeError:
    return RuntimeError(
        f"distributed: {what} could not listen on port {port} ({error}); expected a free port and "
        "its successor. Choose another port for coordinator_address."
    )


def _answer_roll_call(joined: Settings, seconds: int) -> None:
    end = time.monotonic() + seconds
    host, port = joined.host, joined.port
    probe = roll_call.connect(host, port, seconds)
    if probe is None:
        raise TimeoutError(
            f"distributed.initialize: nothing listens at coordinator_address {host}:{port} after "
            f"{seconds} s; expected the coordination service there. Start process 0 (or the "
            "coordinator), or correct the address."
        )
    probe.close()
    line = roll_call.connect(host, port + 1, 1.0)
    if line is None:  # a coordinator that is not ours: its client does without
        return
    state.answer = roll_call.Answer(
        line, joined.process_id, joined.num_processes, settings.must_be_same()
    )
    state.answer.wait(max(end - time.monotonic(), 1.0))


def _abandon() -> None:
    for part in (state.answer, state.roll):
        if part is not None:
            part.close()
    if state.service is not None:
        state.service.shutdown()
    state.reset()


def _coordinator_lost() -> None:
    """End the process: no step can be agreed on any more, and jaxlib would abort it."""
    line = f"tans: process {state.process_id}: coordinator lost, ending with status "
    os.write(2, f"{line}{EXIT_COORDINATOR_LOST}\n".encode())
    os._exit(EXIT_COORDINATOR_LOST)


def _leave_at_exit() -> None:
    """Leave when the program ends, but not when it ends by an error: others may hang then."""
    if not _failed[0]:
        shutdown()


_failed: Final = [False]


def _note_failure(previous: Callable[..., Any]) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        _failed[0] = True
        return previous(*args)

    return hook
