"""Checkpoints of an elastic loop: one file per step that is there wholly or not at all."""

import contextlib
import errno
import os
import re
import secrets
import shutil
import time
import warnings
from collections.abc import Iterator
from operator import index
from pathlib import Path
from typing import Any, Final, Protocol

from tans_fault import archives

type Tree = Any  # a tree of arrays

_NAME: Final = re.compile(r"step-(\d{12})\.npz")
_PARTIAL: Final = "partial-"
_LARGEST_STEP: Final = 10**12 - 1
# Older unfinished files belong to a process that died; one that is being written is never so old.
_ABANDONED_SECONDS: Final = 3600.0


class CheckpointStore(Protocol):
    """Where `run_elastic` keeps its state: `Checkpoints`, `OrbaxCheckpoints`, or one of your own.

    A checkpoint is there wholly or not at all, whenever the process that saves it is lost, and the
    newest whole one is restored.
    """

    def save(self, step: int, state: Tree) -> None:
        """Store a state of NumPy arrays; called by one process, returns when it is stored."""
        ...

    def restore(self, like: Tree) -> tuple[int, Tree] | None:
        """Return the newest step and state with the structure of `like`, or None."""
        ...


class Checkpoints:
    """Checkpoints in a folder, as NumPy archives that are written aside and then renamed.

    Args:
      folder: made if it does not exist.
      keep: how many of the newest are kept.

    Example:
      >>> import tempfile
      >>> checkpoints = Checkpoints(tempfile.mkdtemp())
      >>> checkpoints.save(3, {"w": np.ones(2)})
      >>> checkpoints.restore({"w": None})
      (3, {'w': array([1., 1.])})
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int = 2) -> None:
        self.folder = Path(folder)
        self.keep = check_keep("Checkpoints", keep)

    def steps(self) -> list[int]:
        """Return the steps that are stored, oldest first."""
        names = [path.name for path in entries("Checkpoints", self.folder) if path.is_file()]
        return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def save(self, step: int, state: Tree) -> None:
        """Store a state of arrays.

        A process that dies on the way leaves the older checkpoints as they are.

        Raises:
          TypeError: a leaf is neither array nor number.
          ValueError: the step is below 0 or has more than 12 digits.
          OSError: the file can't be written.
        """
        step = check_step("Checkpoints.save", step)
        with explained("Checkpoints.save", step, self.folder):
            make_folder(self.folder)
            partial = self.folder / f"{_PARTIAL}{secrets.token_hex(8)}"
            try:
                with partial.open("xb") as file:
                    archives.write(file, state, "Checkpoints.save: state")
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(self._path(step))
            except BaseException:
                with contextlib.suppress(OSError):
                    partial.unlink()
                raise
            sync_folder(self.folder)
        for old in self.steps()[: -self.keep]:
            self._path(old).unlink(missing_ok=True)
        remove_abandoned(self.folder)

    def restore(self, like: Tree) -> tuple[int, Tree] | None:
        """Return the newest step and its state, or None when nothing is stored.

        A damaged file is passed over with a warning, for the one before it.

        Args:
          like: any tree with the structure of the state; its leaves may be None. Where they have a
            shape, it must be that of the stored array.

        Raises:
          ValueError: the stored state has another structure, other shapes or a newer format, or
            all files are damaged.
        """
        return restore_newest(
            "Checkpoints", self.folder, self.steps(), lambda s: self._read(s, like)
        )

    def _read(self, step: int, like: Tree) -> Tree:
        with self._path(step).open("rb") as file:
            return archives.read(file, like)

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:012d}.npz"


def restore_newest(name: str, folder: Path, steps: list[int], read: Any) -> tuple[int, Tree] | None:
    """Return the newest step that can be read, and what `read` gives for it.

    Raises:
      DamagedError: all are damaged.
      ValueError: one does not fit.
    """
    for step in reversed(steps):
        try:
            return step, read(step)
        except archives.DamagedError as error:
            warnings.warn(
                f"{name}.restore: step {step} in {folder} is damaged ({error}), expected a whole "
                "checkpoint. The one before it is taken; remove the damaged one.",
                UserWarning,
                stacklevel=3,
            )
        except ValueError as error:
            raise ValueError(
                f"{name}.restore: step {step} in {folder} does not fit the state: {error}. Give "
                "another folder, or remove the checkpoints of the other program."
            ) from None
    if not steps:
        return None
    raise all_damaged(name, folder, steps)


def all_damaged(name: str, folder: Path, steps: list[int]) -> archives.DamagedError:
    """Return the error that there is no step to fall back to."""
    return archives.DamagedError(
        f"{name}.restore: all checkpoints in {folder} are damaged (steps {steps}), expected a "
        "whole one. Put one back from a copy, or empty the folder to begin from the start."
    )


def entries(name: str, folder: Path) -> list[Path]:
    """Return what is in a folder; nothing if there is no such folder yet.

    Raises:
      NotADirectoryError: it is a file.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR,
            f"{name}: {folder} is a file, expected a folder, or a name for a new one. Give another",
        )
    return list(folder.iterdir())


def check_keep(name: str, keep: int) -> int:
    """Return how many checkpoints to keep, an int of at least 1."""
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 1:
        raise ValueError(
            f"{name}: keep={keep!r}, expected an int of at least 1. Leave it out for 2."
        )
    return keep


def check_step(name: str, step: int) -> int:
    """Return a step as an int of at most 12 digits.

    Raises:
      TypeError: it is no int.
      ValueError: it is out of range.
    """
    try:
        number = index(step)
    except TypeError:
        raise TypeError(
            f"{name}: step={step!r} is a {type(step).__name__}, expected an int. Write int(step)."
        ) from None
    if not 0 <= number <= _LARGEST_STEP:
        raise ValueError(
            f"{name}: step={number}, expected 0 to {_LARGEST_STEP}. Give the number of steps done."
        )
    return number


@contextlib.contextmanager
def explained(name: str, step: int, folder: Path) -> Iterator[None]:
    """Give an error of the file system the three parts of ours, and keep its class."""
    try:
        yield
    except OSError as error:
        text = (
            f"{name}: step {step} could not be written to {folder} ({error.strerror or error}); "
            "expected a folder with room that this user may write to. Older checkpoints are as "
            "they were; make room, or give another folder"
        )
        raise (OSError(text) if error.errno is None else OSError(error.errno, text)) from error


def make_folder(folder: Path) -> None:
    """Make a folder with those above it."""
    folder.mkdir(parents=True, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make sure that a rename in a folder survives the loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Remove unfinished files of processes that died long ago."""
    for path in folder.glob(f"{_PARTIAL}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
