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
      variables: those that every job of this kind has.
      place: the place of this process in it.
      lacks: what else must be there and is not, or an empty text.
      on_request: whether it is used only when asked for by name.
    """

    variables: tuple[str, ...]
    place: Callable[[Environment], Place]
    lacks: Callable[[], str] = str
    on_request: bool = False

    def missing(self, env: Environment) -> list[str]:
        """Return what is missing for a job of this kind."""
        names = [f"the environment variable {name}" for name in self.variables if name not in env]
        return [*names, *filter(None, [self.lacks()])]


def number(name: str, text: str | None, lowest: int = 0) -> int:
    """Return the whole number in an environment variable.

    Args:
      name: what the error calls it.
      text: what it holds; None when it is not set.
      lowest: what the number must at least be.

    Raises:
      ValueError: it is not set, no number, or too small.
    """
    try:
        value = int(text or "")
    except ValueError:
        value = None
    if value is None or value < lowest:
        raise ValueError(
            f"distributed.initialize: the environment variable {name} is "
            f"{'not set' if text is None else repr(text)}, expected a whole number of at least "
            f"{lowest}. Correct it, or pass the argument that it stands for."
        )
    return value


def _malformed(name: str, text: str, expected: str) -> ValueError:
    return ValueError(
        f"distributed.initialize: the environment variable {name} is {text!r}, expected "
        f"{expected}. Correct it, or pass coordinator_address."
    )


def _job_port(text: str) -> int:
    """Return a port from 61441 to 65532 that all processes of a job find from its number."""
    digits = re.sub(r"\D", "", text) or "0"
    return 61441 + int(digits) % 4092


def _launcher_place(env: Environment) -> Place:
    return Place(
        env["TANS_LAUNCH_ADDRESS"],
        number("TANS_LAUNCH_NUM_PROCESSES", env.get("TANS_LAUNCH_NUM_PROCESSES"), 1),
        number("TANS_LAUNCH_PROCESS_ID", env.get("TANS_LAUNCH_PROCESS_ID")),
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
    nodes = env["SLURM_STEP_NODELIST"]
    host = first_of_nodelist(nodes)
    if not host:
        raise _malformed("SLURM_STEP_NODELIST", nodes, "hosts such as 'node[1-4]'")
    return Place(
        f"{host}:{_job_port(env['SLURM_JOB_ID'])}",
        number("SLURM_NTASKS", env["SLURM_NTASKS"], 1),
        number("SLURM_PROCID", env["SLURM_PROCID"]),
        _local_id(env, "SLURM_LOCALID"),
    )


def _local_id(env: Environment, name: str) -> tuple[int, ...] | None:
    return (number(name, env[name]),) if name in env else None


def _open_mpi_place(env: Environment) -> Place:
    # job.jobid;tcp://10.0.0.1,10.1.0.1:45997 with the addresses of the launching node.
    name = "OMPI_MCA_orte_hnp_uri"
    job, _, uri = env[name].partition(";")
    match = re.match(r"tcp6://(\[[^\],]+)|tcp://([^,:]+)", uri)
    if match is None:
        raise _malformed(name, env[name], "'JOB;tcp://ADDRESS:PORT'")
    host = f"{match[1]}]" if match[1] else match[2]
    return Place(
        f"{host}:{_job_port(job.partition('.')[0])}",
        number("OMPI_COMM_WORLD_SIZE", env.get("OMPI_COMM_WORLD_SIZE"), 1),
        number("OMPI_COMM_WORLD_RANK", env.get("OMPI_COMM_WORLD_RANK")),
        _local_id(env, "OMPI_COMM_WORLD_LOCAL_RANK"),
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
    names = ("JOB_COMPLETIONS", "TANS_KUBERNETES_NUM_PROCESSES")
    counts = [number(name, env[name], 1) for name in names if name in env]
    return Place(
        host and f"{host}:8476",
        counts[0] if counts else None,
        number("JOB_COMPLETION_INDEX", env["JOB_COMPLETION_INDEX"]),
    )


def _first_pod(env: Environment) -> str | None:
    """Return the host name of pod 0 of an indexed job with a headless service of its name.

    The name of a pod is ``<job>-<index>``, and so is its host name.
    """
    name, _, index = env.get("HOSTNAME", "").rpartition("-")
    service = env.get("JOBSET_NAME") or name
    return f"{name}-0.{service}" if name and index.isdigit() else None


def _tpu_place(env: Environment) -> Place:
    text = env["TPU_WORKER_HOSTNAMES"]
    hosts = [h.strip() for h in text.split(",")]
    if not all(hosts):
        raise _malformed("TPU_WORKER_HOSTNAMES", text, "the host of each worker, split by commas")
    return Place(f"{hosts[0]}:8476", len(hosts), number("TPU_WORKER_ID", env["TPU_WORKER_ID"]))


def _mpi4py_is_missing() -> str:
    return "" if importlib.util.find_spec("mpi4py") else "the package mpi4py"


ENVIRONMENTS: Final[dict[str, Cluster]] = {
    "launcher": Cluster(("TANS_LAUNCH_ADDRESS",), _launcher_place),
    "tpu": Cluster(("TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"), _tpu_place),
    "slurm": Cluster(
        ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID"), _slurm_place
    ),
    "ompi": Cluster(("OMPI_MCA_orte_hnp_uri",), _open_mpi_place),
    "k8s": Cluster(("KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"), _kubernetes_place),
    "mpi4py": Cluster((), _mpi4py_place, _mpi4py_is_missing, on_request=True),
}


def detect(method: str | None, env: Environment | None = None) -> Place:
    """Return the place of this process according to its environment.

    Args:
      method: None for the first environment that is found, the name of one, or "deactivate".
      env: environment variables; those of the process when left out.

    Returns:
      The place; empty when no environment is found.

    Raises:
      ValueError: no environment has that name, this is not one of that name, or a variable is
        malformed.

    Example:
      >>> detect("slurm", {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n[01-02]",
      ...                  "SLURM_NTASKS": "2", "SLURM_PROCID": "1"}).coordinator_address
      'n01:61448'
    """
    env = os.environ if env is None else env
    if method is None:
        found = [c for c in ENVIRONMENTS.values() if not (c.on_request or c.missing(env))]
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
    if missing := cluster.missing(env):
        raise ValueError(
            f"distributed.initialize: given cluster_detection_method={method!r}, but here is not "
            f"{' nor '.join(missing)}; expected a job of that kind. Start the program by it, or "
            "leave cluster_detection_method out."
        )
    return cluster.place(env)


def merge(given: Place, found: Place) -> Place:
    """Return `given` with what it lacks taken from `found`."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Place):
        value = getattr(given, field.name)
        values[field.name] = getattr(found, field.name) if value is None else value
    return Place(**values)
