"""Registration of foreign functions and of the types of their state."""

import ctypes
from collections.abc import Mapping
from typing import Any, NoReturn

from tans_core.errors import message
from tans_xla import _jaxlib


def include_dir() -> str:
    """Return the folder of the C++ headers to build handlers with, such as ``xla/ffi/api/ffi.h``.

    Example:
      >>> from pathlib import Path
      >>> (Path(include_dir()) / "xla/ffi/api/ffi.h").exists()
      True
    """
    return _jaxlib.include_dir()


def pycapsule(funcptr: Any) -> Any:
    """Wrap a function of a library loaded with `ctypes` for `register_ffi_target`.

    Args:
      funcptr: the function, as in ``ctypes.cdll.LoadLibrary(path).Handler``.

    Raises:
      TypeError: it is no ctypes function.
    """
    if not isinstance(funcptr, type(ctypes.pythonapi.PyCapsule_New).__mro__[1]):
        raise TypeError(
            message(
                "pycapsule",
                f"{funcptr!r} of type {type(funcptr).__name__}",
                "a function of a library that ctypes loaded",
                "Write ctypes.cdll.LoadLibrary(path).Name, without calling it.",
            )
        )
    address = ctypes.cast(funcptr, ctypes.c_void_p)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, None, None)


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a foreign function known under a name.

    Args:
      name: what `ffi_call` calls it.
      fn: a capsule of the handler, see `pycapsule`; or a dict from stage ("instantiate", "prepare",
        "initialize", "execute") to capsules.
      platform: cpu, cuda or rocm, in any case of letters.
      api_version: 1 for typed handlers, 0 for untyped ones.
      **kwargs: passed on to the compiler, such as ``traits=``.

    Raises:
      TypeError: `fn` is neither a capsule nor a dict of capsules, or a name is no string.
    """
    _check_names("register_ffi_target", name=name, platform=platform)
    capsules = list(fn.values()) if isinstance(fn, Mapping) else [fn]
    for capsule in capsules:
        if type(capsule).__name__ != "PyCapsule":
            raise TypeError(
                message(
                    "register_ffi_target",
                    f"{capsule!r} of type {type(capsule).__name__} for {name!r}",
                    "a PyCapsule, or a dict from stage to PyCapsule",
                    "Wrap a ctypes function with pycapsule.",
                )
            )
    _jaxlib.register_custom_call_target(
        name, fn, platform=_platform(platform), api_version=api_version, **kwargs
    )


def _check_names(function: str, **names: Any) -> None:
    for what, given in names.items():
        if not isinstance(given, str):
            raise TypeError(
                message(
                    function,
                    f"{what}={given!r} of type {type(given).__name__}",
                    "a string",
                    f"Write {what}={str(given)!r}.",
                )
            )


def _platform(name: str) -> str:
    lower = name.lower()
    return lower if lower == "cpu" else lower.upper()


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that a function treats leading dimensions alike, so that it may be split along them.

    Raises:
      TypeError: `name` is no string.
    """
    _check_names("register_ffi_target_as_batch_partitionable", name=name)
    _jaxlib.register_custom_call_as_batch_partitionable(name)


def register_ffi_type(
    name: str, type_registration: Mapping[str, Any], platform: str = "cpu"
) -> None:
    """Make a C++ type known that handlers keep their state in.

    Args:
      name: unique name of the type.
      type_registration: capsules under "type_id" and optionally "type_info".
      platform: the platform.

    Raises:
      TypeError: `type_registration` is no dict with "type_id", or a name is no string.
    """
    _check_names("register_ffi_type", name=name, platform=platform)
    if not isinstance(type_registration, Mapping) or "type_id" not in type_registration:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            message(
                "register_ffi_type",
                f"type_registration={type_registration!r}",
                'a dict with a capsule under "type_id", and optionally one under "type_info"',
                "Wrap the addresses of the library's objects with pycapsule.",
            )
        )
    _jaxlib.register_custom_type(name, dict(type_registration), platform=_platform(platform))


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> NoReturn:
    """Refuse: types are registered with `register_ffi_type`.

    Raises:
      ValueError: always.
    """
    raise ValueError(
        message(
            "register_ffi_type_id",
            f"the type {name!r} for {platform}",
            "registration with its id and info, which this version of the compiler needs",
            f"Write register_ffi_type({name!r}, {{'type_id': capsule, 'type_info': capsule}}).",
        )
    )
