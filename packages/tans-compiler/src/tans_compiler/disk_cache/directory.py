"""The directory of entries: which one is in force, writing whole files, removing old ones."""

import contextlib
import logging
import os
import secrets
import time
from pathlib import Path
from typing import Final

from tans_core import config

SUFFIX: Final = "-cache"
_UNFINISHED: Final = ".unfinished"
_ABANDONED: Final = 3600.0  # seconds after which an unfinished file is nobody's
_log: Final = logging.getLogger("tans.compilation_cache")


def active() -> Path | None:
    """Return the directory that the configuration names; None when the cache is off."""
    path = config.compilation_cache_dir.value
    return Path(path) if path and config.enable_compilation_cache.value else None


def write(where: Path, name: str, blob: bytes) -> bool:
    """Put an entry into place, whole or not at all; return whether it fits into the cache."""
    limit = config.compilation_cache_max_size.value
    if 0 <= limit < len(blob):
        _log.info("%s has %d bytes and does not fit into the cache", name, len(blob))
        return False
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    if limit >= 0:
        make_room(where, limit - len(blob))
    mine = where / f".{name}.{os.getpid()}.{secrets.token_hex(4)}{_UNFINISHED}"
    try:
        mine.write_bytes(blob)
        mine.replace(where / name)
    finally:
        mine.unlink(missing_ok=True)
    return True


def make_room(where: Path, size: int) -> None:
    """Remove the entries that were used longest ago until the rest has at most `size` bytes."""
    found: list[tuple[float, int, Path]] = []
    for path in where.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes some too
            status = path.stat()
            if path.name.endswith(SUFFIX):
                found.append((status.st_mtime, status.st_size, path))
            elif path.name.endswith(_UNFINISHED) and time.time() - status.st_mtime > _ABANDONED:
                path.unlink()
    total = sum(entry_size for _, entry_size, _ in found)
    for _, entry_size, path in sorted(found):
        if total <= size:
            return
        path.unlink(missing_ok=True)
        total -= entry_size
