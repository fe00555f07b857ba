"""Jobs that survive losing processes: the elastic loop, checkpoints, who is alive."""

from tans_fault import (
    Checkpoints,
    LiveDevices,
    ProcessFailureError,
    Report,
    Step,
    StepFailedError,
    live_devices,
    run_elastic,
)

__all__ = [
    "Checkpoints",
    "LiveDevices",
    "ProcessFailureError",
    "Report",
    "Step",
    "StepFailedError",
    "live_devices",
    "run_elastic",
]
