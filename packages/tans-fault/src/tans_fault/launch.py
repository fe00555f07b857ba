"""Start a job on this machine and look after it: ``python -m tans_fault.launch -n 4 train.py``.

The job's own coordinator runs beside the workers, so that any of them may be lost; a worker that
ends with an error is started anew. If the coordinator is lost, all are started anew and go on from
their checkpoint. Each line of output gets the number of its worker. Standard input is not passed
on. What a worker has started ends with it.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from tans_fault.options import at_least, count, seconds
from tans_fault.supervisor import Plan, Supervisor


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job to its end; return 0 if every worker ended well, else 1, 124 at the time limit."""
    options = _parser().parse_args(arguments)
    plan = Plan(
        command=(sys.executable, options.script, *options.arguments),
        count=options.num_processes,
        standalone=not options.embedded_coordinator,
        recoverable=options.recoverable,
        restarts=options.restarts,
        delay=options.restart_delay,
        seconds=options.timeout,
        grace=options.grace,
        heartbeat=options.heartbeat_timeout,
        collective=options.collective_timeout,
    )
    if not os.path.isfile(options.script):
        sys.stderr.write(
            f"tans_fault.launch: there is no file {options.script}; expected a Python program. "
            "Give its path after the options.\n"
        )
        return 2
    return Supervisor(plan).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tans_fault.launch", description=__doc__)
    add = parser.add_argument
    add("-n", "--num-processes", type=count, required=True, help="number of workers")
    kind = parser.add_mutually_exclusive_group().add_argument
    kind("--embedded-coordinator", action="store_true", help="worker 0 runs the coordinator")
    kind("--standalone-coordinator", action="store_true", help="a process of its own (default)")
    add("--recoverable", action=argparse.BooleanOptionalAction, default=True)
    restarts = "restarts in all before the job is given up"
    add("--restarts", type=at_least(0, int), default=10, help=restarts)
    add("--restart-delay", type=seconds, default=0.25, help="seconds, doubled at each restart")
    add("--timeout", type=seconds, default=None, help="seconds after which all is ended")
    add("--grace", type=seconds, default=30.0, help="seconds from SIGTERM to SIGKILL")
    add("--heartbeat-timeout", type=count, default=10, help="seconds to notice a lost worker")
    add("--collective-timeout", type=count, default=20, help="seconds a collective waits")
    add("script", help="Python program, started once per worker")
    add("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return parser


if __name__ == "__main__":
    sys.exit(main())
