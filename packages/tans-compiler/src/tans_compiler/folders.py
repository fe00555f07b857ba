"""Names of folders that users give: what can't be one is refused before it is needed."""

import os
from pathlib import Path
from typing import Any

from tans_core.errors import message


class NoFolderError(OSError):
    """What was given can't be a folder, or can't be written."""


def absolute(path: str, where: str, name: str) -> Path:
    """Return a path that means the same when the working directory changes.

    Args:
      path: what the user gave.
      where: what asks for it, and `name`: what the user knows it as, for messages.

    Raises:
      NoFolderError: the name can't be that of a folder.
    """
    if "://" in path or "\0" in path:
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


def make(given: Any, where: str, name: str) -> Path:
    """Make a folder unless it is there, and return it.

    Raises:
      TypeError: `given` is no path.
      NoFolderError: nothing can be written to it.
    """
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise TypeError(
            message(
                where,
                f"{name}={given!r} of type {type(given).__name__}",
                "a str or a Path",
                "Write the path of a folder.",
            )
        )
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
