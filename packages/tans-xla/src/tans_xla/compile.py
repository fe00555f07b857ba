"""Compilation of a module through PJRT."""

import enum
import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core import config
from tans_xla._jaxlib import CompileOptions, DeviceAssignment, DeviceList, JaxRuntimeError
from tans_xla.context_locks import lock_of
from tans_xla.startup import check_not_forked

type OptionItems = tuple[tuple[str, Any], ...]

_log: Final = logging.getLogger(__name__)
# Options that are fields of the build options and not flags of XLA.
_BUILD_FIELDS: Final = ("optimization_level", "memory_fitting_level")
_OUTPUT_INDICES: Final = "individually_defined_output_indices"
_CONFIGS: Final = (
    config.optimization_level,
    config.memory_fitting_level,
    config.disable_most_optimizations,
    config.compiler_enable_remat_pass,
)


class CompilerEffortLevel(enum.Enum):
    """How much time the compiler may spend on speed, or on making a program fit into memory."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


class Request(NamedTuple):
    """One compilation.

    Attributes:
      module: the MLIR module.
      name: name of the program.
      devices: where it will run.
      items: the user's compiler options.
      options: all compile options, as PJRT takes them.
      host_callbacks: Python callables by index.
    """

    module: Any
    name: str
    devices: Sequence[Any]
    items: OptionItems
    options: CompileOptions
    host_callbacks: Sequence[Any]


class Compilation(NamedTuple):
    """What came out of one compilation.

    Attributes:
      loaded: the executable of PJRT.
      seconds: how long it took to compile, or to find.
      from_cache: whether it was found and not compiled.
    """

    loaded: Any
    seconds: float
    from_cache: bool


class Slots:
    """Empty places that another package fills.

    Attributes:
      compilation_cache: object with ``get(request)``, which returns a loaded executable or None,
        and ``put(request, executable, seconds)``; or None.
      explain_failure: called with an error of the compiler and the request, returns the error to
        raise in its place, or None for that error itself; or None.
      check_environment: called with whether the backend runs, before it starts and before each
        compilation, or None.
      watch: called with a request, returns a context manager that is active while the compiler
        runs; or None.
      explain: what `Compiled.explain` calls, or None.
    """

    compilation_cache: Any = None
    explain_failure: Any = None
    check_environment: Any = None
    watch: Any = None
    explain: Any = None


slots: Final = Slots()


def compile_flags() -> tuple[Any, ...]:
    """Return the flags that compiled code depends on."""
    return _CONFIGS


def compile_context() -> tuple[Any, ...]:
    """Return the values of the flags that compiled code depends on."""
    return tuple([flag.value for flag in _CONFIGS])


def option_items(options: dict[str, Any] | None) -> OptionItems:
    """Return compiler options as a hashable key; ``True`` and ``1`` are different values.

    Raises:
      TypeError: not a dict of strings to bool, int, float or str.
      ValueError: text that is none for C++.
    """
    if options is None:
        return ()
    if not isinstance(options, dict):
        raise TypeError(
            f"compiler_options: given {options!r}, expected a dict from option name to bool, int, "
            "float or str. Write for example {'xla_cpu_enable_fast_math': True}."
        )
    checked = {name: _checked_option(name, value) for name, value in options.items()}
    return tuple(sorted((k, (type(v).__name__, v)) for k, v in checked.items()))


def _checked_option(name: Any, value: Any) -> Any:
    if name == _OUTPUT_INDICES:
        if isinstance(value, list | tuple) and all(type(i) is int for i in value):
            return tuple(value)
        expected, remedy = "a sequence of ints", "Write for example (0, 1)."
    elif name in _BUILD_FIELDS:
        if isinstance(value, CompilerEffortLevel | str | int | float):
            return value
        expected = "a CompilerEffortLevel, its name or its number"
        remedy = "Write for example 'O2'."
    else:
        if isinstance(name, str) and isinstance(value, bool | int | float | str):
            for text in (name, value):
                if isinstance(text, str):
                    _check_text(name, text)
            return value
        expected = "a name that is a str and a value that is a bool, int, float or str"
        remedy = "Leave the option out, or convert the value."
        if hasattr(value, "item"):
            remedy = f"Write {value.item()!r}."
    raise TypeError(
        f"compiler_options[{name!r}]: given {value!r} of type {type(value).__name__}, expected "
        f"{expected}. {remedy}"
    )


def _check_text(name: str, text: str) -> None:
    try:
        if b"\0" not in text.encode():
            return
    except UnicodeEncodeError:
        pass
    raise ValueError(
        f"compiler_options[{name!r}]: given the text {text!r}, expected Unicode without null "
        "characters and lone surrogates. Remove them."
    )


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
    build.optimization_level = CompilerEffortLevel[config.optimization_level.value].value
    build.memory_fitting_level = CompilerEffortLevel[config.memory_fitting_level.value].value
    _set_debug_options(build.debug_options)
    overrides: list[tuple[str, Any]] = []
    for name, (_, value) in items:
        if name in _BUILD_FIELDS:
            setattr(build, name, _effort(name, value))
        elif name == _OUTPUT_INDICES:
            options.individually_defined_output_indices = value
        else:
            overrides.append((name, value))
    if overrides:
        options.env_option_overrides = overrides
    return options


def _set_debug_options(debug: Any) -> None:
    if config.disable_most_optimizations.value:
        debug.xla_backend_optimization_level = 0
        debug.xla_llvm_disable_expensive_passes = True
    if not config.compiler_enable_remat_pass.value:
        disabled = [x for x in (debug.xla_disable_hlo_passes or "").split(",") if x]
        debug.xla_disable_hlo_passes = ",".join([*disabled, "rematerialization"])


def _effort(name: str, value: Any) -> int:
    if isinstance(value, CompilerEffortLevel):
        return value.value
    for level in CompilerEffortLevel:
        if value == (level.name if isinstance(value, str) else level.value):
            return level.value
    raise ValueError(
        f"compiler_options[{name!r}]: given {value!r}, which is not a valid CompilerEffortLevel; "
        f"expected one of {', '.join(CompilerEffortLevel.__members__)}. Write {{{name!r}: 'O2'}}."
    )


def compile_module(
    module: Any,
    devices: Sequence[Any],
    items: OptionItems,
    host_callbacks: Sequence[Any],
    name: str,
    use_cache: bool = True,
) -> Compilation:
    """Compile a module for `devices`, or find its executable in the compilation cache.

    Without `use_cache` it is compiled, because the compiler calls Python functions.

    Raises:
      JaxRuntimeError: the compiler rejects the module or an option.
      RuntimeError: the process was forked after the backend had started.
    """
    check_not_forked(name)
    if slots.check_environment is not None:
        slots.check_environment(True)
    options = make_options(devices, items)
    request = Request(module, name, devices, items, options, host_callbacks)
    start = time.perf_counter()
    with lock_of(module.context):
        found, from_cache = _find_or_compile(request, use_cache)
    seconds = time.perf_counter() - start
    if config.log_compiles.value:
        _log.warning("compiled %s for %d device(s) in %.3f s", name, len(devices), seconds)
    return Compilation(found, seconds, from_cache)


def is_compile_only(device: Any) -> bool:
    """Whether a device stands for absent hardware, which programs are compiled for but not run."""
    return device.client.runtime_type == "compile_only_runtime"


def _find_or_compile(request: Request, use_cache: bool) -> tuple[Any, bool]:
    absent = is_compile_only(request.devices[0])  # then its program can't be loaded here
    cache = slots.compilation_cache if use_cache and not absent else None
    start = time.perf_counter()
    found = cache.get(request) if cache is not None else None
    if found is not None:
        return found, True
    found = _compile(request, absent)
    if cache is not None:
        cache.put(request, found, time.perf_counter() - start)
    return found, False


def _compile(request: Request, absent: bool) -> Any:
    devices = tuple(request.devices)
    client = devices[0].client
    watch = nullcontext() if slots.watch is None else slots.watch(request)
    try:
        with watch:
            if absent:
                return client.compile(request.module, DeviceList(devices), request.options)
            return client.compile_and_load(
                request.module, DeviceList(devices), request.options, list(request.host_callbacks)
            )
    except JaxRuntimeError as error:
        explained = slots.explain_failure and slots.explain_failure(error, request)
        if explained is None:
            raise
        raise explained from error
