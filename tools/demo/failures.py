"""Train on four processes, lose one in the middle of an epoch, replace it, and compare.

For each of three seeds the digits are learned twice: undisturbed, and with one process killed by
SIGKILL and replaced some seconds later. The program prints the accuracies and saves a picture of
who was alive when.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

WORKER = Path(__file__).with_name("failures_worker.py")
PROCESSES, LIMIT_SECONDS = 4, 240
LARGEST_DIFFERENCE = 0.010
PAUSE_SECONDS = 0.5  # between two steps, from which on no one is at work


def train(folder: Path, seed: int, epochs: int, fault: str) -> float:
    """Run one job; return its test accuracy."""
    folder.mkdir(parents=True)
    launch = [sys.executable, "-m", "tans_fault.launch", "-n", str(PROCESSES)]
    launch += ["--heartbeat-timeout", "3", "--collective-timeout", "3", "--restart-delay", "4"]
    launch += ["--timeout", str(LIMIT_SECONDS), str(WORKER)]
    command = [*launch, str(folder), str(seed), str(epochs), fault]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the job ended with status {done.returncode}:\n{done.stdout[-4000:]}")
    return float((folder / "accuracy").read_text())


def lives(folder: Path) -> list[tuple[int, list[dict[str, Any]]]]:
    """Return the process index and the events of each start of a process."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        found.append((int(path.name.partition("-")[0]), events))
    return found


def runs(times: list[float]) -> list[list[float]]:
    """Split times in ascending order at the pauses."""
    found: list[list[float]] = []
    for time in times:
        if found and time - found[-1][-1] < PAUSE_SECONDS:
            found[-1].append(time)
        else:
            found.append([time])
    return found


def draw(folder: Path, path: Path) -> None:
    """Save a picture: the loss over time, and below it who was alive."""
    every = lives(folder)
    zero = min(events[0]["time"] for _, events in every)
    end = max(events[-1]["time"] for _, events in every)
    figure, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(8, 4.6), height_ratios=(2, 1.3), layout="constrained"
    )
    steps = {e["step"]: e for _, events in every for e in events if e["event"] == "step"}
    losses = {e["time"] - zero: e["loss"] for e in steps.values()}
    for part in runs(sorted(losses)):
        top.semilogy(part, [losses[time] for time in part], lw=0.8, color="tab:blue")
    top.set_ylabel("training loss")
    top.set_title("Digits on four processes: one is killed and replaced")
    for process, events in every:
        first, last = events[0]["time"] - zero, events[-1]["time"] - zero
        bottom.barh(process, last - first, left=first, height=0.6, color="lightgray")
        for part in runs([e["time"] - zero for e in events if e["event"] == "step"]):
            width = part[-1] - part[0]
            bottom.barh(process, width, left=part[0], height=0.6, color="tab:green")
        if events[-1]["time"] < end - 1:
            bottom.plot(last, process, "x", color="tab:red", ms=10, mew=3)
    changes = sorted(
        {round(e["time"] - zero, 1) for _, ev in every for e in ev if e["event"] == "change"}
    )
    for at in changes:
        for axis in (top, bottom):
            axis.axvline(at, color="gray", lw=0.5, ls=":")
    bottom.set_yticks(range(PROCESSES), [f"process {i}" for i in range(PROCESSES)])
    bottom.invert_yaxis()
    bottom.set_xlabel(
        "seconds (green: at work, gray: starting or waiting, dotted: a change was noticed)"
    )
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--picture", type=Path, default=Path("demo-out/failures.svg"))
    options = parser.parse_args()
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(options.seeds):
            calm = train(Path(name) / f"calm-{seed}", seed, options.epochs, "-")
            troubled = Path(name) / f"troubled-{seed}"
            # 14 steps are an epoch: this is the middle of one.
            lossy = train(troubled, seed, options.epochs, f"{1 + seed % 3}:{14 * 8 + 7}")
            worst = max(worst, abs(calm - lossy))
            print(
                f"seed {seed}: undisturbed {calm:.2%}, one lost and replaced {lossy:.2%}",
                flush=True,
            )
            if seed == 0:
                draw(troubled, options.picture)
    print(
        f"largest difference {worst:.2%}, allowed {LARGEST_DIFFERENCE:.2%}; see {options.picture}"
    )
    sys.exit(worst > LARGEST_DIFFERENCE)


if __name__ == "__main__":
    main()
