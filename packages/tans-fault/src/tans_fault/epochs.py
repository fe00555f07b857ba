"""Epochs: what makes it possible for a process to come back.

gloo can't connect the same devices twice, so each time a process joins, all processes leave their
CPU client and its connections and make new ones together. The time between is an *epoch*.

1. All hold the same *view* (process to incarnation) from one exchange.
2. They meet at barrier a. The lowest deletes the rendezvous keys of the old epoch, and the key of
   the global topology if process 0, which writes it, is alive. They meet at barrier b.
3. Each makes a new client. Arrays of the old one are lost; read them before.

A starting process must not make its client before step 2, or it would read the old keys. So the
first use of a device in a recoverable job takes part in an exchange.
"""

import hashlib
from typing import Any

from tans_core import config_module as config
from tans_core.errors import JaxRuntimeError
from tans_fault import _jaxlib
from tans_fault.coordination import CoordinationClient, Incarnations, connected_client, state
from tans_xla import backend

# More than anyone should need between two barriers, beyond the time to be declared dead.
_GRACE_SECONDS = 20


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
    meet(f"{key}/a", view)
    if state.process_id == min(view):
        client.key_value_delete("cpu:gloo")
        if 0 in view:
            client.key_value_delete("cpu:global_topology")
    meet(f"{key}/b", view)


def meet(name: str, view: Incarnations) -> None:
    """Wait at a barrier for all processes of a view.

    Raises:
      JaxRuntimeError: one of them did not come.
    """
    client = connected_client("meet")
    client.wait_at_barrier(name, meeting_seconds() * 1000, sorted(view))


def meeting_seconds() -> int:
    """Return how long to wait for others who are known to be on their way."""
    return state.heartbeat_timeout + _GRACE_SECONDS


def cpu_options() -> dict[str, Any]:
    """Return what the CPU client of a multi-process job is made with; called for each client."""
    client = connected_client("CPU client")
    if state.recoverable and state.members is None:
        state.members = _enter(client)
        state.epoch += 1
    return {
        "collectives": _make_collectives(client),
        "get_local_topology_timeout_minutes": _minutes(
            "jax_cpu_get_local_topology_timeout_minutes"
        ),
        "get_global_topology_timeout_minutes": _minutes(
            "jax_cpu_get_global_topology_timeout_minutes"
        ),
    }


def _enter(client: CoordinationClient) -> Incarnations:
    """Join the others; again when one of them dies on the way."""
    view = exchange()
    for _ in range(state.num_processes):
        try:
            _clear_rendezvous(client, view)
        except JaxRuntimeError:
            view = exchange()
        else:
            return dict(view)
    _clear_rendezvous(client, view)
    return dict(view)


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
