"""Lets another process read ``XLA_FLAGS``, which XLA would end for a flag that is wrong."""

import os
import subprocess
import sys
from typing import Final

from tans_compiler._jaxlib import READ_FLAGS

_TIMEOUT: Final = 60.0  # seconds


def report_of(text: str) -> str | None:
    """Return what XLA wrote when a process with these flags died of them, or None."""
    if not sys.executable:
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_FLAGS],
            env=os.environ | {"XLA_FLAGS": text},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    died_of_flags = done.returncode and ("flag" in done.stderr or "option" in done.stderr)
    return done.stderr if died_of_flags else None
