"""The process's place in a job, and its client of the coordination service.

One state object per process. The client is jaxlib's, behind checks that keep a call from ending
the process: jaxlib aborts when the key-value store is used before the connection.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.errors import JaxRuntimeError
from tans_fault.roll_call import Answer, Server

EXIT_COORDINATOR_LOST: Final = 75
"""Exit status of a process whose coordinator is gone; a supervisor may start the job anew."""

type Incarnations = dict[int, int]
"""Live processes by index, each with the random number of its present start."""


class CoordinationClient:
    """Key-value store, barriers and liveness of a job.

    All times are milliseconds, as in jaxlib. Errors of the service are `JaxRuntimeError` whose
    text begins with a status: ``ALREADY_EXISTS`` for a key that is set twice, ``NOT_FOUND`` for
    one that is not set, ``DEADLINE_EXCEEDED`` when the time is over. If there is an error because
    the coordinator is gone, the process ends with status 75 instead.

    Args:
      raw: jaxlib's client, not yet connected.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._connected = False

    def connect(self) -> None:
        """Register with the service; returns when all processes of the job have."""
        _ask(self._raw.connect)
        self._connected = True

    @property
    def raw(self) -> Any:
        """The client of jaxlib, for the runtime.

        Raises:
          RuntimeError: it is not connected.
        """
        if not self._connected:
            raise RuntimeError(
                "the coordination service was used before the connection, or after its end; "
                "expected a connected client. Call distributed.initialize() first."
            )
        return self._raw

    def key_value_set(self, key: str, value: str, allow_overwrite: bool = False) -> None:
        """Set a key to text."""
        _ask(self.raw.key_value_set, key, value, allow_overwrite)

    def key_value_set_bytes(self, key: str, value: bytes, allow_overwrite: bool = False) -> None:
        """Set a key to bytes."""
        _ask(self.raw.key_value_set_bytes, key, value, allow_overwrite)

    def key_value_try_get(self, key: str) -> str:
        """Return the text of a key, which must be set."""
        return _ask(self.raw.key_value_try_get, key)

    def key_value_try_get_bytes(self, key: str) -> bytes:
        """Return the bytes of a key, which must be set."""
        return _ask(self.raw.key_value_try_get_bytes, key)

    def blocking_key_value_get(self, key: str, timeout_in_ms: int) -> str:
        """Return the text of a key as soon as it is set."""
        return _ask(self.raw.blocking_key_value_get, key, timeout_in_ms)

    def blocking_key_value_get_bytes(self, key: str, timeout_in_ms: int) -> bytes:
        """Return the bytes of a key as soon as it is set."""
        return _ask(self.raw.blocking_key_value_get_bytes, key, timeout_in_ms)

    def key_value_dir_get(self, prefix: str) -> list[tuple[str, str]]:
        """Return all keys below ``prefix/`` with their texts."""
        return _ask(self.raw.key_value_dir_get, prefix)

    def key_value_dir_get_bytes(self, prefix: str) -> list[tuple[str, bytes]]:
        """Return all keys below ``prefix/`` with their bytes."""
        return _ask(self.raw.key_value_dir_get_bytes, prefix)

    def key_value_increment(self, key: str, increment: int) -> int:
        """Add to the number of a key, 0 at first, and return it."""
        return _ask(self.raw.key_value_increment, key, increment)

    def key_value_delete(self, key: str) -> None:
        """Delete a key and all below it."""
        _ask(self.raw.key_value_delete, key)

    def wait_at_barrier(
        self, barrier_id: str, timeout_in_ms: int, process_ids: Sequence[int] | None = None
    ) -> None:
        """Wait until all (named) processes wait at the same barrier."""
        ids = None if process_ids is None else list(process_ids)
        _ask(self.raw.wait_at_barrier, barrier_id, timeout_in_ms, ids)

    def get_live_nodes(self, process_ids: Sequence[int]) -> Incarnations:
        """Wait for the live ones of the processes; return them, the same to all."""
        return dict(_ask(self.raw.get_live_nodes, list(process_ids)))

    def shutdown(self) -> None:
        """End the connection; nothing happens when there is none."""
        if self._connected:
            self._connected = False
            _ask(self._raw.shutdown)


def _ask[T](call: Callable[..., T], *arguments: Any) -> T:
    try:
        return call(*arguments)
    except JaxRuntimeError:
        check_coordinator()
        raise


def check_coordinator() -> None:
    """Do not return if the coordinator is gone: the process ends then."""
    if state.answer is not None:
        state.answer.refresh()


@dataclasses.dataclass(slots=True)
class State:
    """Where this process is; all None before `distributed.initialize`.

    Attributes:
      process_id: index of this process.
      num_processes: number of processes.
      service: the coordination service, if it runs in this process.
      client: the connection to it.
      preemption_sync_manager: what catches SIGTERM.
      coordinator_address: ``host:port``.
      partition_index: index of the group of devices with fast links.
      recoverable: whether others live on when one is lost.
      heartbeat_timeout: seconds of silence after which a process counts as dead.
      shutdown_timeout: seconds that an end waits for others.
      initialization_timeout: seconds that a start waits for others.
      roll: the roll call, if it is taken in this process.
      answer: the open line to the roll call.
      roll_is_old: whether the last exchange may know more than was heard from the roll call.
      views: live processes at the last exchange among certain processes, by these.
      rounds: how many exchanges in a row gave that view, by the same key.
      members: processes that share the present data plane.
      epoch: how many data planes this process has had.
      loops: how many elastic loops it has begun.
    """

    process_id: int = 0
    num_processes: int = 1
    service: Any = None
    client: CoordinationClient | None = None
    preemption_sync_manager: Any = None
    coordinator_address: str | None = None
    partition_index: int | None = None
    recoverable: bool = False
    heartbeat_timeout: int = 100
    shutdown_timeout: int = 300
    initialization_timeout: int = 300
    roll: Server | None = None
    answer: Answer | None = None
    roll_is_old: bool = False
    views: dict[tuple[int, ...], Incarnations] = dataclasses.field(default_factory=dict)
    rounds: dict[tuple[int, ...], int] = dataclasses.field(default_factory=dict)
    members: Incarnations | None = None
    epoch: int = 0
    loops: int = 0

    @property
    def everyone(self) -> tuple[int, ...]:
        """The indices of all processes of the job, dead ones included."""
        return tuple(range(self.num_processes))

    def reset(self) -> None:
        """Return to the state before `distributed.initialize`."""
        fresh = State()
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(fresh, field.name))


state: Final = State()


def connected_client(name: str) -> CoordinationClient:
    """Return the client of this process.

    Raises:
      RuntimeError: the process is not part of a job.
    """
    if state.client is None:
        raise RuntimeError(
            f"{name}: this process is not part of a multi-process job, and was expected to be. "
            "Call distributed.initialize() at the start of the program."
        )
    return state.client


def end_without_coordinator() -> None:
    """End the process: no step can be agreed on any more, and jaxlib would abort it."""
    line = f"tans: process {state.process_id}: coordinator lost, ending with status "
    os.write(2, f"{line}{EXIT_COORDINATOR_LOST}\n".encode())
    os._exit(EXIT_COORDINATOR_LOST)
