"""Checks text files: no trailing blanks, one newline at the end, TOML that parses."""

import sys
import tomllib
from pathlib import Path


def faults(path: Path) -> list[str]:
    """Return one line per fault of a file; none for files that are not text."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return []
    found = [
        f"{path}:{number}: blanks at the end of the line"
        for number, line in enumerate(text.split("\n"), 1)
        if line != line.rstrip() and path.suffix != ".md"
    ]
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        found.append(f"{path}: expected exactly one newline at the end of the file")
    if path.suffix == ".toml":
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found.append(f"{path}: not valid TOML: {error}")
    return found


def main(paths: list[str]) -> int:
    """Print the faults of the given files; return 1 when there are any."""
    found = [line for path in paths for line in faults(Path(path))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
