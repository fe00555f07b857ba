"""Jobs that survive losing processes: the elastic loop, checkpoints, who is alive."""

from tans_fault import (
    Checkpoints,
    CheckpointStore,
    LiveDevices,
    OrbaxCheckpoints,
    ProcessFailureError,
    Report,
    ShardedCheckpoints,
    StateDivergedError,
    Step,
    StepFailedError,
    live_devices,
    run_elastic,
)

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
    "live_devices",
    "run_elastic",
]
