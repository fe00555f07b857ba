"""Epochs: what makes it possible for a process to come back.

gloo can't connect the same devices twice, so each time a process joins, all processes leave their
CPU client and its connections and make new ones together. The time between is an *epoch*.

1. All hold the same *view* (process to incarnation) from one exchange.
2. They meet at barrier a. The lowest deletes the rendezvous keys of the old epoch, and the key of
   the global topology if process 0, which writes it, is alive. They meet at barrier b.
3. Each makes a new client. Arrays of the old one are lost; read them before.

A starting process must not make its client before step 2, or it would read the old keys. So the
first use of a device in a recoverable job takes part in an exchange.

In step 3 process 0 writes the global topology, from what each process wrote at its first start, and
the others wait for it inside jaxlib, up to a minute. Should it die before, the others write what it
would have: the topology of the epoch before, which is the same. In the first epoch there is none;
then they write nonsense, so that jaxlib gives up at once, and wait for whoever was lost.
"""

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from tans_core import config_module as config
from tans_core.errors import JaxRuntimeError
from tans_fault import _jaxlib
from tans_fault.coordination import CoordinationClient, Incarnations, connected_client, state
from tans_xla import backend

type Client = Any  # of jaxlib

# More than anyone should need between two barriers, beyond the time to be declared dead.
_GRACE_SECONDS: Final = 20
_SHORTEST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1
_LOCAL_TOPOLOGY: Final = "cpu:local_topology/cpu"
_TOPOLOGY: Final = "cpu:global_topology/cpu"
_KNOWN_TOPOLOGY: Final = "tans/topology/cpu"  # a copy that no epoch deletes


def name_of_view(view: Incarnations) -> str:
    """Return a short name that is equal for equal views and only for those."""
    text = ",".join(f"{p}:{i}" for p, i in sorted(view.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def exchange(processes: tuple[int, ...] | None = None) -> Incarnations:
    """Wait for all live processes; return who they are, the same to each, and remember it.

    Args:
      processes: the processes to ask about, this one among them; all when left out.
    """
    processes = state.everyone if processes is None else processes
    view = connected_client("exchange").get_live_nodes(processes)
    # Whoever is in a view was in each exchange that gave it, so all members count alike.
    again = state.views.get(processes) == view
    state.roll_is_old |= not again
    state.rounds[processes] = state.rounds.get(processes, 0) + 1 if again else 0
    state.views[processes] = view
    return view


def key_of_round() -> str:
    """Return a key-value prefix that belongs to the members of the view since their exchange."""
    everyone = state.everyone
    return f"tans/round/{name_of_view(state.views[everyone])}/{state.rounds[everyone]}"


def has_joiner(view: Incarnations) -> bool:
    """Whether a process has come since the present data plane was made."""
    members = state.members or {}
    return any(members.get(p) != incarnation for p, incarnation in view.items())


def renew(view: Incarnations) -> None:
    """Begin an epoch: leave the old client and its arrays, and make a new one with all in `view`.

    All processes of the view call this. Whoever is missing makes it fail for all after the time
    in which it would be declared dead; then exchange and call it again.

    Args:
      view: from the last `exchange`.

    Raises:
      JaxRuntimeError: a process died on the way.
    """
    client = connected_client("renew")
    if backend.is_started():
        lose_arrays()
        backend.drop_backend()
    _clear_rendezvous(client, view)
    state.members = dict(view)
    state.epoch += 1
    backend.clients()


def lose_arrays() -> None:
    """Free all arrays of the present clients; using one says that it belongs to a lost epoch."""
    for client in backend.clients().values():
        for array in client.live_arrays():
            array.delete()


def _clear_rendezvous(client: CoordinationClient, view: Incarnations) -> None:
    key = key_of_round()
    began = _topology(client, _KNOWN_TOPOLOGY) is not None
    if not began:
        _await_all(view)
    meet(f"{key}/a", view)
    if state.process_id == min(view):
        client.key_value_delete("cpu:gloo")
        if not began:
            client.key_value_delete("cpu:local_topology")
        if 0 in view:
            client.key_value_delete("cpu:global_topology")
    meet(f"{key}/b", view)


def _await_all(view: Incarnations) -> None:
    """Wait until a process that was lost before the job had begun is on its way, then raise."""
    lost = sorted(set(state.everyone) - set(view))
    if not lost:
        return
    end = time.monotonic() + meeting_seconds()
    pause = threading.Event()
    while not pause.wait(_LONGEST_PAUSE) and time.monotonic() < end:
        missing = state.answer.missing() if state.answer is not None else None
        if not set(lost) & set(missing or ()):
            break
    raise JaxRuntimeError(
        f"UNAVAILABLE: processes {lost} were lost before the job had begun; expected all "
        f"{state.num_processes}. Start them again."
    )


def _topology(client: CoordinationClient, key: str) -> bytes | None:
    folder, _, name = key.rpartition("/")
    return dict(client.key_value_dir_get_bytes(folder)).get(f"{folder}/{name}")


def meet(name: str, view: Incarnations, seconds: float | None = None) -> None:
    """Wait for all processes of a view to be here.

    The service's own barrier would wait for a dead process until the time is over; the roll call
    knows at once that one has left.

    Args:
      name: key-value prefix for this meeting, used once.
      view: from the last exchange.
      seconds: how long to wait; by default a little longer than for an exchange.

    Raises:
      JaxRuntimeError: one of them left, or did not come in time.
    """
    client = connected_client("meet")
    client.key_value_set(f"{name}/{state.process_id}", "", allow_overwrite=True)
    end = time.monotonic() + (meeting_seconds() if seconds is None else seconds)
    pause = _SHORTEST_PAUSE
    while True:
        here = {int(key.rpartition("/")[2]) for key, _ in client.key_value_dir_get(name)}
        missing = sorted(set(view) - here)
        if not missing:
            return
        _check_present(missing, view, end, name)
        if state.answer is not None:
            state.answer.pause(pause)
        else:
            threading.Event().wait(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _check_present(awaited: list[int], view: Incarnations, end: float, what: str) -> None:
    """Raise JaxRuntimeError if one of the awaited has left, or the time is over."""
    gone = set(awaited) & set(departed(view))
    if gone or time.monotonic() > end:
        status = f"ABORTED: processes {sorted(gone)} left" if gone else "DEADLINE_EXCEEDED: no sign"
        raise JaxRuntimeError(
            f"{status} while this process waited for {awaited} at {what}; expected all to come. "
            "Exchange who is alive, and begin again."
        )


def departed(view: Incarnations) -> list[int]:
    """Return which processes of a view are gone, their replacements notwithstanding.

    Each has told the roll call who it is before its first exchange, so after a change what it knows
    is asked for. That is not done in the exchange: the roll call may be busy, and a loss is told at
    once.
    """
    if state.roll_is_old and state.answer is not None:
        state.answer.refresh()
        state.roll_is_old = False
    here: Mapping[int, int | None] = view if state.answer is None else state.answer.here()
    return [process for process, incarnation in view.items() if here.get(process) != incarnation]


def meeting_seconds() -> int:
    """Return how long to wait for others who are known to be on their way."""
    return state.heartbeat_timeout + _GRACE_SECONDS


def make_cpu_client(make: Callable[..., Client]) -> Client:
    """Return a new CPU client of a multi-process job; `make` gets its further options.

    The first one of a recoverable job is made together with the others, again when one of them
    dies on the way.
    """
    client = connected_client("CPU client")
    if not state.recoverable:
        return make(**_options(client))
    if state.members is not None:
        return _make(make, client, state.members)
    end = time.monotonic() + state.initialization_timeout
    while True:
        view = exchange()
        try:
            _clear_rendezvous(client, view)
            made = _make(make, client, view)
        except JaxRuntimeError:
            if time.monotonic() > end:
                raise
        else:
            state.members = dict(view)
            state.epoch += 1
            return made


def _make(make: Callable[..., Client], client: CoordinationClient, view: Incarnations) -> Client:
    with _Watch(client, view):
        made = make(**_options(client))
    topology = _topology(client, _TOPOLOGY)
    if topology:
        client.key_value_set_bytes(_KNOWN_TOPOLOGY, topology, allow_overwrite=True)
    return made


class _Watch:
    """Helps those out who wait inside jaxlib for the topology of a process that was lost."""

    def __init__(self, client: CoordinationClient, view: Incarnations) -> None:
        self._client = client
        self._known = _topology(client, _KNOWN_TOPOLOGY)
        awaited = view.keys() if self._known is None else {0} & view.keys()
        self._awaited = {p: view[p] for p in awaited if p != state.process_id}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topology watch", daemon=True)

    def __enter__(self) -> None:
        if self._awaited and state.answer is not None:
            self._thread.start()

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_LONGEST_PAUSE):
            if gone := departed(self._awaited):
                if self._known is None:
                    for process in gone:
                        with contextlib.suppress(JaxRuntimeError):  # it had written its own
                            self._client.key_value_set_bytes(f"{_LOCAL_TOPOLOGY}/{process}", b"")
                self._client.key_value_set_bytes(_TOPOLOGY, self._known or b"", True)
                return


def _options(client: CoordinationClient) -> dict[str, Any]:
    return {
        "collectives": _make_collectives(client),
        "get_local_topology_timeout_minutes": _minutes(
            "jax_cpu_get_local_topology_timeout_minutes"
        ),
        "get_global_topology_timeout_minutes": _minutes(
            "jax_cpu_get_global_topology_timeout_minutes"
        ),
    }


def _minutes(flag: str) -> int:
    """Return how long to wait for a topology; not long for a process that may have died."""
    return 1 if state.recoverable else int(config.find_flag(flag).value)


def _make_collectives(client: CoordinationClient) -> Any:
    kind = config.cpu_collectives_implementation.value
    if kind is None:
        return None
    if kind == "gloo":
        return _jaxlib.make_gloo(distributed_client=client.raw)
    if kind == "mpi":
        collectives = _jaxlib.make_mpi()
        collectives.Init()
        return collectives
    raise RuntimeError(
        f"jax_cpu_collectives_implementation is {kind!r}, which this jaxlib does not have for "
        "CPU; expected 'gloo' or 'mpi'. Set it to 'gloo'."
    )
