"""The file form of an exported program.

Bytes: the mark ``TANSEXP1``; the length of the header as 8 bytes, little endian; the header, JSON;
the parts, which the header gives the lengths of; a SHA-256 digest of all before it. Reading runs no
code: a header is data, a part is a portable StableHLO artifact or such a file.
"""

import hashlib
import json
from typing import Any, Final

MARK: Final = b"TANSEXP1"
_LENGTH: Final = 8
_DIGEST: Final = 32


def pack(header: dict[str, Any], parts: list[bytes]) -> bytearray:
    """Return the bytes of a header and parts."""
    text = json.dumps({**header, "parts": [len(p) for p in parts]}).encode()
    body = b"".join([MARK, len(text).to_bytes(_LENGTH, "little"), text, *parts])
    return bytearray(body + hashlib.sha256(body).digest())


def unpack(blob: bytes | bytearray) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the parts.

    Raises:
      ValueError: the bytes are cut short, changed, or nothing of this form.
      TypeError: no bytes.
    """
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(
            f"deserialize: given {blob!r} of type {type(blob).__name__}, expected the bytes that "
            "exported.serialize() returned. Read a file in the mode 'rb'."
        )
    data = bytes(blob)
    if data[: len(MARK)] != MARK:
        raise ValueError(
            f"deserialize: given {len(data)} bytes that start with {data[:8]!r}, expected an "
            "exported program of Tans. Programs that JAX serialised are in another form: export "
            "the function with tans.export."
        )
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    start = len(MARK) + _LENGTH
    if len(body) < start or hashlib.sha256(body).digest() != digest:
        raise ValueError(
            f"deserialize: given {len(data)} bytes of an exported program that is cut short or was "
            "changed, expected all that serialize returned. Copy the file again."
        )
    end = start + int.from_bytes(body[len(MARK) : start], "little")
    header = json.loads(body[start:end])
    parts = []
    for length in header["parts"]:
        parts.append(body[end : end + length])
        end += length
    return header, parts
