"""Multi-process jobs that survive losing some of their processes."""

from typing import Any, Final

from tans_core import require_interface
from tans_fault import distributed, multihost_utils
from tans_fault.checkpoints import Checkpoints, CheckpointStore
from tans_fault.elastic import run_elastic
from tans_fault.live import LiveDevices, ProcessFailureError, live_devices
from tans_fault.orbax_store import OrbaxCheckpoints
from tans_fault.sharded import ShardedCheckpoints
from tans_fault.steps import Report, StateDivergedError, Step, StepFailedError

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-fault", built_for=_INTERFACE_BUILT_FOR)

__all__ = [
    "CheckpointStore",
    "Checkpoints",
    "LiveDevices",
    "OrbaxCheckpoints",
    "ProcessFailureError",
    "Report",
    "ShardedCheckpoints",
    "StateDivergedError",
    "Step",
    "StepFailedError",
    "distributed",
    "live_devices",
    "multihost_utils",
    "run_elastic",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tans-fault")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
