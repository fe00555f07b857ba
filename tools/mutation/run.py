"""The mutation run: seeded faults in rules, one at a time, against the tests of their family.

``python tools/mutation/run.py --count 100 --seed 1`` prints each fault and whether a test caught
it, and fails if less than ``--least`` per cent were caught. It works on a copy of the checkout. A
test that fails is run again without the fault, and doesn't count unless it passes then. A fault
that ``equivalent.toml`` shows to change nothing is printed with the reason and not counted.

First come quick tests that run the line (noted by the plugin ``reach``; ``--reach FOLDER`` keeps
the notes for the next run), then those that ``families.toml`` names, then the whole suites (not
with ``--no-wide``).
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import faults  # noqa: E402
import suites  # noqa: E402


def parsed() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the faults to run")
    parser.add_argument("--least", type=float, default=95.0, help="per cent that must be caught")
    parser.add_argument("--reach", type=Path, help="folder that keeps which tests run which lines")
    parser.add_argument("--wide", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    return parser.parse_args()


def main() -> int:
    """Sample, run, print; return the number to exit with."""
    options = parsed()
    chosen = list(enumerate(faults.sample(ROOT, options.count, options.seed)))
    chosen = [c for c in chosen if options.only is None or c[0] in options.only]
    end, results = time.monotonic() + 60 * options.minutes, []
    with tempfile.TemporaryDirectory() as folder:
        kept = options.reach or Path(folder) / "reach"
        copy = suites.Copy(ROOT, Path(folder) / "copy", kept.resolve())
        for number, fault in chosen:
            if time.monotonic() > end:
                break
            if reason := faults.equivalent(fault):
                print(f"{number:3} same   {fault.place}: {reason}", flush=True)
                continue
            start = time.monotonic()
            found, by = copy.caught(fault, wide=options.wide)
            results.append(found)
            print(f"{number:3} {'caught' if found else 'MISSED'} {fault.place} {fault.kind}: "
                  f"{' '.join(fault.old.split())[:60]} -> {' '.join(fault.new.split())[:60]}  {by} "
                  f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
    share = 100 * sum(results) / max(1, len(results))
    print(f"{sum(results)} of {len(results)} faults caught: {share:.0f} per cent")
    return int(share < options.least)


if __name__ == "__main__":
    sys.exit(main())
