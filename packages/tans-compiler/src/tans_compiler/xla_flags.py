"""`XLA_FLAGS`: checked before XLA reads it, since XLA ends the process on a flag that is wrong.

XLA reads the variable once, when the first client is made. What is certain from the list of known
flags costs nothing; anything else is tried in a process of its own.
"""

import functools
import os
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Final

from tans_core.spelling import did_you_mean

_VARIABLE: Final = "XLA_FLAGS"
_PATTERNS: Final = {
    "bool": re.compile(r"(true|false|1|0)?\Z"),
    "int": re.compile(r"-?\d{1,9}\Z"),
    "str": re.compile(r""),
}
_read: Final[dict[str, str]] = {}  # what XLA has read; what was warned of


@functools.cache
def known() -> dict[str, str]:
    """Return the flags that XLA is known to have: name to kind (bool, int, str, other)."""
    text = Path(__file__).with_name("xla_flags.txt").read_text(encoding="ascii")
    return dict(line.split() for line in text.splitlines())


def parse(text: str) -> list[tuple[str, str | None]]:
    """Return the flags in a value of ``XLA_FLAGS`` as names and values."""
    flags: list[tuple[str, str | None]] = []
    for word in text.split():
        name, equals, value = word.lstrip("-").partition("=")
        flags.append((name, value if equals else None))
    return flags


def check_environment(running: bool) -> None:
    """Check ``XLA_FLAGS`` before a backend starts; later, warn when it was changed.

    Args:
      running: whether the backend runs.

    Raises:
      RuntimeError: XLA would end the process.

    Warns:
      RuntimeWarning: the variable changed after XLA had read it.
    """
    text = os.environ.get(_VARIABLE, "")
    if "read" not in _read:
        if not running:
            check(text)
        _read["read"] = _read["warned"] = text
    elif text != _read["warned"]:
        _read["warned"] = text
        if text != _read["read"]:
            warnings.warn(_too_late(text), RuntimeWarning, stacklevel=2)


def _too_late(text: str) -> str:
    return (
        f"XLA_FLAGS is {text!r} now, but XLA read {_read['read']!r} when the backend started, and "
        "reads it only once. Set it before the first array is made, or pass compiler_options to "
        "jit for one function."
    )


def check(text: str) -> None:
    """Check a value of ``XLA_FLAGS`` without letting XLA read it in this process.

    Args:
      text: flags separated by blanks; a value without leading dash names a file of flags.

    Raises:
      RuntimeError: a flag is unknown or its value is no value of its kind.

    Warns:
      RuntimeWarning: XLA ignores a word, since it is no flag.
    """
    counts = re.findall(r"--xla_force_host_platform_device_count=(-?\d+)\b", text)
    if counts and int(counts[-1]) < 1:
        raise RuntimeError(
            f"XLA_FLAGS={text!r} asks for {counts[-1]} CPU devices, expected at least 1. Correct "
            "it in the environment and start again."
        )
    words = text.split()
    if not text or (text.startswith("--") and all(map(_is_certain, words))):
        return
    report = import_module("tans_compiler.flag_trial").report_of(text)
    if report is not None:
        raise RuntimeError(_message(text, report))
    ignored = [word for word in words if not word.startswith("-")]
    if ignored and text.startswith("--") and not set(text) & set("'\""):
        warnings.warn(
            f"XLA_FLAGS={text!r} has the words {', '.join(ignored)}, which XLA ignores; expected "
            "flags of the form --name=value, separated by blanks. Put -- in front, or remove them.",
            RuntimeWarning,
            stacklevel=2,
        )


def _is_certain(word: str) -> bool:
    if not word.startswith("--"):
        return False
    name, equals, value = word[2:].partition("=")
    kind = known().get(name)
    pattern = _PATTERNS.get(kind) if kind is not None else None
    return pattern is not None and bool(equals or kind == "bool") and bool(pattern.match(value))


def _message(text: str, report: str) -> str:
    unknown = re.search(r"Unknown flags? in XLA_FLAGS: (.*)", report)
    remedy = "Correct it in the environment and start again."
    if unknown is not None:
        names = [name for name, _ in parse(unknown[1])]
        what = "unknown to XLA: " + ", ".join(map(_unknown, unknown[1].split()))
        if any(name.startswith("xla_tpu_") for name in names):
            remedy = "Flags of TPUs go into LIBTPU_INIT_ARGS."
    elif not text.startswith("--"):
        what = "no flags but the name of a file of flags, which XLA can't read"
        remedy = "Begin with --name, without quotes around it; or unset the variable."
    else:
        values = re.findall(r"(?:Couldn't interpret value|Illegal value) .*", report)
        doubtful = [word for word in text.split() if not _is_certain(word)]
        found = values or doubtful
        what = "without a value that XLA can read: " + "; ".join(v.rstrip(".") for v in found)
    return (
        f"XLA_FLAGS={text!r} has flags that are {what}. XLA would end this process, so no backend "
        f"was started; expected flags of the form --name=value, separated by blanks. {remedy}"
    )


def _unknown(word: str) -> str:
    name, equals, _ = word.lstrip("-").partition("=")
    if name in known():
        return word + (" (has one dash)" if equals else " (has no = and value behind it)")
    return f"--{name}" + ("" if name.startswith("xla_tpu_") else did_you_mean(name, known()))
