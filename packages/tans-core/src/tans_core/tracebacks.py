"""Leaves frames of Tans out of tracebacks, so that they end at the user's line.

Filtering happens when an exception leaves a transformed function (`api_boundary`), and when one
that nobody caught is printed (`install_hook`); a call that succeeds pays nothing for it. The flag
``jax_traceback_filtering`` turns it off.
"""

import functools
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

from tans_core.config import traceback_filtering

_hidden_packages: Final = {"tans", "tans_core"}
_hidden_files: Final[set[str]] = set()
_HINT: Final = "(Frames of Tans are left out; TANS_TRACEBACK_FILTERING=off shows them.)"


def hide_package(import_name: str) -> None:
    """Leave the frames of a top-level package out of tracebacks."""
    _hidden_packages.add(import_name)


def register_exclusion(path: str) -> None:
    """Leave the frames of one source file out of tracebacks (for libraries built on Tans)."""
    _hidden_files.add(path)


def _is_hidden(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _hidden_packages or frame.f_code.co_filename in _hidden_files


def filtered(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the hidden frames; None when nothing is left."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if not _is_hidden(traceback.tb_frame):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def hide_frames(error: BaseException) -> None:
    """Drop our frames from an exception that is about to leave a public function.

    The caller re-raises with a bare ``raise``, which adds no entry for its own frame.
    """
    mode = traceback_filtering.value
    if mode in ("off", "tracebackhide"):
        return
    if mode == "remove_frames" and _HINT not in getattr(error, "__notes__", ()):
        error.add_note(_HINT)
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = filtered(link.__traceback__)
        link = link.__cause__ or link.__context__


def install_hook() -> None:
    """Leave our frames out of the tracebacks of uncaught exceptions, too.

    Most functions are plain Python without a boundary of their own. The hook is replaced only if
    nobody else has replaced it.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_filtered


def _print_filtered(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    hide_frames(error)
    sys.__excepthook__(kind, error, error.__traceback__ if traceback else None)


def api_boundary[**P, R](fun: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function so that exceptions leave it without frames of Tans.

    Args:
      fun: the function; its signature, name and docstring are kept.
    """

    @functools.wraps(fun)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except BaseException as error:
            hide_frames(error)
            raise

    return boundary
