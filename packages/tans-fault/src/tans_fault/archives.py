"""A tree of arrays as the bytes of a NumPy archive, and back.

The archive holds the leaves under their numbers, and under ``about`` a JSON text: the version of
this format, and the place, dtype and shape of each leaf. NumPy's archives carry a checksum of each
member, so damage is noticed. Dtypes that NumPy's files can't name (bfloat16, float8, int4) are kept
as bytes.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, Final

import numpy as np

from tans_core import tree
from tans_core.dtypes import is_extended
from tans_core.tree_paths import keystr

FORMAT: Final = 2
type Tree = Any  # a tree of arrays
type About = dict[str, Any]
type KeyPath = tuple[Any, ...]
type LeafType = tuple[str, str, tuple[int, ...]]  # place, dtype, shape

_NUMBERS: Final = "biufc"
_OF_ML_DTYPES: Final = 2  # what `isbuiltin` says of a dtype that another package has registered
_LONGEST_LIST: Final = 3
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, TypeError, ValueError,
    NotImplementedError,
)  # fmt: skip


class DamagedError(ValueError):
    """The bytes are no archive of this format, or not a whole one."""


def write(file: IO[bytes], state: Tree, what: str = "the state") -> None:
    """Write a tree of arrays to a binary file that can be sought in.

    Raises:
      TypeError: a leaf is neither array nor number.
    """
    paths, arrays = leaves_on_host(state, what)
    pack(file, {"leaves": [_about(*leaf) for leaf in zip(paths, arrays, strict=True)]}, arrays)


def pack(file: IO[bytes], about: About, arrays: list[np.ndarray]) -> None:
    """Write arrays, and what is to be known about them."""
    text = json.dumps({"format": FORMAT, **about})
    named: dict[str, Any] = {f"{i}": _plain(array) for i, array in enumerate(arrays)}
    np.savez(file, allow_pickle=False, about=np.array(text), **named)


def dump(state: Tree) -> bytes:
    """Return a tree of arrays as bytes."""
    file = io.BytesIO()
    write(file, state)
    return file.getvalue()


class Archive:
    """An open archive; arrays are read when asked for.

    Args:
      file: what `pack` wrote.

    Raises:
      DamagedError: it is no whole archive of this format.
      ValueError: its format is newer than this program.
    """

    def __init__(self, file: IO[bytes]) -> None:
        if not zipfile.is_zipfile(file):
            raise DamagedError("it is no archive, or not a whole one")
        file.seek(0)
        self._file = _sound(lambda: np.load(file, allow_pickle=False))
        self.about: About = _sound(lambda: json.loads(str(self._file["about"])))
        version = self.about.get("format") if isinstance(self.about, dict) else None
        if not isinstance(version, int):
            raise DamagedError("it does not say its format")
        if version > FORMAT:
            raise ValueError(f"it has format {version}, and this program knows up to {FORMAT}")

    def array(self, index: int, dtype: str) -> np.ndarray:
        """Return an array by its number."""
        return _sound(lambda: _restored(self._file[f"{index}"], dtype))


def load(data: bytes, like: Tree) -> Tree:
    """Return the tree of arrays that `dump` was given; see `read`."""
    return read(io.BytesIO(data), like)


def read(file: IO[bytes], like: Tree) -> Tree:
    """Return the tree of arrays that `write` was given.

    Args:
      file: what it wrote.
      like: any tree with the structure; its leaves may be None. Where they have a shape, it must be
        that of the array.

    Raises:
      DamagedError: it is no whole archive of this format.
      ValueError: it has another structure, other shapes, or a newer format.
    """
    archive = Archive(file)
    stored = leaves_of(archive)
    places = {path: i for i, (path, _, _) in enumerate(stored)}
    names, leaves, structure = matching(like, list(places))
    order = [places[name] for name in names]
    check_shapes([stored[i] for i in order], leaves)
    arrays = [archive.array(i, stored[i][1]).reshape(stored[i][2]) for i in order]
    return structure.unflatten(arrays)


def leaves_of(archive: Archive) -> list[LeafType]:
    """Return what an archive says of the leaves."""
    said = lambda a: (str(a["path"]), str(a["dtype"]), tuple(a["shape"]))  # noqa: E731
    return _sound(lambda: [said(a) for a in archive.about["leaves"]])


def matching(
    like: Tree, stored: list[str], name: Callable[[KeyPath], str] = keystr
) -> tuple[list[str], list[Any], Any]:
    """Return names, leaves and structure of `like`, in which None may stand for an array.

    Args:
      like: a tree.
      stored: the names of the stored leaves, in any order.
      name: gives the name of a leaf by its key path.

    Raises:
      ValueError: its leaves are elsewhere than in the stored tree.
    """
    held = set(stored)
    is_leaf = lambda path, part: part is None and name(path) in held  # noqa: E731
    with_paths, structure = tree.flatten_with_path(like, is_leaf, is_leaf_takes_path=True)
    found = [name(path) for path, _ in with_paths]
    if sorted(found) == sorted(stored):
        return found, [leaf for _, leaf in with_paths], structure
    every = tree.leaves_with_path(like, lambda part: part is None)
    found = [name(path) for path, _ in every]
    lacking = [path for path in stored if path not in found]
    more = [path for path in found if path not in held]
    raise ValueError(
        f"it holds {len(stored)} arrays, expected {len(found)}"
        + (f"; it has {_listed(lacking)}, which the state lacks" if lacking else "")
        + (f"; it lacks {_listed(more)} of the state" if more else "")
    )


def check_shapes(stored: list[LeafType], leaves: list[Any]) -> None:
    """Compare shapes where the leaves have some.

    Raises:
      ValueError: one differs.
    """
    for (path, _, shape), leaf in zip(stored, leaves, strict=True):
        expected = getattr(leaf, "shape", shape)
        if tuple(expected) != shape:
            raise ValueError(f"state{path} has shape {shape} there, expected {tuple(expected)}")


def leaves_on_host(state: Tree, what: str) -> tuple[list[str], list[np.ndarray]]:
    """Return the places and the values of all leaves.

    Raises:
      TypeError: a leaf is neither array nor number; the text names it.
    """
    with_paths = tree.leaves_with_path(state)
    paths = [keystr(path) for path, _ in with_paths]
    return paths, [on_host(leaf, f"{what}{keystr(path)}") for path, leaf in with_paths]


def on_host(leaf: Any, what: str) -> np.ndarray:
    """Return a leaf as a NumPy array of numbers in this machine's byte order.

    Raises:
      TypeError: it is neither array nor number.
    """
    check_kind(leaf, what)
    array = np.asarray(leaf)
    if array.dtype.isbuiltin == _OF_ML_DTYPES:
        return array
    if array.dtype.kind in _NUMBERS:
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    given = f"has dtype {array.dtype}" if isinstance(leaf, np.ndarray) else repr(leaf)[:40]
    raise TypeError(
        f"{what} is a {type(leaf).__name__} ({given}), expected an array or a number. Keep other "
        "things outside of the state, or put None there."
    )


def check_kind(leaf: Any, what: str) -> None:
    """Refuse arrays that have no numbers to store.

    Raises:
      TypeError: it is one of random keys, or unreduced.
    """
    dtype = getattr(leaf, "dtype", None)
    if is_extended(dtype):
        raise TypeError(
            f"{what} is an array of dtype {dtype}, expected numbers. Keep random.key_data of the "
            "keys, and use random.wrap_key_data in the step."
        )
    if getattr(getattr(getattr(leaf, "sharding", None), "spec", None), "unreduced", None):
        raise TypeError(
            f"{what} is unreduced over {set(leaf.sharding.spec.unreduced)}, expected a value that "
            "is summed. Use reshard in the step."
        )


def _about(path: str, array: np.ndarray) -> About:
    return {"path": path, "dtype": array.dtype.name, "shape": array.shape}


def _listed(paths: list[str]) -> str:
    shown = ", ".join(f"state{path}" for path in paths[:_LONGEST_LIST])
    return shown + (f" and {len(paths) - _LONGEST_LIST} more" * (len(paths) > _LONGEST_LIST))


def _sound[T](use: Callable[[], T]) -> T:
    """Return what `use` returns; an error of the reader means damage."""
    try:
        return use()
    except _DAMAGE as error:
        raise DamagedError(str(error) or type(error).__name__) from error


def _plain(array: np.ndarray) -> np.ndarray:
    """Return the bytes of a dtype that NumPy files can't name (bfloat16, float8, int4)."""
    if array.dtype.isbuiltin != _OF_ML_DTYPES:
        return array
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.dtype.itemsize)


def _restored(stored: np.ndarray, name: str) -> np.ndarray:
    dtype = np.dtype(name)
    if stored.dtype == dtype:
        return stored
    return np.frombuffer(stored.tobytes(), dtype).reshape(stored.shape[:-1])
