"""Measures Tans against JAX 0.12: ``nox -s peer_bench -- --programs stages --rounds 5``.

Both sides sit in environments of their own over the same jaxlib, Tans from wheels as a user has
it. Arguments go to ``compare.py``; the report and the raw figures are written to ``bench-out/``.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import report  # noqa: E402

import environment  # noqa: E402
import sessions  # noqa: E402
import workspace  # noqa: E402

JAX = "jax==0.12.0.1"
JAXLIB = "jaxlib==0.12.0.1"
OUT = workspace.ROOT / "bench-out"
ENVIRONMENTS = workspace.ROOT / ".nox"


def make(name: str, arguments: list[str], *, fresh: bool) -> Path:
    """Make an environment with the given requirements, once; return its interpreter.

    Args:
      name: the folder under ``.nox``.
      arguments: what to install.
      fresh: install even where the environment exists, replacing our packages.
    """
    folder = ENVIRONMENTS / name
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    exists = python.exists()
    if exists and not fresh:
        return python
    if not exists:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, *arguments], check=True)
    if exists:  # the same version, other content
        wheels = [a for a in arguments if a.endswith(".whl")]
        subprocess.run([*pip, "--force-reinstall", "--no-deps", *wheels], check=True)
    return python


def tans_environment() -> Path:
    """Install wheels of the checkout, as they are now, in an environment."""
    packages = workspace.load()
    wheels = [str(sessions.build_wheel(p, OUT / "wheels")) for p in packages.values()]
    return make("peer-tans", [JAXLIB, *wheels], fresh=True)


def compare(arguments: list[str]) -> int:
    """Run both sides alternating and write the report."""
    tans, jax = tans_environment(), make("peer-jax", [JAX, JAXLIB], fresh=False)
    raw, table = OUT / "runs.json", OUT / "figures.md"
    command = [sys.executable, str(HERE / "compare.py"), "--a", f"{tans}:tans", "--b", f"{jax}:jax"]
    # In front, so that arguments after "--" stay last: those are for worker.py.
    status = subprocess.call([*command, "--raw", str(raw), "--out", str(table), *arguments])
    if status:
        return status
    text = report.report(json.loads(raw.read_text(encoding="utf-8")))
    (OUT / "report.md").write_text(text, encoding="utf-8")
    print("\n" + text.split("## Every figure")[0])
    print(f"every figure: {OUT / 'report.md'}")
    return 0


def alone(arguments: list[str]) -> int:
    """Run the benchmark programs on Tans alone, from the checkout."""
    python = environment.venv_python(str(workspace.ROOT))
    worker = [python, str(HERE / "worker.py"), "--framework", "tans"]
    if "--program" in arguments:
        return subprocess.call([*worker, *arguments])
    status = 0
    for program in sorted(p.stem for p in (HERE / "programs").glob("[a-z]*.py")):
        print(f"== {program}", flush=True)
        status |= subprocess.call([*worker, "--program", program, *arguments])
    return status


def main(argv: list[str]) -> int:
    """Compare, or with ``--alone`` run one side."""
    OUT.mkdir(exist_ok=True)
    if argv[:1] == ["--alone"]:
        return alone(argv[1:])
    return compare(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
