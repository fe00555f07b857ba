"""What has to happen once, right after the first client is made and before anyone uses it.

jaxlib's C++ looks up the type of per-device pieces by a module name of jax, once and for the whole
process, a failure included. `prepare` makes it find ours. The lookup of the function that makes a
piece's sharding is never kept, so `device_arrays` serves it around each access.
"""

import contextlib
import os
import threading
from typing import Any, Final

import numpy as np

from tans_core import coexistence
from tans_core.sharding import single_device_sharding
from tans_core.types import ShapedArray
from tans_xla._jaxlib import ArrayImpl, Client, PjitFunctionCache, batched_device_put

_lock: Final = threading.Lock()
_state: Final[dict[str, bool]] = {"prepared": False, "forked": False}


def _make_single_device_sharding(device: Any, memory_kind: str | None = None) -> Any:
    return single_device_sharding(device, memory_kind)


_PIECES: Final = {
    "jax._src.sharding_impls": {"make_single_device_sharding": _make_single_device_sharding}
}


def prepare(client: Client) -> None:
    """Bind `ShapedArray` into C++ with the help of one small array of `client`.

    Raises:
      ImportError: real jax was imported into this process.
    """
    with _lock:
        if _state["prepared"]:
            return
        coexistence.check_alone()
        device = client.local_devices()[0]
        with coexistence.stub_modules({"jax.core": {"ShapedArray": ShapedArray}, **_PIECES}):
            probe = batched_device_put(
                ShapedArray((), np.dtype("float32")),
                single_device_sharding(device),
                [np.float32(0)],
                [device],
                enable_x64=False,
            )
            (piece,) = probe._arrays
        if not isinstance(piece.aval, ShapedArray):
            raise ImportError(
                "jaxlib's lookup of the array type was used up before Tans could serve it, by code "
                "that read per-device pieces of an array. Import tans before such code runs."
            )
        _state["prepared"] = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    _state["forked"] = True
    PjitFunctionCache.clear_all()  # calls come through Python, and are refused there


def check_not_forked(what: str) -> None:
    """Check that the threads of the backend are in this process.

    Raises:
      RuntimeError: naming `what` is asked for.
    """
    if _state["forked"]:
        raise RuntimeError(
            f"{what}: given a process that was forked after the backend had started, expected one "
            "that starts its own: threads are not copied, so this process would wait for ever. "
            "Start processes with multiprocessing's method 'spawn' or 'forkserver', or fork before "
            "the first array is made."
        )


def device_arrays(array: ArrayImpl) -> list[ArrayImpl]:
    """Return the single-device arrays of this process that make up `array`, in device order."""
    with serve_piece_shardings():
        return array._arrays


def serve_piece_shardings() -> contextlib.AbstractContextManager[None]:
    """Let C++ find the function that makes a piece's sharding, for the length of the block.

    Without it C++ falls back to a sharding without memory kind, after a failed import that costs
    more than the access itself.
    """
    return coexistence.stub_modules(_PIECES)
