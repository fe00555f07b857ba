"""The sweep: the same calls under JAX and under Tans, each in its own process, then compared.

``python tools/sweep/run.py --reference /path/to/jax-env/bin/python`` prints the differences that
``differences.toml`` doesn't explain, and fails if there are any. What the reference gave is kept in
``--cache`` and used again until a call changes.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import compare  # noqa: E402
import rows  # noqa: E402

type Key = tuple[str, bool]
type Outcomes = dict[Key, Any]
CRASHES = 20


def evaluate(python: str, framework: str, calls: list[rows.Call], known: Outcomes) -> Outcomes:
    """Return the outcome of each call; those in `known` are not made again."""
    wanted = [c for c in calls if (c.text, c.x64) not in known]
    found = dict(known)
    for _ in range(CRASHES):
        wanted = [c for c in wanted if (c.text, c.x64) not in found]
        if not wanted:
            break
        found |= _one_process(python, framework, wanted)
    return found


def _one_process(python: str, framework: str, calls: list[rows.Call]) -> Outcomes:
    numbered = [(place, c.text, c.x64) for place, c in enumerate(calls)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "calls", Path(folder) / "out"
        source.write_bytes(pickle.dumps(numbered))
        command = [python, str(HERE / "worker.py"), "--framework", framework]
        command += ["--calls", str(source), "--out", str(out)]
        subprocess.run(command, check=False, env=environment)
        outcomes = _read(out)
    found: Outcomes = {}
    for place, outcome in outcomes.items():
        call = calls[place]
        found[call.text, call.x64] = outcome or ("crash",)
    return found


def _read(path: Path) -> dict[int, Any]:
    outcomes: dict[int, Any] = {}
    if path.exists():
        with path.open("rb") as file:
            while True:
                try:
                    place, outcome = pickle.load(file)
                except (EOFError, pickle.UnpicklingError):
                    break
                outcomes[place] = outcome
    return outcomes


def cached(path: Path | None) -> Outcomes:
    """Return what an earlier run kept."""
    return pickle.loads(path.read_bytes()) if path and path.exists() else {}


def main() -> int:
    """Run, compare, print; return the number to exit with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", required=True, help="Python of an environment with JAX")
    parser.add_argument("--framework", default="jax", help="the reference's module")
    parser.add_argument("--python", default=sys.executable, help="Python of Tans")
    parser.add_argument("--topic", action="append", help="only these tables of rows/")
    parser.add_argument("--grep", help="only calls that hold this text")
    parser.add_argument("--cache", type=Path, help="file for the outcomes of the reference")
    parser.add_argument("--show", type=int, default=200, help="most differences to print")
    options = parser.parse_args()
    calls = [c for topic in options.topic or [None] for c in rows.load(topic)]
    calls = [c for c in calls if not options.grep or options.grep in c.text]
    theirs = evaluate(options.reference, options.framework, calls, cached(options.cache))
    if options.cache:  # what was kept for other calls stays
        options.cache.write_bytes(pickle.dumps(theirs))
    ours = evaluate(options.python, "tans", calls, {})
    whole = not (options.topic or options.grep)
    return compare.report(calls, theirs, ours, limit=options.show, whole=whole)


if __name__ == "__main__":
    sys.exit(main())
