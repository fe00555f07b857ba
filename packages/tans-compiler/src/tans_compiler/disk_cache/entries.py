"""The form of an entry: a mark, a signature, the compile time and the compressed executable.

The signature covers the entry's name, so that an entry can't stand in for another program.
"""

import hashlib
import hmac
import struct
import zlib
from pathlib import Path
from typing import Final, NamedTuple

from tans_compiler.disk_cache.directory import NotAFileError, open_file

_MARK: Final = b"TANSXLA1"
_SIGNATURE: Final = slice(len(_MARK), len(_MARK) + 32)
_CONTENT: Final = slice(_SIGNATURE.stop, None)


class BadEntryError(ValueError):
    """An entry that must not be loaded."""


class Entry(NamedTuple):
    """A stored executable.

    Attributes:
      payload: the executable as PJRT serialised it.
      seconds: how long it took to compile.
    """

    payload: bytes
    seconds: float


def read(path: Path) -> bytes | None:
    """Return the bytes of a file that begins like an entry; None when there is no file.

    Raises:
      BadEntryError: it is no file, or none that begins so; no more of it has been read then.
    """
    try:
        with open_file(path) as file:
            mark = file.read(len(_MARK))
            if mark != _MARK:
                raise BadEntryError("it is cut short or no entry of this cache")
            return mark + file.read()
    except FileNotFoundError:
        return None
    except NotAFileError as error:
        raise BadEntryError(str(error)) from error


def pack(name: str, payload: bytes, seconds: float, key: bytes) -> bytes:
    """Return the bytes of an entry."""
    content = struct.pack("<d", seconds) + zlib.compress(payload, 1)
    return _MARK + _sign(name, content, key) + content


def unpack(name: str, blob: bytes, key: bytes) -> Entry:
    """Return the entry in `blob`.

    Raises:
      BadEntryError: it is damaged, or was not signed with `key` under this name. Nothing of it has
        been interpreted then.
    """
    content = blob[_CONTENT]
    if blob[: len(_MARK)] != _MARK or len(content) < 8:
        raise BadEntryError("it is cut short or no entry of this cache")
    if not hmac.compare_digest(blob[_SIGNATURE], _sign(name, content, key)):
        raise BadEntryError("its signature is not of this user's key, or it is damaged")
    (seconds,) = struct.unpack("<d", content[:8])
    return Entry(zlib.decompress(content[8:]), seconds)


def _sign(name: str, content: bytes, key: bytes) -> bytes:
    return hmac.new(key, name.encode() + b"\0" + content, hashlib.sha256).digest()
