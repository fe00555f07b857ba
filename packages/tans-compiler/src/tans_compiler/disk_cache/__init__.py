"""Compiled programs on disk: what `jax_compilation_cache_dir` turns on.

Any number of processes and threads may share a directory. An entry is written to a file of its own
and moved into place whole; one that is damaged, or that somebody without the user's key made, is
never loaded: the program is compiled again and the entry replaced.
"""

import logging
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from tans_compiler._jaxlib import JaxRuntimeError, load_executable
from tans_compiler.disk_cache import directory, entries, keys, signing
from tans_compiler.folders import NoFolderError
from tans_core import config
from tans_core.errors import message

__all__ = ["DiskCache", "Statistics", "reset_cache", "set_cache_dir", "statistics"]

_log: Final = logging.getLogger("tans.compilation_cache")


class Statistics(NamedTuple):
    """Counts since the start of the process, or the last `reset_cache`.

    Attributes:
      requests: compilations that asked the cache.
      hits: those that found their program.
      stored: programs written.
      rejected: entries that were damaged, unsigned or could not be loaded.
      seconds_saved: compile time of the programs found, as measured when they were stored.
    """

    requests: int = 0
    hits: int = 0
    stored: int = 0
    rejected: int = 0
    seconds_saved: float = 0.0


class DiskCache:
    """The cache as `tans_xla.compile` uses it; it reads its configuration at each use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.statistics = Statistics()
        self.complaints: set[Any] = set()

    def count(self, **more: float) -> None:
        """Add to the statistics."""
        with self._lock:
            now = self.statistics._asdict()
            self.statistics = Statistics(**{**now, **{k: now[k] + v for k, v in more.items()}})

    def get(self, request: Any) -> Any:
        """Return the loaded executable of a `tans_xla.compile.Request`, or None."""
        try:
            where = directory.active()
            if where is None:
                return None
            self.count(requests=1)
            return self._load(where, request)
        except (OSError, signing.NoKeyError) as error:
            self._complain("reading", error)
            return None

    def _load(self, where: Path, request: Any) -> Any:
        name = keys.entry_name(request)
        path = where / name
        try:
            blob = entries.read(path)
            if blob is None:
                return None
            entry = entries.unpack(name, blob, signing.key())
            client = request.devices[0].client
            loaded = load_executable(
                client, entry.payload, request.devices, request.options, request.host_callbacks
            )
        except (entries.BadEntryError, JaxRuntimeError) as error:
            self.count(rejected=1)
            _log.warning(
                "entry %s is not used: %s. %s is compiled anew.", path, error, request.name
            )
            with suppress(OSError):  # in a directory of somebody else
                path.unlink(missing_ok=True)
            return None
        with suppress(OSError):  # somebody else's entry, or one that was removed meanwhile
            os.utime(path)  # the entries used last are removed last
        self.count(hits=1, seconds_saved=entry.seconds)
        _log.info("found %s in the compilation cache: %s", request.name, path)
        return loaded

    def put(self, request: Any, executable: Any, seconds: float) -> None:
        """Store an executable that took `seconds` to compile, if it is worth it."""
        if seconds < config.persistent_cache_min_compile_time_secs.value:
            return
        try:
            where = directory.active()
            if where is None:
                return
            payload = executable.client.serialize_executable(executable)
            if len(payload) < config.persistent_cache_min_entry_size_bytes.value:
                return
            name = keys.entry_name(request)
            blob = entries.pack(name, payload, seconds, signing.key())
            stored = directory.write(where, name, blob)
        except (OSError, signing.NoKeyError, JaxRuntimeError) as error:
            self._complain(f"storing {request.name}", error)
            return
        if stored:
            self.count(stored=1)

    def _complain(self, what: str, error: Exception) -> None:
        """Raise, or log each fault once; thousands of programs may meet the same one."""
        path = config.compilation_cache_dir.value
        if not isinstance(error, NoFolderError | signing.NoKeyError):
            text = message(
                "compilation cache",
                f"jax_compilation_cache_dir={path!r}, where {what} failed ({error})",
                "a directory that you can read and write",
                "Name another one, or None to turn the cache off.",
            )
            error = OSError(error.errno, text) if isinstance(error, OSError) else error
        if config.raise_persistent_cache_errors.value:
            raise error
        fault = (path, type(error))
        if fault not in self.complaints:
            self.complaints.add(fault)
            _log.warning("%s Programs are compiled without it.", error)


cache: Final = DiskCache()


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keep compiled programs in a directory, which is made when the first one is stored.

    Args:
      path: the directory; the same as the flag ``jax_compilation_cache_dir``.

    Raises:
      OSError: the path can't be that of a directory.

    Example:
      >>> import tempfile
      >>> from tans_core import config_module as config
      >>> set_cache_dir(tempfile.gettempdir() + "/programs")
      >>> config.compilation_cache_dir.value.endswith("programs")
      True
      >>> config.update("jax_compilation_cache_dir", None)
    """
    name = os.fspath(path)
    if name and isinstance(name, str):
        name = str(directory.absolute(name))
    config.update("jax_compilation_cache_dir", name)


def reset_cache() -> None:
    """Forget the statistics, complaints and the signing key; files stay."""
    cache.statistics = Statistics()
    cache.complaints.clear()
    signing.forget()


def statistics() -> Statistics:
    """Return what the cache did in this process.

    Example:
      >>> statistics().rejected
      0
    """
    return cache.statistics
