"""Compilation of a module through PJRT."""

import logging
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import config
from tans_xla._jaxlib import CompileOptions, DeviceAssignment, DeviceList

type OptionItems = tuple[tuple[str, Any], ...]

_log: Final = logging.getLogger(__name__)
# Options that are fields of the build options and not flags of XLA.
_BUILD_FIELDS: Final = ("optimization_level", "memory_fitting_level")
_EFFORT: Final = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


class Slots:
    """Empty places that another package fills.

    Attributes:
      validate_options: called with the option items before they are used, or None.
      compilation_cache: object with ``get(module, devices, options)``, which returns a loaded
        executable or None, and ``put(module, devices, options, executable)``; or None.
    """

    validate_options: Any = None
    compilation_cache: Any = None


slots: Final = Slots()


def option_items(options: dict[str, Any] | None) -> OptionItems:
    """Return compiler options as a hashable key; ``True`` and ``1`` are different values.

    Raises:
      TypeError: not a dict of strings to bool, int, float or str.
    """
    if not options:
        return ()
    if not isinstance(options, dict):
        raise TypeError(
            f"compiler_options: given {options!r}, expected a dict from option name to bool, int, "
            "float or str, such as {'xla_cpu_enable_fast_math': True}."
        )
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, bool | int | float | str):
            raise TypeError(
                f"compiler_options[{name!r}]: given {value!r} of type {type(value).__name__}, "
                "expected a name and a value that is a bool, int, float or str."
            )
    items = tuple(sorted((k, (type(v).__name__, v)) for k, v in options.items()))
    if slots.validate_options is not None:
        slots.validate_options(items)
    return items


def make_options(devices: Sequence[Any], items: OptionItems) -> CompileOptions:
    """Return compile options for an SPMD program over `devices`."""
    options = CompileOptions()
    n = len(devices)
    options.num_replicas, options.num_partitions = 1, n
    ids = np.array([[d.id for d in devices]], np.int32)
    options.device_assignment = DeviceAssignment.create(ids)
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, n
    build.device_assignment = options.device_assignment
    build.use_spmd_partitioning = n > 1
    build.use_shardy_partitioner = True
    build.optimization_level = _EFFORT[config.optimization_level.value]
    build.memory_fitting_level = _EFFORT[config.memory_fitting_level.value]
    overrides: list[tuple[str, Any]] = []
    for name, (_, value) in items:
        if name in _BUILD_FIELDS:
            setattr(build, name, _effort(name, value))
        elif name == "individually_defined_output_indices":
            options.individually_defined_output_indices = value
        else:
            overrides.append((name, value))
    if overrides:
        options.env_option_overrides = overrides
    return options


def _effort(name: str, value: str | int) -> int:
    level = _EFFORT.get(value, value) if isinstance(value, str) else value
    if level not in _EFFORT.values():
        raise ValueError(
            f"compiler_options[{name!r}]: given {value!r}, which is not a valid "
            f"CompilerEffortLevel; expected one of {', '.join(_EFFORT)}. Write {{{name!r}: 'O2'}}."
        )
    return int(level)


def compile_module(
    module: Any,
    devices: Sequence[Any],
    items: OptionItems,
    host_callbacks: Sequence[Any],
    name: str,
) -> Any:
    """Compile a module for `devices`; return the loaded executable.

    Raises:
      JaxRuntimeError: the compiler rejects the module or an option.
    """
    options = make_options(devices, items)
    start = time.perf_counter()
    cache = slots.compilation_cache
    found = cache.get(module, devices, options) if cache is not None else None
    if found is None:
        client = devices[0].client
        found = client.compile_and_load(
            module, DeviceList(tuple(devices)), options, list(host_callbacks)
        )
        if cache is not None:
            cache.put(module, devices, options, found)
    if config.log_compiles.value:
        seconds = time.perf_counter() - start
        _log.warning("compiled %s for %d device(s) in %.3f s", name, len(devices), seconds)
    return found
