"""Where a process learns its place in a job when the program does not say: cluster environments.

Each environment is a row of `ENVIRONMENTS`: how to recognise it, and where it keeps the address of
the coordinator, the number of processes and the index of this one. All are read from documented
environment variables; nothing is asked over the network, except by mpi4py.
"""

import dataclasses
import importlib.util
import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

type Environment = Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The place of a process in a job; None where it is not known.

    Attributes:
      coordinator_address: ``host:port`` of the coordination service.
      num_processes: number of processes.
      process_id: index of this one.
      local_device_ids: devices of this process, on a machine that it shares with others.
    """

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """One kind of environment.

    Attributes:
      is_present: whether these variables belong to a job of this kind.
      place: the place of this process in it.
      on_request: whether it is used only when asked for by name.
    """

    is_present: Callable[[Environment], bool]
    place: Callable[[Environment], Place]
    on_request: bool = False


def _job_port(text: str) -> int:
    """Return a port from 61441 to 65533 that all processes of a job find from its number."""
    digits = re.sub(r"\D", "", text) or "0"
    return 61441 + int(digits) % 4092


def _launcher_place(env: Environment) -> Place:
    return Place(
        env["TANS_LAUNCH_ADDRESS"],
        int(env["TANS_LAUNCH_NUM_PROCESSES"]),
        int(env["TANS_LAUNCH_PROCESS_ID"]),
    )


def first_of_nodelist(nodes: str) -> str:
    """Return the first host of a Slurm list such as ``node[003-005,9],login1``.

    Example:
      >>> first_of_nodelist("node[003-005,9],login1")
      'node003'
    """
    match = re.match(r"([^,\[]+)(?:\[([^\],-]+)[^\]]*\])?", nodes)
    return "" if match is None else match[1] + (match[2] or "")


def _slurm_place(env: Environment) -> Place:
    host = first_of_nodelist(env["SLURM_STEP_NODELIST"])
    local = env.get("SLURM_LOCALID")
    return Place(
        f"{host}:{_job_port(env['SLURM_JOB_ID'])}",
        int(env["SLURM_NTASKS"]),
        int(env["SLURM_PROCID"]),
        None if local is None else (int(local),),
    )


def _open_mpi_place(env: Environment) -> Place:
    # job.jobid;tcp://10.0.0.1,10.1.0.1:45997 with the addresses of the launching node.
    job, _, uri = env["OMPI_MCA_orte_hnp_uri"].partition(";")
    match = re.match(r"tcp6?://\[?([^,\]]+?)(?:[,\]:]|$)", uri)
    host = "127.0.0.1" if match is None else match[1]
    local = env.get("OMPI_COMM_WORLD_LOCAL_RANK")
    return Place(
        f"{host}:{_job_port(job.partition('.')[0])}",
        int(env["OMPI_COMM_WORLD_SIZE"]),
        int(env["OMPI_COMM_WORLD_RANK"]),
        None if local is None else (int(local),),
    )


def _mpi4py_place(env: Environment) -> Place:
    from mpi4py import MPI  # pyright: ignore[reportMissingImports]  # optional

    world = MPI.COMM_WORLD
    address = None
    if world.Get_rank() == 0:
        with socket.create_server(("", 0)) as server:
            port = server.getsockname()[1]
        address = f"{socket.gethostname()}:{port}"
    return Place(world.bcast(address), world.Get_size(), world.Get_rank())


def _kubernetes_place(env: Environment) -> Place:
    host = env.get("TANS_KUBERNETES_COORDINATOR") or _first_pod(env)
    count = env.get("JOB_COMPLETIONS") or env.get("TANS_KUBERNETES_NUM_PROCESSES")
    return Place(
        host and f"{host}:8476",
        None if count is None else int(count),
        int(env["JOB_COMPLETION_INDEX"]),
    )


def _first_pod(env: Environment) -> str | None:
    """Return the host name of pod 0 of an indexed job with a headless service of its name.

    The name of a pod is ``<job>-<index>``, and so is its host name.
    """
    name, _, index = env.get("HOSTNAME", "").rpartition("-")
    service = env.get("JOBSET_NAME") or name
    return f"{name}-0.{service}" if name and index.isdigit() else None


def _tpu_place(env: Environment) -> Place:
    hosts = [h.strip() for h in env["TPU_WORKER_HOSTNAMES"].split(",")]
    return Place(f"{hosts[0]}:8476", len(hosts), int(env["TPU_WORKER_ID"]))


def _has(*names: str) -> Callable[[Environment], bool]:
    return lambda env: all(name in env for name in names)


def _has_mpi4py(env: Environment) -> bool:
    return importlib.util.find_spec("mpi4py") is not None


ENVIRONMENTS: Final[dict[str, Cluster]] = {
    "launcher": Cluster(_has("TANS_LAUNCH_ADDRESS"), _launcher_place),
    "tpu": Cluster(_has("TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"), _tpu_place),
    "slurm": Cluster(
        _has("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID"), _slurm_place
    ),
    "ompi": Cluster(_has("OMPI_MCA_orte_hnp_uri"), _open_mpi_place),
    "k8s": Cluster(_has("KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"), _kubernetes_place),
    "mpi4py": Cluster(_has_mpi4py, _mpi4py_place, on_request=True),
}


def detect(method: str | None, env: Environment | None = None) -> Place:
    """Return the place of this process according to its environment.

    Args:
      method: None for the first environment that is found, the name of one, or "deactivate".
      env: environment variables; those of the process when left out.

    Returns:
      The place; empty when no environment is found.

    Raises:
      ValueError: no environment has that name.

    Example:
      >>> detect("slurm", {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n[01-02]",
      ...                  "SLURM_NTASKS": "2", "SLURM_PROCID": "1"}).coordinator_address
      'n01:61448'
    """
    env = os.environ if env is None else env
    if method is None:
        found = [c for c in ENVIRONMENTS.values() if not c.on_request and c.is_present(env)]
        return found[0].place(env) if found else Place()
    if method == "deactivate":
        return Place()
    cluster = ENVIRONMENTS.get(method)
    if cluster is None:
        raise ValueError(
            f"distributed.initialize: given cluster_detection_method={method!r}, expected one of "
            f"{', '.join(map(repr, ENVIRONMENTS))} or 'deactivate'. Leave it out to take the "
            "first environment that is found."
        )
    if not cluster.is_present(env):
        return Place()
    return cluster.place(env)


def merge(given: Place, found: Place) -> Place:
    """Return `given` with what it lacks taken from `found`."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Place):
        value = getattr(given, field.name)
        values[field.name] = getattr(found, field.name) if value is None else value
    return Place(**values)
