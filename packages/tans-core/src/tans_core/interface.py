"""The version of the interface that core serves, and the check each package makes first.

Adding to the interface raises `INTERFACE`, which passes older packages; removing from it raises
`INTERFACE_OLDEST`, after a release in which the removed part warned.
"""

from typing import Final

from tans_core import tracebacks
from tans_core.errors import InterfaceMismatchError

INTERFACE: Final = 1
INTERFACE_OLDEST: Final = 1

_packages: Final[dict[str, int]] = {"tans-core": INTERFACE}


def require_interface(name: str, *, built_for: int) -> None:
    """Check that the installed core serves the interface a package was built for.

    Args:
      name: the distribution, such as "tans-lax".
      built_for: the value of `INTERFACE` that the package was developed against.

    Raises:
      InterfaceMismatchError: core is too old or too new; the text has the pip command to run.
    """
    if not INTERFACE_OLDEST <= built_for <= INTERFACE:
        served = f"{INTERFACE_OLDEST} to {INTERFACE}"
        raise InterfaceMismatchError(
            f"{name} was built for tans-core interface {built_for}, but the installed tans-core "
            f"serves interfaces {served}. To install versions that fit: "
            f"pip install --upgrade tans-core {name}"
        )
    _packages[name] = built_for
    tracebacks.hide_package(name.replace("-", "_"))


def loaded_packages() -> dict[str, int]:
    """Return the packages that passed the check, with the interface each was built for."""
    return dict(_packages)
