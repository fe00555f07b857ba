"""Elastic training: a loop of steps that goes on when processes are lost, and takes them back."""

from collections.abc import Callable
from typing import Any

from tans_fault import settings
from tans_fault.checkpoints import CheckpointStore
from tans_fault.coordination import connected_client, state
from tans_fault.limits import check_seconds
from tans_fault.loop import Loop, StopSignal
from tans_fault.sharded import ShardedCheckpoints
from tans_fault.sharded_loop import ShardedLoop
from tans_fault.steps import Report, Step

type Tree = Any  # a tree of arrays


def run_elastic(
    step_fn: Callable[[Step, Tree], Tree],
    initial_state: Tree,
    *,
    steps: int,
    checkpoints: CheckpointStore | ShardedCheckpoints | None = None,
    every: int = 100,
    observe: Callable[[Report], None] | None = None,
    longest_step: float | None = None,
) -> Tree:
    """Apply `step_fn` `steps` times, each exactly once, on whatever processes are alive.

    All processes of a recoverable job call it in the same way; one that was started anew does too,
    and takes over the state of the others. A step that was under way when a process was lost is
    repeated from the state before it, by those that are left.

    Args:
      step_fn: called with a `Step` and the state, as NumPy arrays; returns the next state, of the
        same structure and shapes. It must compute the same on all processes, from nothing but its
        arguments.
      initial_state: tree of arrays: the state before the first step.
      steps: number of steps.
      checkpoints: where one of the processes saves the state, and where it is taken from when all
        were lost; a `Checkpoints`, an `OrbaxCheckpoints` or a store of your own. With a
        `ShardedCheckpoints` the state stays on the devices, and is never whole anywhere: see below.
      every: steps between two checkpoints; one more is made at the end.
      observe: called on each process after each step and each change.
      longest_step: seconds that a step, an observer or a save may take. A process that takes
        longer, by more than the time that it may wait for others (that of a collective, or the
        heartbeat timeout and 20 s if that is more), ends with status 76. Without it the others
        wait as long as a process hangs.

    Returns:
      The state after the last step: NumPy arrays, equal bit for bit on all processes. After a
      SIGTERM to any process, the state after the step at which all stopped and saved.

    Raises:
      RuntimeError: the process is not part of a job, or the job is not recoverable.
      TypeError, ValueError: an argument is of the wrong kind or out of range, or differs between
        processes; a step returned another structure; a checkpoint does not fit.
      StepFailedError: three attempts in a row failed without the loss of a process.
      StateDivergedError: a state that is to be saved differs between processes.

    With a `ShardedCheckpoints`, ``initial_state`` is a function of a `Step` that makes the first
    state as arrays over ``step.mesh``; the step gets and returns arrays on devices. When processes
    come or go, all go back to the newest checkpoint, at most ``every`` steps, and its arrays are
    placed like those that the function makes over the new mesh.

    An exception of `step_fn` other than `JaxRuntimeError` is raised as it is, in that process.

    Example:
      >>> from tans_fault import run_elastic
      >>> def step(step, w): ...
      >>> def main():
      ...     return run_elastic(step, np.zeros(3), steps=100)
    """
    connected_client("run_elastic")
    if not state.recoverable:
        raise RuntimeError(
            "run_elastic: the job ends when one process is lost, and was expected to live on. "
            "Start it with distributed.initialize(recoverable=True)."
        )
    steps = settings.whole_number("steps", steps, 0, "run_elastic")
    every = settings.whole_number("every", every, 1, "run_elastic")
    longest = check_seconds("longest_step", longest_step)
    is_sharded = isinstance(checkpoints, ShardedCheckpoints)
    if is_sharded and not callable(initial_state):
        raise TypeError(
            f"run_elastic: initial_state is a {type(initial_state).__name__}, expected a function "
            "of a Step with ShardedCheckpoints. Give one that makes the arrays over step.mesh."
        )
    kind = ShardedLoop if is_sharded else Loop
    loop = kind(step_fn, steps, checkpoints, every, observe, longest)
    with StopSignal() as stop:
        return loop.run(initial_state, stop)
