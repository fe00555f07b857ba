"""Runs import-linter on the packages that exist; ``.importlinter`` has the law for all of them."""

import re
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from importlinter.cli import lint_imports

import workspace

CONTRACT = workspace.ROOT / ".importlinter"


def existing_only(text: str, names: frozenset[str]) -> str:
    """Leave out of a contract file the packages that are not in ``names``.

    Args:
      text: the file; a line may name several neighbours, with ``|`` between them.
      names: import names of the packages that exist.
    """
    lines = []
    for line in text.splitlines():
        if not re.match(r"\s+tans", line):
            lines.append(line)
            continue
        parts = [p for p in line.strip().split(" | ") if re.split(r"\W", p)[0] in names]
        if parts:
            lines.append("    " + " | ".join(parts))
    return "\n".join(lines) + "\n"


def main() -> int:
    """Check the layers; return 1 when an import breaks them."""
    present = [p.import_name for p in workspace.load().values()]
    names = frozenset(n for n in present if find_spec(n))
    for name in sorted(set(present) - names):
        print(f"{name} is not installed and not checked; run: python3 tools/dev.py setup")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "contract.ini"
        text = existing_only(CONTRACT.read_text(encoding="utf-8"), names)
        config.write_text(text, encoding="utf-8")
        return lint_imports(config_filename=str(config), no_cache=True)


if __name__ == "__main__":
    sys.exit(main())
