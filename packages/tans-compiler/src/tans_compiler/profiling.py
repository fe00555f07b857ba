"""Profiles of running programs, in the files that XProf, TensorBoard and Perfetto read."""

import functools
import gzip
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, override

from tans_compiler import _jaxlib, folders
from tans_compiler.profile_server import register_subprocess, start_server, stop_server
from tans_xla.backend import get_client

_log: Final = logging.getLogger("tans.profiler")
_profiler: Final = _jaxlib.profiler()
_reader: Final = _jaxlib.profile_data()

ProfileData = _reader.ProfileData
ProfileEvent = _reader.ProfileEvent
ProfileLine = _reader.ProfileLine
ProfilePlane = _reader.ProfilePlane

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileLine",
    "ProfileOptions",
    "ProfilePlane",
    "ProfileSession",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "export_profile_data",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]


class _Current:
    """The profile that is being recorded."""

    recording: "ProfileSession | None" = None


_lock: Final = threading.Lock()


class ProfileOptions(_profiler.ProfileOptions):
    """What is profiled: levels of the host's and Python's tracers, and the form of HLO.

    Attributes:
      host_tracer_level: 0 (nothing) to 3 (everything); 2 by default.
      python_tracer_level: 0, or 1 for every Python call.
      enable_hlo_proto: whether the programs are part of the profile.
    """

    __slots__ = ()  # a misspelt name is an error


class ProfileSession:
    """One profile, as a context or with `start` and `stop`.

    Args:
      log_dir: folder that files are written to when it stops; None keeps the profile in memory.
      create_perfetto_link: as `create_perfetto_trace`; the log says where to open the file.
      create_perfetto_trace: whether to write ``perfetto_trace.json.gz`` too.
      profiler_options: `ProfileOptions`.
    """

    def __init__(
        self,
        log_dir: os.PathLike[str] | str | None = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: Any = None,
    ) -> None:
        self._log_dir = log_dir
        self._perfetto = create_perfetto_link or create_perfetto_trace
        self._options = profiler_options
        self._session: Any = None
        self._data: bytes | None = None

    @property
    def is_running(self) -> bool:
        """Whether events are being recorded."""
        return self._session is not None

    @property
    def profile_data(self) -> Any:
        """The profile after `stop`; None before."""
        return None if self._data is None else ProfileData.from_serialized_xspace(self._data)

    def start(self) -> "ProfileSession":
        """Start recording; return this object.

        Raises:
          RuntimeError: a profile is being recorded, by this object or another.
          OSError: the folder can't be written.
          TypeError: the folder is no path, or the options are none.
        """
        options = _profiler.ProfileOptions() if self._options is None else self._options
        if not isinstance(options, _profiler.ProfileOptions):
            raise TypeError(
                f"profiler: given profiler_options={options!r} of type {type(options).__name__}, "
                "expected ProfileOptions. Write options = tans.profiler.ProfileOptions() and set "
                "its attributes."
            )
        if self._log_dir is not None:  # found out before the program runs, not after
            self._log_dir = folders.make(self._log_dir, "profiler", "log_dir")
        get_client()  # a backend that starts later would be missing in the profile
        with _lock:
            if _Current.recording is not None:
                raise _running()
            self._session = _profiler.ProfilerSession(options)
            _Current.recording = self
        return self

    def stop(self) -> Any:
        """Stop recording and write the files; return the profile.

        Raises:
          RuntimeError: nothing is being recorded.
        """
        if self._session is None:
            raise RuntimeError(
                "profiler: given stop, but No profile started; expected start or start_trace "
                "first. Write: with tans.profiler.trace(folder): ..."
            )
        session, self._session = self._session, None
        _Current.recording = None
        data: bytes = session.stop()
        self._data = data
        if self._log_dir is not None:
            _write(data, self._log_dir, self._perfetto)
        return self.profile_data

    def export_profile_data(
        self,
        log_dir: os.PathLike[str] | str,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Write the profile to a folder.

        Raises:
          RuntimeError: it has not stopped.
          OSError: the folder can't be written.
        """
        del session_id
        if self._data is None:
            raise RuntimeError(
                "export_profile_data: given a session without a profile, expected one that was "
                "stopped. Call stop first."
            )
        _write(self._data, log_dir, create_perfetto_link or create_perfetto_trace)

    def __enter__(self) -> "ProfileSession":
        return self.start()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.stop()


def _running() -> RuntimeError:
    return RuntimeError(
        "profiler: given start, but a profile is being recorded already; expected one at a time. "
        "Call stop_trace first."
    )


def _write(data: bytes, log_dir: os.PathLike[str] | str, perfetto: bool) -> None:
    folder = folders.make(log_dir, "profiler", "log_dir")
    before = set(folder.rglob("*.trace.json.gz"))
    _profiler.export_to_xprof(ProfileData.from_serialized_xspace(data), str(folder))
    if not perfetto:
        return
    for path in sorted(set(folder.rglob("*.trace.json.gz")) - before):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        target = path.parent / "perfetto_trace.json.gz"
        with gzip.open(target, "wt", encoding="utf-8") as file:
            json.dump({"traceEvents": [e for e in events if e]}, file)
        _log.info("open %s at https://ui.perfetto.dev", target)


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> ProfileSession:
    """Start recording a profile.

    Args:
      log_dir: folder for ``plugins/profile/<time>/<host>.xplane.pb`` and ``...trace.json.gz``.
      create_perfetto_link: as `create_perfetto_trace`.
      create_perfetto_trace: whether to write ``perfetto_trace.json.gz`` beside them.
      profiler_options: `ProfileOptions`.

    Raises:
      RuntimeError: a profile is being recorded already.
      OSError: the folder can't be written.
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    return session.start()


def stop_trace() -> Any:
    """Stop recording, write the files and return the `ProfileData`.

    Raises:
      RuntimeError: no profile is being recorded.
    """
    return (_Current.recording or ProfileSession()).stop()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[ProfileSession]:
    """Context: record a profile; arguments as for `start_trace`, with None for no files.

    Example:
      >>> import tans_lax as lax
      >>> with trace() as session:
      ...     _ = lax.sin(1.0)
      >>> len(list(session.profile_data.planes)) > 0
      True
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    with session:
        yield session


class TraceAnnotation(_profiler.TraceMe):
    """Context: an event with a name on this thread's line of the profile.

    Example:
      >>> with TraceAnnotation("load batch", number=3):
      ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """Context: one step of training, by which viewers group what ran.

    Example:
      >>> with StepTraceAnnotation("train", step_num=3):
      ...     pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)

    @override
    def __enter__(self) -> Any:
        return super().__enter__()


def annotate_function[**P, R](
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: Any
) -> Callable[P, R]:
    """Return `func` with every call an event of the profile.

    Args:
      func: the function.
      name: of the event; by default the function's.
      **decorator_kwargs: values that the event carries.

    Example:
      >>> annotate_function(len)([1, 2])
      2
    """
    if not callable(func):
        raise TypeError(
            f"annotate_function: given {func!r} of type {type(func).__name__}, expected a "
            "function. Pass the function itself, without calling it."
        )
    shown = name or getattr(func, "__qualname__", getattr(func, "__name__", repr(func)))

    @functools.wraps(func)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return run


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return what holds memory of the devices, in pprof's form (gzip): ``pprof -top FILE``.

    Args:
      backend: platform; the default one when left out.
    """
    return gzip.compress(get_client(backend).heap_profile())


def save_device_memory_profile(
    filename: os.PathLike[str] | str, backend: str | None = None
) -> None:
    """Write `device_memory_profile` to a file."""
    where = "save_device_memory_profile"
    path = folders.as_text(filename, where, "filename", "Write the path of a file.")
    folders.check_text(path, where, "filename", os.fsencode)
    Path(path).write_bytes(device_memory_profile(backend))


def export_profile_data(
    profile_data: Any,
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    session_id: str | None = None,
) -> None:
    """Write a stopped `ProfileSession` to a folder; see its method."""
    if not isinstance(profile_data, ProfileSession):
        raise TypeError(
            f"export_profile_data: given a {type(profile_data).__name__}, expected a "
            "ProfileSession, which holds what is written. Pass the session that trace() gives."
        )
    profile_data.export_profile_data(
        log_dir, create_perfetto_link, create_perfetto_trace, session_id
    )
