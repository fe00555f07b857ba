"""Checkpoints in Orbax's format, which JAX programs read and write."""

import contextlib
import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from tans_core import tree
from tans_core.tree_paths import keystr
from tans_fault import archives
from tans_fault.checkpoints import check_keep, check_step, entries, explained, restore_newest

type Tree = Any  # a tree of arrays
type KeyPath = tuple[Any, ...]

_CHILD: Final = Path(__file__).with_name("orbax_child.py")
_LAST_WORDS: Final = 2000
_LONGEST_END_SECONDS: Final = 60.0


class OrbaxCheckpoints:
    """Checkpoints in a folder as Orbax's ``CheckpointManager`` writes them; needs orbax-checkpoint.

    A step is there wholly or not at all, and the newest one that can be read is restored, as with
    `Checkpoints`. A JAX program restores them with ``CheckpointManager(folder).restore(step)``, and
    what it stores with ``StandardSave`` or ``PyTreeSave`` is restored here.

    Orbax runs in a child process on CPU, since it imports jax: arrays go there and come back as
    NumPy arrays. Containers other than dicts become dicts and lists on disk, as in Orbax; `restore`
    gives the containers of ``like``. Orbax has no arrays of size 0.

    Args:
      folder: made if it does not exist.
      keep: how many of the newest are kept.

    Raises:
      ImportError: orbax-checkpoint is not installed.

    Example:
      >>> def main():
      ...     return run_elastic(step, state, steps=9, checkpoints=OrbaxCheckpoints("saved"))
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int = 2) -> None:
        self.folder = Path(folder)
        self.keep = check_keep("OrbaxCheckpoints", keep)
        self._child: _Child | None = None
        self._end: Callable[[], object] = bool  # ends the child, at the latest with this program
        if not _is_installed():
            raise ImportError(
                "OrbaxCheckpoints: the package orbax-checkpoint was not found, expected it beside "
                "Tans. Run pip install 'tans-fault[orbax]', or use Checkpoints.",
                name="orbax.checkpoint",
            )

    def steps(self) -> list[int]:
        """Return the steps that are stored, oldest first."""
        found = entries("OrbaxCheckpoints", self.folder)
        return sorted(int(p.name) for p in found if p.name.isdecimal() and p.is_dir())

    def save(self, step: int, state: Tree) -> None:
        """Store a state of arrays; returns when it is stored.

        Raises:
          TypeError: a leaf is neither array nor number.
          ValueError: the step is out of range, an array has size 0, or there is none.
          OSError: Orbax can't write it.
        """
        step = check_step("OrbaxCheckpoints.save", step)
        plain = _containers(state)
        with explained("OrbaxCheckpoints.save", step, self.folder):
            status, value = self._ask("save", str(self.folder), step, plain, self.keep)
            if status != "done":
                raise OSError(value)

    def restore(self, like: Tree) -> tuple[int, Tree] | None:
        """Return the newest step and its state as NumPy arrays, or None when nothing is stored.

        A damaged checkpoint is passed over with a warning, for the one before it.

        Args:
          like: any tree with the structure of the state; its leaves may be None. Where they have a
            shape, it must be that of the stored array.

        Raises:
          ValueError: the stored state has another structure or other shapes, or all are damaged.
        """

        def read(step: int) -> Tree:
            status, value = self._ask("restore", str(self.folder), step)
            if status == "damaged":
                raise archives.DamagedError(value)
            if status == "failed":
                raise ValueError(value)
            return _like(value, like)

        try:
            return restore_newest("OrbaxCheckpoints", self.folder, self.steps(), read)
        finally:
            self.close()

    def close(self) -> None:
        """End the child process; the next use starts another."""
        self._end()
        self._child = None

    def _ask(self, name: str, *arguments: Any) -> tuple[str, Any]:
        if self._child is None:
            self._child = _Child()
            self._end = weakref.finalize(self, self._child.close)
        try:
            return self._child.ask(name, arguments)
        except BaseException:
            self.close()
            raise


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("orbax.checkpoint") is not None
    except ModuleNotFoundError:
        return False


class _Child:
    """The process in which Orbax runs."""

    def __init__(self) -> None:
        env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the child)
        self._popen = subprocess.Popen(
            [sys.executable, str(_CHILD)], env=env | {"JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
        )  # fmt: skip

    def ask(self, name: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        """Send a request and wait for the answer.

        Raises:
          RuntimeError: the process ended.
        """
        to, of = self._popen.stdin, self._popen.stdout
        assert to is not None
        assert of is not None
        try:
            pickle.dump((name, arguments), to, pickle.HIGHEST_PROTOCOL)
            to.flush()
            return pickle.load(of)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            status = self._popen.wait()
            self._said.seek(0)
            text = self._said.read()[-_LAST_WORDS:].decode(errors="replace").strip()
            raise RuntimeError(
                f"OrbaxCheckpoints: the process that runs Orbax ended with status {status} during "
                f"{name}, expected an answer. Mend what it says, or use Checkpoints: {text}"
            ) from None

    def close(self) -> None:
        """End the process."""
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._popen.wait(_LONGEST_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._said.close()


def _containers(state: Tree) -> Any:
    """Return a state as dicts and lists of NumPy arrays."""
    nested: Any = None
    for path, leaf in tree.leaves_with_path(state):
        name = f"OrbaxCheckpoints.save: state{keystr(path)}"
        array = archives.on_host(leaf, name)
        if array.size == 0:
            raise ValueError(
                f"{name} has shape {array.shape}, expected an array with elements: Orbax stores no "
                "others. Keep it outside of the state, or use Checkpoints."
            )
        nested = _put(nested, path, array)
    if nested is None:
        raise ValueError(
            "OrbaxCheckpoints.save: the state has no arrays, expected at least one: Orbax stores "
            "no empty trees. Put a number there, or use Checkpoints."
        )
    return nested


def _put(nested: Any, path: KeyPath, array: np.ndarray) -> Any:
    if not path:
        return array
    key = _key(path[0])
    if isinstance(key, int):
        nested = [] if nested is None else nested
        nested += [None] * (key + 1 - len(nested))
    else:
        nested = {} if nested is None else nested
        nested.setdefault(key, None)
    nested[key] = _put(nested[key], path[1:], array)
    return nested


def _key(part: Any) -> int | str:
    """Return a part of a key path: the index in a sequence, or a name."""
    if hasattr(part, "idx"):
        return part.idx
    return str(part.name if hasattr(part, "name") else part.key)


def _like(stored: Any, like: Tree) -> Tree:
    """Return stored arrays in the containers of `like`."""
    found = {_name(path): np.asarray(leaf) for path, leaf in tree.leaves_with_path(stored)}
    names, leaves, structure = archives.matching(like, list(found), _name)
    archives.check_shapes([(n, "", found[n].shape) for n in names], leaves)
    return structure.unflatten([found[n] for n in names])


def _name(path: KeyPath) -> str:
    return "".join(f"[{_key(part)}]" for part in path)
