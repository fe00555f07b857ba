"""Keeps one page per public error class in docs/reference/errors; ``--update`` writes them anew.

The text of a page is the class's docstring, the one that ``tans.errors.help`` prints offline.
"""

import importlib
import inspect
import sys
from pathlib import Path

import workspace

FOLDER = workspace.ROOT / "docs" / "reference" / "errors"


# Classes that jaxlib defines: their docstring is not ours.
TEXTS = {
    "JaxRuntimeError": """XLA or a device refused or failed while compiling, running or copying.

The text starts with a status such as `INVALID_ARGUMENT`, `RESOURCE_EXHAUSTED` or `INTERNAL`.

What to do:

* `RESOURCE_EXHAUSTED`: the device is out of memory. Use smaller batches, `checkpoint`, or donate
  arguments that are not needed again.
* `INVALID_ARGUMENT` for a donated or deleted array: its buffer was given to an earlier call; make
  a copy, or do not donate it.
* Anything else: run the function under `disable_jit` to find the operation.
"""
}


def doc(name: str, cls: type[Exception]) -> str:
    """Return the text that documents a class."""
    return (TEXTS.get(name) or inspect.getdoc(cls) or "").replace("``", "`").rstrip()


def error_classes() -> dict[str, type[Exception]]:
    """Return the public error classes of ``tans_core.errors`` by name."""
    module = importlib.import_module("tans_core.errors")
    named = {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in named.items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }


def page(name: str, cls: type[Exception]) -> str:
    """Return the text of a class's page."""
    bases = ", ".join(f"`{b.__name__}`" for b in cls.__bases__ if not b.__name__.startswith("_"))
    return f"# {name}\n\nBases: {bases}\n\n{doc(name, cls)}\n"


def faults(folder: Path = FOLDER) -> list[str]:
    """Return one line per page that is missing, out of date or left over."""
    classes = error_classes()
    found = []
    for name, cls in classes.items():
        file = folder / f"{name}.md"
        if not file.exists():
            found.append(f"{name}: has no page {file.name} in docs/reference/errors")
        elif file.read_text(encoding="utf-8") != page(name, cls):
            found.append(f"{name}: its page differs from its docstring")
    present = {p.stem for p in folder.glob("*.md")} - {"index"}
    found += [f"{name}: page of an error that does not exist" for name in present - set(classes)]
    return sorted(found)


def index(classes: dict[str, type[Exception]]) -> str:
    """Return the text of the page that lists all errors."""
    lines = ["# Errors", "", "`tans.errors.help(name)` prints these pages without a network.", ""]
    for name, cls in sorted(classes.items()):
        summary = doc(name, cls).split("\n\n")[0].replace("\n", " ")
        lines.append(f"* [{name}]({name}.md): {summary}")
    return "\n".join(lines) + "\n"


def update(folder: Path = FOLDER) -> None:
    """Write all pages and their index."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = error_classes()
    for file in folder.glob("*.md"):
        file.unlink()
    for name, cls in classes.items():
        (folder / f"{name}.md").write_text(page(name, cls), encoding="utf-8")
    (folder / "index.md").write_text(index(classes), encoding="utf-8")


def main(argv: list[str]) -> int:
    """Check or update the pages; return 1 when the check finds faults."""
    if argv == ["--update"]:
        update()
        return 0
    found = faults()
    print("\n".join(found) or "error pages: up to date")
    if found:
        print("to write them anew: .venv/bin/python tools/error_pages.py --update")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
