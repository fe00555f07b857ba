"""Checkpoints of a state that no process holds whole: each writes its pieces, into one folder.

The folder of a step holds an archive per process, in the format of `tans_fault.archives`, whose
``about`` says which part of which array each piece is. So a state can be restored over other
devices, and by more or fewer processes. It gets its name when all pieces are written.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from tans_core import ArrayImpl, tree
from tans_core.tree_paths import keystr
from tans_fault import archives
from tans_fault.checkpoints import (
    check_keep,
    check_step,
    entries,
    explained,
    make_folder,
    remove_abandoned,
    restore_newest,
    sync_folder,
)  # fmt: skip
from tans_xla import backend
from tans_xla.make_array import make_array_from_callback

type Tree = Any  # a tree of arrays
type Box = list[tuple[int, int]]  # start and stop in each dimension

_NAME: Final = re.compile(r"step-(\d{12})")
_PART: Final = re.compile(r"part-(\d+)-of-(\d+)\.npz")


class ShardedCheckpoints:
    """Checkpoints in a folder that all processes share, of arrays over devices of several.

    With it `run_elastic` keeps the state on the devices, as the steps leave it, and goes back to
    the newest checkpoint when processes come or go.

    Args:
      folder: made if it does not exist; the same for all processes.
      keep: how many of the newest are kept.

    Example:
      >>> import tempfile
      >>> from tans_xla.transfer import device_put
      >>> checkpoints = ShardedCheckpoints(tempfile.mkdtemp())
      >>> state = {"w": device_put(np.arange(4.0, dtype=np.float32))}
      >>> checkpoints.save(3, state)
      >>> checkpoints.restore(state)
      (3, {'w': Array([0., 1., 2., 3.], dtype=float32)})
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int = 2) -> None:
        self.folder = Path(folder)
        self.keep = check_keep("ShardedCheckpoints", keep)

    def steps(self) -> list[int]:
        """Return the steps that are stored, oldest first."""
        names = [p.name for p in entries("ShardedCheckpoints", self.folder) if p.is_dir()]
        return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def save(
        self,
        step: int,
        state: Tree,
        *,
        place: tuple[int, int] | None = None,
        meet: Callable[[], None] | None = None,
    ) -> None:
        """Store a state; all processes that have a part of it call this.

        Args:
          step: number of steps done.
          state: tree of arrays, numbers and NumPy arrays; the latter two equal on all processes.
          place: which of how many processes this is, from 0; by default among all.
          meet: waits until all of them have called it; not needed for one.

        Raises:
          TypeError: a leaf is neither array nor number.
          ValueError: the step is out of range, or there are other processes and no `meet`.
          OSError: this process's pieces can't be written.
        """
        number = check_step("ShardedCheckpoints.save", step)
        part, parts = place or (backend.process_index(), backend.process_count())
        if parts > 1 and meet is None:
            raise ValueError(
                f"ShardedCheckpoints.save: given no meet in a job of {parts} processes, expected "
                "a function that waits for all. Write meet=lambda: sync_global_devices('saved')."
            )
        aside = self.folder / f"partial-step-{number:012d}"
        with explained("ShardedCheckpoints.save", number, self.folder):
            make_folder(aside)
            path = aside / f"part-{part}-of-{parts}.npz"
            with path.open("wb") as file:
                _write(file, state, part)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(aside)
            if meet is not None:
                meet()
            if part == 0:
                self._commit(number, aside, parts)
            if meet is not None:
                meet()

    def _commit(self, step: int, aside: Path, parts: int) -> None:
        for path in aside.iterdir():  # of an attempt by other processes
            if path.name not in {f"part-{i}-of-{parts}.npz" for i in range(parts)}:
                path.unlink()
        target = self._path(step)
        older = self.folder / f"partial-replaced-{step:012d}"
        if target.exists():  # damaged, or as good as this one
            shutil.rmtree(older, ignore_errors=True)
            target.rename(older)
        aside.rename(target)
        sync_folder(self.folder)
        shutil.rmtree(older, ignore_errors=True)
        for old in self.steps()[: -self.keep]:
            shutil.rmtree(self._path(old), ignore_errors=True)
        remove_abandoned(self.folder)

    def restore(self, like: Tree, *, step: int | None = None) -> tuple[int, Tree] | None:
        """Return a step and its state, over the devices that `like` says; None if none is stored.

        Args:
          like: tree with the structure of the state. A leaf with a `sharding` (an array or a
            `ShapeDtypeStruct`) gives an array placed like that; another one, a NumPy array.
          step: which step; the newest when left out.

        Raises:
          ValueError: the stored state has another structure, other shapes or a newer format, or is
            damaged.
        """
        steps = self.steps() if step is None else [step]
        read = lambda number: self._read(number, like)  # noqa: E731
        return restore_newest("ShardedCheckpoints", self.folder, steps, read)

    def _read(self, step: int, like: Tree) -> Tree:
        with contextlib.ExitStack() as files:
            parts = [
                archives.Archive(files.enter_context(path.open("rb"))) for path in self._parts(step)
            ]
            whole = _Whole(parts)
            places = {path: i for i, (path, _, _) in enumerate(whole.leaves)}
            names, leaves, structure = archives.matching(like, list(places))
            order = [places[name] for name in names]
            archives.check_shapes([whole.leaves[i] for i in order], leaves)
            return structure.unflatten(map(whole.place, order, leaves))

    def _parts(self, step: int) -> list[Path]:
        folder = self._path(step)
        paths = list(folder.iterdir()) if folder.is_dir() else []
        matches = [(path, m) for path in paths if (m := _PART.fullmatch(path.name))]
        found = {int(m[1]): (path, int(m[2])) for path, m in matches}
        count = next(iter(found.values()))[1] if found else 1
        if sorted(found) != list(range(count)):
            raise archives.DamagedError(f"it has the parts {sorted(found)} of {count}")
        return [found[i][0] for i in range(count)]

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:012d}"


class _Whole:
    """The archives of one step, seen as whole arrays."""

    def __init__(self, parts: list[archives.Archive]) -> None:
        self.leaves = archives.leaves_of(parts[0])
        self._pieces: list[list[tuple[archives.Archive, int, Box]]] = [[] for _ in self.leaves]
        for archive in parts:
            for i, (leaf, box) in enumerate(archive.about["pieces"]):
                self._pieces[leaf].append((archive, i, [(a, b) for a, b in box]))

    def place(self, leaf: int, like: Any) -> Any:
        """Return an array where `like` says."""
        _, dtype, shape = self.leaves[leaf]
        sharding = getattr(like, "sharding", None)
        if sharding is None:
            return self._cut(leaf, tuple(slice(0, n) for n in shape))
        cut = lambda index: self._cut(leaf, index)  # noqa: E731
        return make_array_from_callback(shape, sharding, cut, np.dtype(dtype))

    def _cut(self, leaf: int, index: tuple[slice, ...]) -> np.ndarray:
        path, dtype, shape = self.leaves[leaf]
        asked = _box(index, shape)
        out = np.empty([stop - start for start, stop in asked], np.dtype(dtype))
        filled = 0
        for archive, i, box in self._pieces[leaf]:
            common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(asked, box, strict=True)]
            if all(start < stop for start, stop in common):
                to, of = (
                    tuple(slice(a - b[0], c - b[0]) for (a, c), b in zip(common, base, strict=True))
                    for base in (asked, box)
                )
                out[to] = archive.array(i, dtype).reshape([d - c for c, d in box])[of]
                filled += int(np.prod([stop - start for start, stop in common]))
        if filled != out.size:
            raise archives.DamagedError(f"pieces of state{path} are missing")
        return out


def _write(file: IO[bytes], state: Tree, part: int) -> None:
    leaves: list[dict[str, Any]] = []
    pieces: list[tuple[int, Box]] = []
    arrays: list[np.ndarray] = []
    for number, (path, leaf) in enumerate(tree.leaves_with_path(state)):
        name = f"ShardedCheckpoints.save: state{keystr(path)}"
        if isinstance(leaf, ArrayImpl) and not leaf.is_fully_addressable:
            archives.check_kind(leaf, name)
            dtype, shape = np.dtype(leaf.dtype), tuple(leaf.shape)
            held = [shard for shard in leaf.addressable_shards if shard.replica_id == 0]
            mine = [(shard.index, archives.on_host(shard.data, name)) for shard in held]
        else:
            whole = archives.on_host(leaf, name)
            dtype, shape = whole.dtype, whole.shape
            mine = [(tuple(slice(0, n) for n in shape), whole)] if part == 0 else []
        leaves.append({"path": keystr(path), "dtype": dtype.name, "shape": shape})
        pieces += [(number, _box(index, shape)) for index, _ in mine]
        arrays += [array for _, array in mine]
    archives.pack(file, {"leaves": leaves, "pieces": pieces}, arrays)


def _box(index: tuple[slice, ...], shape: tuple[int, ...]) -> Box:
    return [part.indices(n)[:2] for part, n in zip(index, shape, strict=True)]
