"""Which devices are alive, agreed on by all processes that are."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tans_fault import epochs
from tans_fault.coordination import Incarnations, connected_client, state
from tans_xla import backend

type Device = Any


class ProcessFailureError(Exception):
    """Devices were lost because their processes ended or were started anew.

    Attributes:
      failed_devices: the set of lost devices.
    """

    def __init__(self, failed_devices: set[Device]) -> None:
        super().__init__(f"Devices failed: {failed_devices}")
        self.failed_devices = failed_devices


class LiveDevices:
    """The type of `live_devices`.

    Attributes:
      devices: incarnation of each device's process at the last exchange, or None.
    """

    def __init__(self) -> None:
        self.devices: dict[Device, int] | None = None

    @contextlib.contextmanager
    def __call__(self, devices: Sequence[Device]) -> Iterator[list[Device]]:
        """Run a block with the live ones of `devices`, and check afterwards that they still are.

        At the end of the block the live processes agree on who is alive. Either all leave the
        block normally or all see the same `ProcessFailureError`. Results must be complete inside
        the block (`block_until_ready`). Every live process passes through equally many blocks.
        When a process has joined since the devices were made, all make new ones first (see
        `tans_fault.epochs`): use the devices that the block is given, not those passed in.

        Args:
          devices: devices, those of dead processes included; at least one of this process.

        Yields:
          The live devices, in the order of their ids.

        Raises:
          RuntimeError: the process is not part of a job.
          ValueError: no devices, or none of this process.
          ProcessFailureError: some of the live devices were lost; its cause is the exception that
            ended the block, if any.

        Example:
          >>> def train(devices): ...
          >>> def step():
          ...     with live_devices(tans.devices()) as alive:
          ...         return tans.block_until_ready(train(alive))
        """
        connected_client("live_devices")
        processes = _processes_of(devices)
        before = self._enter(devices, processes)
        current = {d.id: d for d in backend.devices(devices[0].platform)}
        known: list[Any] = [current.get(d.id, d) for d in devices]
        alive = sorted((d for d in known if d.process_index in before), key=lambda d: d.id)
        cause: Exception | None = None
        try:
            yield alive
        except Exception as error:
            cause = error
        after = epochs.exchange(processes)
        self._remember(known, after)
        failed = {d for d in alive if after.get(d.process_index) != before[d.process_index]}
        if failed:
            raise ProcessFailureError(failed) from cause
        if cause is not None:
            raise cause

    def _enter(self, devices: Sequence[Device], processes: tuple[int, ...]) -> Incarnations:
        view = state.views.get(processes) or epochs.exchange(processes)
        on_cpu = devices[0].platform == "cpu"
        has_epochs = state.recoverable and on_cpu and processes == state.everyone
        if has_epochs and epochs.has_joiner(view):
            epochs.renew(view)
        return view

    def _remember(self, devices: Sequence[Device], view: Incarnations) -> None:
        self.devices = {d: view[d.process_index] for d in devices if d.process_index in view}


def _processes_of(devices: Sequence[Device]) -> tuple[int, ...]:
    if not devices:
        raise ValueError(
            "live_devices: given no devices, expected at least one. Pass tans.devices()."
        )
    processes = tuple(sorted({d.process_index for d in devices}))
    if state.process_id not in processes:
        raise ValueError(
            f"live_devices: given devices of the processes {processes}, none of them of this "
            f"process, {state.process_id}; expected at least one. Pass tans.devices()."
        )
    return processes


live_devices: Final = LiveDevices()
