"""Names of files and folders that users give: what can't be one is refused before it is needed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tans_core.errors import message


class NoFolderError(OSError):
    """What was given can't be a folder, or can't be written."""


def check_text(path: str, where: str, name: str, encode: Callable[[str], bytes]) -> None:
    """Check that a path can be passed on.

    Args:
      path: what the user gave.
      where: what asks for it, and `name`: what the user knows it as, for messages.
      encode: how it is passed on.

    Raises:
      NoFolderError: it has null characters, or others that can't be encoded.
    """
    try:
        if b"\0" not in encode(path):
            return
    except UnicodeEncodeError:
        pass
    raise NoFolderError(
        message(
            where,
            f"{name}={path!r}",
            "a path without null characters and lone surrogates",
            "Write another name.",
        )
    )


def absolute(path: str, where: str, name: str) -> Path:
    """Return a path that means the same when the working directory changes.

    Args:
      path: what the user gave.
      where: what asks for it, and `name`: what the user knows it as, for messages.

    Raises:
      NoFolderError: the name can't be that of a folder.
    """
    check_text(path, where, name, os.fsencode)
    if "://" in path:
        raise NoFolderError(
            message(
                where,
                f"{name}={path!r}",
                "the path of a directory",
                "Mount storage that is far away, and give the path where it is mounted.",
            )
        )
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:  # nobody's home
        raise NoFolderError(
            message(where, f"{name}={path!r}", "a path whose ~ is known", "Write it without ~.")
        ) from error


def as_text(given: Any, where: str, name: str, remedy: str) -> str:
    """Return a path as text.

    Raises:
      TypeError: `given` is no path.
    """
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if isinstance(path, str):
        return path
    raise TypeError(
        message(
            where, f"{name}={given!r} of type {type(given).__name__}", "a str or a Path", remedy
        )
    )


def make(given: Any, where: str, name: str) -> Path:
    """Make a folder unless it is there, and return it.

    Raises:
      TypeError: `given` is no path.
      NoFolderError: nothing can be written to it.
    """
    path = as_text(given, where, name, "Write the path of a folder.")
    check_text(path, where, name, str.encode)  # XLA takes UTF-8 only
    folder = absolute(path, where, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refused = "" if os.access(folder, os.W_OK) else "permission denied"
    except OSError as error:
        refused = error.strerror or str(error)
    if refused:
        raise NoFolderError(
            message(
                where,
                f"{name}={path!r}, which can't be written ({refused})",
                "a folder of yours, or one that can be made",
                "Name another one.",
            )
        )
    return folder
