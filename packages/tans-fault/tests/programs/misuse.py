"""An elastic loop that is used wrongly; arguments: what goes wrong, folder of checkpoints.

The state is ``{"w": [SIZE], "n": ()}``; process 1 is the one with the mistake, if only one has it.
"""

import os
import sys
import threading
from pathlib import Path

import numpy as np
from joining import ID, join, say, total

import tans
from tans_fault import Checkpoints, distributed, epochs, run_elastic

case, folder = sys.argv[1], Path(sys.argv[2])
SIZE = int(os.environ.get("TANS_TEST_SIZE", "2"))
PAUSE = float(os.environ.get("TANS_TEST_PAUSE", "0.01"))
pause = threading.Event()


def step(info, state):
    pause.wait(PAUSE)
    sum_of_all = total(info.devices, 12.0 / len(info.devices))
    new = {"w": state["w"] * 0.5 + sum_of_all, "n": state["n"] + 1}
    if info.index != 3:
        return new
    mine = ID == 1
    match case:
        case "bug" if mine:
            raise KeyError("a mistake of mine")
        case "bug of all":
            raise KeyError("a mistake of all")
        case "hang" if mine:
            threading.Event().wait()
        case "exit" if mine:
            sys.exit(3)
        case "tree":
            return {"w": new["w"], "m": new["n"]}
        case "shape":
            return new | {"w": np.zeros(5)}
        case "text":
            return new | {"n": "three"}
        case "nothing":
            return None
        case "key":
            return new | {"n": tans.random.key(0)}
        case "diverge":
            return new | {"n": np.asarray(ID)}
    return new


def observe(report):
    value = report.state["w"][0]
    say(f"{report.event} {report.step} alive {list(report.alive)} state {value!r}")
    if case == "bad observer" and report.step == 5 and ID == 1:
        raise KeyError("an observer's mistake")


def first():
    return {"w": np.ones(SIZE), "n": np.int64(0)}


def run(**changes):
    options = {"steps": 8, "every": 4, "checkpoints": Checkpoints(folder), "observe": observe}
    final = run_elastic(step, changes.pop("state", first()), **(options | changes))
    say("final", final["w"][0], final["n"])


def cases():
    match case:
        case "other steps":
            run(steps=8 + ID)
        case "key at first":
            run(state=first() | {"key": tans.random.key(0)})
        case "text at first":
            run(state=first() | {"key": "text"})
        case "past":
            run(steps=8)
            run(steps=4)
        case "numbers":
            for name, value in (("steps", -1), ("steps", "8"), ("every", 0), ("every", 2.5)):
                try:
                    run(**{name: value})
                except (TypeError, ValueError) as error:
                    say("refused", type(error).__name__, error)
            for value, error in (("1", TypeError), (True, TypeError), (0, ValueError)):
                try:
                    run(longest_step=value)
                except error as problem:
                    say("refused", type(problem).__name__, problem)
        case "hang":
            epochs._GRACE_SECONDS = 0
            run(longest_step=1.5)
        case "two loops":
            epochs._GRACE_SECONDS = 90
            for part in ("a", "b"):
                run(steps=20, checkpoints=Checkpoints(folder / part))
                pause.wait(float(os.environ.get("TANS_TEST_BETWEEN", "0")))
        case "slow joiner":
            epochs._GRACE_SECONDS = -2
            if (folder / "slow").exists():
                tans.devices()
                pause.wait(12.0)
            run(steps=10**6, checkpoints=None)
        case "long":
            run(steps=10**6)
        case "no checkpoints":
            run(steps=40, checkpoints=None)
        case _:
            run()


join()
try:
    cases()
except Exception as error:
    say("raised", type(error).__name__, str(error).replace("\n", " "))
    raise
distributed.shutdown()
say("done")
