"""The directory of entries: which one is in force, reading and writing files, removing old ones."""

import contextlib
import functools
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from tans_compiler import folders
from tans_core import config

SUFFIX: Final = "-cache"
_UNFINISHED: Final = ".unfinished"
_ABANDONED: Final = 3600.0  # seconds after which an unfinished file is nobody's
_log: Final = logging.getLogger("tans.compilation_cache")
_tidied: Final[set[Path]] = set()  # where this process has removed unfinished files


class NotAFileError(OSError):
    """A pipe, a device or a directory stands where a file was expected."""


def active() -> Path | None:
    """Return the directory that the configuration names; None when the cache is off.

    Raises:
      NoFolderError: the name can't be that of a directory.
    """
    path = config.compilation_cache_dir.value
    return _at_first_use(path) if path and config.enable_compilation_cache.value else None


def absolute(path: str) -> Path:
    """Return a path that means the same when the working directory changes.

    Raises:
      NoFolderError: as `active`.
    """
    return folders.absolute(path, "compilation cache", "jax_compilation_cache_dir")


_at_first_use: Final = functools.cache(absolute)


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; never wait for another process, as pipes do.

    Raises:
      FileNotFoundError: there is none.
      NotAFileError: something else stands there.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotAFileError(f"{path} is no regular file")
        yield file


def write(where: Path, name: str, blob: bytes) -> bool:
    """Put an entry into place, whole or not at all; return whether it fits into the cache."""
    limit = config.compilation_cache_max_size.value
    if 0 <= limit < len(blob):
        _log.info("%s has %d bytes and does not fit into the cache", name, len(blob))
        return False
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    if limit >= 0:
        make_room(where, limit - len(blob))
    elif where not in _tidied:
        _entries(where)
    mine = where / f".{name}.{os.getpid()}.{secrets.token_hex(4)}{_UNFINISHED}"
    try:
        mine.write_bytes(blob)
        mine.replace(where / name)
    finally:
        mine.unlink(missing_ok=True)
    return True


def make_room(where: Path, size: int) -> None:
    """Remove the entries that were used longest ago until the rest has at most `size` bytes."""
    found = _entries(where)
    total = sum(entry_size for _, entry_size, _ in found)
    for _, entry_size, path in sorted(found):
        if total <= size:
            return
        path.unlink(missing_ok=True)
        total -= entry_size


def _entries(where: Path) -> list[tuple[float, int, Path]]:
    """Return time of use, size and path of each entry; remove what killed processes have left."""
    _tidied.add(where)
    found: list[tuple[float, int, Path]] = []
    for path in where.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes some too
            status = path.lstat()
            if path.name.endswith(SUFFIX):
                found.append((status.st_mtime, status.st_size, path))
            elif path.name.endswith(_UNFINISHED) and time.time() - status.st_mtime > _ABANDONED:
                path.unlink()
    return found
