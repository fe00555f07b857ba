"""The steps by which a process joins a job: the coordinator, the roll call, the connection."""

import threading
import time
from typing import Any

from tans_core import config_module as config
from tans_fault import _jaxlib, epochs, roll_call, settings
from tans_fault.coordination import CoordinationClient, end_without_coordinator, state
from tans_fault.settings import Settings
from tans_xla import backend

# Both ports are opened together, the roll call's first.
_SECOND_PORT_SECONDS = 5.0
_FOREVER_SECONDS = 10**8


def join(joined: Settings) -> None:
    """Take the steps; returns when all processes have.

    Raises:
      TimeoutError: no coordinator, or processes are missing.
      ValueError: another process has the id, or the number of processes differs.
      RuntimeError: a port is taken, or something else than a coordinator answers.
    """
    seconds = state.initialization_timeout
    end = time.monotonic() + seconds
    state.process_id, state.num_processes = joined.process_id, joined.num_processes
    if joined.start_service:
        state.roll, state.service = start_coordinator(
            joined.bind_address,
            joined.num_processes,
            heartbeat_timeout=state.heartbeat_timeout,
            register_timeout=seconds,
            shutdown_timeout=state.shutdown_timeout,
            recoverable=state.recoverable,
            security=joined.security,
        )
    answer = _answer_roll_call(joined, end)
    client = _connect(joined, answer, end)
    answer.identify(client.get_live_nodes([joined.process_id])[joined.process_id])
    if config.find_flag("jax_enable_preemption_service").value:
        state.preemption_sync_manager = _jaxlib.make_preemption_manager()
        state.preemption_sync_manager.initialize(client.raw)
    state.coordinator_address = joined.address
    backend.set_distributed(
        make_cpu=epochs.make_cpu_client,
        distributed_client=client.raw,
        node_id=joined.process_id,
        num_nodes=joined.num_processes,
    )
    state.client = client


def _answer_roll_call(joined: Settings, end: float) -> roll_call.Answer:
    host, port = joined.host, joined.port
    seconds = end - time.monotonic()
    try:
        roll_call.connect(host, port, seconds).close()
    except OSError as error:
        raise TimeoutError(
            f"distributed.initialize: nothing listens at coordinator_address {host}:{port} after "
            f"{seconds:.3g} s ({error}); expected the coordination service there. Start process 0 "
            "(or the coordinator), or correct the address."
        ) from None
    try:
        line = roll_call.connect(host, port + 1, min(_SECOND_PORT_SECONDS, seconds))
    except OSError as error:
        raise RuntimeError(
            f"distributed.initialize: something listens at coordinator_address {host}:{port}, but "
            f"nothing at the next port, {port + 1} ({error}); expected a Tans coordinator, which "
            "takes the roll there. Correct the address, or open that port too."
        ) from None
    same = settings.must_be_same(
        recoverable=state.recoverable, encrypted="mtls_cert_file" in joined.security
    )
    state.answer = roll_call.Answer(line, joined.process_id, joined.num_processes, same)
    state.answer.wait(max(end - time.monotonic(), 1.0))
    state.answer.watch(end_without_coordinator)
    return state.answer


def _connect(joined: Settings, answer: roll_call.Answer, end: float) -> CoordinationClient:
    """Connect to the coordination service, which waits until all have.

    jaxlib ends the process when the time is over. So it gets no limit, and a thread of its own that
    can be left waiting.
    """
    raw = _jaxlib.make_client(
        joined.address,
        joined.process_id,
        init_timeout=_FOREVER_SECONDS,
        shutdown_timeout=state.shutdown_timeout,
        heartbeat_timeout=state.heartbeat_timeout,
        shutdown_on_destruction=False,
        use_compression=True,
        **joined.security,
    )
    client = CoordinationClient(raw)
    errors: list[Exception] = []
    waiting = threading.Thread(target=_try_connect, args=(client, errors), daemon=True)
    start = time.monotonic()
    waiting.start()
    waiting.join(max(end - start, 5.0))
    if waiting.is_alive():
        raise answer.gave_up(f"waited {time.monotonic() - start:.3g} s after the roll call")
    if errors:
        raise RuntimeError(
            f"distributed.initialize: the coordination service at {joined.host}:{joined.port} "
            f"refused process {joined.process_id} ({errors[0]}); expected it to take it. Start "
            "all processes and the coordinator anew."
        ) from errors[0]
    return client


def _try_connect(client: CoordinationClient, errors: list[Exception]) -> None:
    try:
        client.connect()
    except Exception as error:  # raised again by the thread that waits
        errors.append(error)


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
    host, port = settings.host_and_port("coordinator_bind_address", address)
    try:
        roll = roll_call.Server(host, port + 1, num_processes, may_rejoin=recoverable)
    except OSError as error:
        raise _port_taken(port + 1, "the roll call", error) from None
    try:
        service = _jaxlib.make_service(
            settings.join_address(host, port),
            num_processes,
            heartbeat_timeout=heartbeat_timeout,
            cluster_register_timeout=register_timeout,
            shutdown_timeout=shutdown_timeout,
            recoverable=recoverable,
            **security,
        )
    except RuntimeError as error:
        roll.close()
        raise _port_taken(port, "the coordination service", error) from None
    return roll, service


def _port_taken(port: int, what: str, error: Exception) -> RuntimeError:
    return RuntimeError(
        f"distributed: {what} could not listen on port {port} ({error}); expected a free port and "
        "its successor, and certificates that can be used, if any. Choose another port for "
        "coordinator_address, or correct what is named."
    )
