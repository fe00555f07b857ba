"""The key that entries are signed with: loading a program runs code, so only our own are loaded.

The key lies in the user's state directory, apart from the cache: who can write only the cache can't
make entries that are loaded. Users who share a cache on purpose share a key file, which
``TANS_COMPILATION_CACHE_KEY_FILE`` names.
"""

import os
import secrets
import stat
import threading
from pathlib import Path
from typing import Final

from tans_compiler.disk_cache.directory import open_file

VARIABLE: Final = "TANS_COMPILATION_CACHE_KEY_FILE"
_MIN_BYTES: Final = 32
_lock: Final = threading.Lock()
_keys: Final[dict[Path, bytes]] = {}


class NoKeyError(RuntimeError):
    """There is no key to sign with, or it is not safe."""


def key_file() -> Path:
    """Return where the key is, or will be."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # as that variable's specification says
        state = Path.home() / ".local" / "state"
    return state / "tans" / "compilation-cache.key"


def key() -> bytes:
    """Return the key; makes it at the first use.

    Raises:
      NoKeyError: the file can't be made or read, is too short, or others may change it.
    """
    try:
        path = key_file()
        with _lock:
            if path not in _keys:
                _keys[path] = _read(path)
            return _keys[path]
    except (OSError, RuntimeError) as error:
        if isinstance(error, NoKeyError):
            raise
        raise NoKeyError(
            f"the key of the compilation cache can't be made or read: {error}; expected a file "
            f"that only you can write. Name one in {VARIABLE}."
        ) from error


def forget() -> None:
    """Read the key again at its next use."""
    with _lock:
        _keys.clear()


def _read(path: Path) -> bytes:
    if not path.exists():
        _make(path)
    with open_file(path) as file:
        status = os.fstat(file.fileno())
        if os.name == "posix" and status.st_uid not in (os.getuid(), 0):
            raise NoKeyError(
                f"the key of the compilation cache, {path}, belongs to user {status.st_uid}; "
                f"expected a file of yours, user {os.getuid()}. Name one in {VARIABLE}."
            )
        if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IRWXO):
            raise NoKeyError(
                f"the key of the compilation cache, {path}, can be changed or read by others; "
                f"expected a file of yours with mode 600. Run: chmod 600 {path}"
            )
        found = file.read()
    if len(found) < _MIN_BYTES:
        raise NoKeyError(
            f"the key of the compilation cache, {path}, has {len(found)} bytes; expected at least "
            f"{_MIN_BYTES}. Remove the file, and a new key is made."
        )
    return found


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mine = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_MIN_BYTES))
        try:
            os.link(mine, path)
        except FileExistsError:
            pass  # a link can't replace a key that another process has made meanwhile
        except OSError:  # a file system without links
            mine.replace(path)
    finally:
        mine.unlink(missing_ok=True)
