"""Checkpoints of an elastic loop: one file per step that is there wholly or not at all."""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from tans_core import tree

_NAME: Final = re.compile(r"step-(\d{12})\.npz")


class Checkpointer(Protocol):
    """What `run_elastic` needs of a checkpoint format."""

    def save(self, step: int, state: Any) -> None:
        """Store a state; called by one process."""
        ...

    def restore(self, like: Any) -> tuple[int, Any] | None:
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
        if keep < 1:
            raise ValueError(f"Checkpoints: keep={keep}, expected at least 1. Leave it out for 2.")
        self.folder = Path(folder)
        self.keep = keep

    def steps(self) -> list[int]:
        """Return the steps that are stored, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(int(m[1]) for p in self.folder.iterdir() if (m := _NAME.fullmatch(p.name)))

    def save(self, step: int, state: Any) -> None:
        """Store a state of arrays.

        A process that dies on the way leaves the older checkpoints as they are.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        data = dump(state)
        handle, name = tempfile.mkstemp(dir=self.folder, prefix="partial-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path(step))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        for old in self.steps()[: -self.keep]:
            self._path(old).unlink(missing_ok=True)

    def restore(self, like: Any) -> tuple[int, Any] | None:
        """Return the newest step and its state, or None when nothing is stored.

        Args:
          like: any tree with the structure of the state.

        Raises:
          ValueError: the stored state has another number of arrays.
        """
        steps = self.steps()
        if not steps:
            return None
        path = self._path(steps[-1])
        try:
            return steps[-1], load(path.read_bytes(), like)
        except ValueError as error:
            raise ValueError(
                f"Checkpoints.restore: {path.name} does not fit the state: {error}. Give another "
                "folder, or remove the checkpoints of the older program."
            ) from None

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:012d}.npz"


def dump(state: Any) -> bytes:
    """Return a tree of arrays as bytes, without its structure."""
    leaves = [np.asarray(leaf) for leaf in tree.leaves(state)]
    named: dict[str, Any] = {f"{i}": _plain(leaf) for i, leaf in enumerate(leaves)}
    names = np.array([leaf.dtype.name for leaf in leaves], dtype=str)
    file = io.BytesIO()
    np.savez(file, dtypes=names, **named)
    return file.getvalue()


def load(data: bytes, like: Any) -> Any:
    """Return the tree of arrays that `dump` was given.

    Args:
      data: from `dump`.
      like: any tree with the structure.

    Raises:
      ValueError: it has another number of arrays.
    """
    leaves, structure = tree.flatten(like, is_leaf=lambda x: x is None)
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        names = stored["dtypes"]
        if len(names) != len(leaves):
            raise ValueError(f"it holds {len(names)} arrays, expected {len(leaves)}")
        found = [_restored(stored[f"{i}"], str(name)) for i, name in enumerate(names)]
    return structure.unflatten(found)


def _plain(leaf: np.ndarray) -> np.ndarray:
    """Return the bytes of a dtype that NumPy files can't name (bfloat16, float8, int4)."""
    if leaf.dtype.isbuiltin == 1:
        return leaf
    return np.frombuffer(leaf.tobytes(), np.uint8).reshape(*leaf.shape, leaf.dtype.itemsize)


def _restored(stored: np.ndarray, name: str) -> np.ndarray:
    dtype = np.dtype(name)
    if dtype.isbuiltin == 1:
        return stored
    return np.frombuffer(stored.tobytes(), dtype).reshape(stored.shape[:-1])
