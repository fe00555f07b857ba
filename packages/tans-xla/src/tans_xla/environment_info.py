"""What a bug report should say about the machine."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from tans_xla import backend

_PACKAGES = ("tans", "tans-core", "tans-xla", "jaxlib", "numpy", "ml_dtypes")


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of packages, Python and system, and the devices.

    Args:
      return_string: return the text in place of printing it.
    """
    lines = [f"{name}: {_version(name)}" for name in _PACKAGES]
    found = backend.devices()
    lines += [
        f"python: {sys.version}",
        f"device info: {found[0].device_kind}-{len(found)}, "
        f"{len(backend.local_devices())} local devices",
        f"process_count: {backend.process_count()}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
