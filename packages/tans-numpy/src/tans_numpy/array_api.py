"""What the Python array API standard asks of a namespace about itself."""

from typing import Any, Final

import numpy as np

from tans_core import dtypes
from tans_core.config import enable_x64
from tans_xla import devices as all_devices

VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
__array_api_version__: Final = VERSIONS[-1]

_KINDS: Final = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_GROUPS: Final = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
_WIDE: Final = frozenset(("int64", "uint64", "float64", "complex128"))


class ArrayNamespaceInfo:
    """Capabilities, devices and dtypes of `tans.numpy`.

    References:
      Python array API standard, "Inspection".
    """

    def capabilities(self) -> dict[str, Any]:
        """Return what data may decide: nothing, since functions are traced."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return None: arrays made without a device follow the other operands."""

    def devices(self) -> tuple[Any, ...]:
        """Return what `device=` may be: None, or one of the devices."""
        return (None, *all_devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the default dtypes by kind.

        Args:
          device: accepted; all devices have the same.
        """
        del device
        return {
            "real floating": dtypes.default_float(),
            "complex floating": dtypes.default_complex(),
            "integral": dtypes.default_int(),
            "indexing": dtypes.default_int(),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the dtypes of the standard that arrays can have now.

        Args:
          device: accepted; all devices have the same.
          kind: name of a kind, or a tuple of names; all if None.

        Raises:
          ValueError: unknown kind.
        """
        del device
        kinds = tuple(_KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if k not in _KINDS and k not in _GROUPS]
        if unknown:
            raise ValueError(
                f"dtypes: given kind={unknown[0]!r}, expected one of "
                f"{', '.join(map(repr, (*_KINDS, *_GROUPS)))}, or a tuple of them."
            )
        wanted = [part for k in kinds for part in _GROUPS.get(k, (k,))]
        names = [name for part in dict.fromkeys(wanted) for name in _KINDS[part]]
        return {n: np.dtype(n) for n in names if enable_x64.value or n not in _WIDE}


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807  (the standard's name)
    """Return facts about the namespace, as the array API standard asks.

    Example:
      >>> jnp.__array_namespace_info__().capabilities()["boolean indexing"]
      False
    """
    return ArrayNamespaceInfo()
