"""Registers the call targets that jaxlib and its plugins bring, when a program first needs them."""

import threading
from typing import Any, Final

from tans_xla import _jaxlib

_lock: Final = threading.Lock()
_registered: Final[set[str]] = set()
_GPU_MODULES: Final = ("_solver", "_hybrid", "_linalg", "_sparse", "_prng", "_rnn")


def use_lapack() -> None:
    """Make the ``lapack_*_ffi`` targets known on the CPU; the first call loads SciPy's LAPACK."""
    _once("cpu", _register_lapack)


def use_gpu_libraries(platform: str) -> None:
    """Make the solver targets of an installed GPU plugin known; nothing when there is none.

    Args:
      platform: "cuda" or "rocm".
    """
    _once(platform, lambda: _register_gpu(platform))


def _once(platform: str, register: Any) -> None:
    if platform in _registered:
        return
    with _lock:
        if platform not in _registered:
            register()
            _registered.add(platform)


def _register_lapack() -> None:
    for name, handler in _jaxlib.load_lapack().items():
        version = int(name.endswith("_ffi"))
        _jaxlib.register_custom_call_target(name, handler, platform="cpu", api_version=version)
        _jaxlib.partition_call_by_batch(name)


def _register_gpu(platform: str) -> None:
    for name in _GPU_MODULES:
        module = _jaxlib.import_from_plugin(platform, name)
        if module is None:
            continue
        if name == "_hybrid":
            module.initialize()
        for target, handler in module.registrations().items():
            version = int(name in ("_hybrid", "_linalg") or target.endswith("_ffi"))
            _jaxlib.register_custom_call_target(
                target, handler, platform=platform.upper(), api_version=version
            )
            _jaxlib.partition_call_by_batch(target)


def approximate_candidates(size: int, rank: int, k: int, recall: float, override: int) -> int:
    """Return how many candidates the compiler's approximate search for the `k` largest keeps.

    Args:
      size: length of the searched dimension.
      rank: number of dimensions of the array.
      k: how many elements are wanted.
      recall: expected share of them that is found.
      override: the length to assume when the array is a part of a longer one; -1 for none.
    """
    found, _ = _jaxlib.approx_top_k_output_size(size, rank, k, recall, False, override)
    return found
