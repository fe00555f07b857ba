"""Arrays built from pieces: one per device, or made by a function of the slice."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_core import dtypes
from tans_core.sharding import Sharding
from tans_core.types import ShapedArray
from tans_xla import backend
from tans_xla._jaxlib import ArrayImpl, Client, batched_device_put
from tans_xla.transfer.place import sharded_type
from tans_xla.transfer.target import make_target

type Shape = Sequence[int]


def make_array_from_single_device_arrays(
    shape: Shape, sharding: Sharding, arrays: Sequence[ArrayImpl], *, dtype: Any = None
) -> ArrayImpl:
    """Return an array made of single-device arrays, without copying them.

    Args:
      shape: shape of the whole.
      sharding: sharding over a concrete mesh, or of one device.
      arrays: one array of shape ``sharding.shard_shape(shape)`` per device of this process, in any
        order.
      dtype: dtype of the whole; needed when this process has no piece.

    Raises:
      TypeError: `arrays` is not a sequence of arrays.
      ValueError: devices, shapes or dtypes of the pieces don't fit.
    """
    if isinstance(arrays, ArrayImpl) or not isinstance(arrays, Sequence):
        raise TypeError(
            f"make_array_from_single_device_arrays: arrays is a {type(arrays).__name__}, expected "
            "a sequence of single-device arrays. Write [array] for one."
        )
    for array in arrays:
        if not isinstance(array, ArrayImpl):
            raise TypeError(
                "make_array_from_single_device_arrays: a piece is a "
                f"{type(array).__name__}, expected an array on one device. Use device_put first."
            )
    aval = _whole_type(shape, arrays, dtype, "make_array_from_single_device_arrays")
    return ArrayImpl(sharded_type(aval, sharding), sharding, list(arrays), committed=True)


def _whole_type(shape: Shape, arrays: Sequence[Any], dtype: Any, name: str) -> ShapedArray:
    if dtype is None:
        if not arrays:
            raise ValueError(
                f"{name}: no pieces were given, so the dtype is unknown. Pass dtype=..."
            )
        dtype = arrays[0].dtype
    return ShapedArray(tuple(shape), dtypes.canonicalize(dtype))


def make_array_from_callback(
    shape: Shape,
    sharding: Sharding,
    data_callback: Callable[[tuple[slice, ...]], Any],
    dtype: Any = None,
) -> ArrayImpl:
    """Return an array whose pieces are made by a function of their slices.

    Args:
      shape: shape of the whole.
      sharding: sharding over a concrete mesh, or of one device.
      data_callback: takes the slices of one piece, returns its values; called once for each
        distinct piece of this process.
      dtype: dtype of the whole; needed when this process has no piece.

    Raises:
      ValueError: a piece has the wrong shape or dtype.

    Example:
      >>> from tans_xla import backend
      >>> whole = np.arange(4.0)
      >>> sharding = make_target(backend.devices("cpu")[0]).sharding
      >>> make_array_from_callback((4,), sharding, lambda index: whole[index])
      Array([0., 1., 2., 3.], dtype=float32)
    """
    shape = tuple(shape)
    target = make_target(sharding, "make_array_from_callback")
    indices = sharding.devices_indices_map(shape)
    made: dict[Any, np.ndarray] = {}
    pieces = []
    for device in target.devices:
        key = tuple((part.start, part.stop) for part in indices[device])
        if key not in made:
            # A private copy: the user may go on writing to what was returned.
            made[key] = np.array(data_callback(indices[device]))
        pieces.append(made[key])
    aval = _whole_type(shape, pieces, dtype, "make_array_from_callback")
    _check_pieces(pieces, aval, sharding)
    pieces = [piece.astype(aval.dtype, copy=False) for piece in pieces]
    return batched_device_put(
        sharded_type(aval, sharding), sharding, pieces, target.devices, target.committed
    )


def _check_pieces(pieces: list[np.ndarray], aval: ShapedArray, sharding: Sharding) -> None:
    expected = sharding.shard_shape(aval.shape)
    for piece in pieces:
        if piece.shape != expected or dtypes.canonicalize(piece.dtype) != aval.dtype:
            raise ValueError(
                f"make_array_from_callback: the function returned {piece.dtype}{piece.shape}, "
                f"expected shape {expected} and dtype {aval.dtype} for a whole of shape "
                f"{aval.shape}. Index the whole with the slices it is given."
            )


def live_arrays(platform: str | Client | None = None) -> list[ArrayImpl]:
    """Return the arrays on a backend that have not been freed; none if no backend is started.

    Args:
      platform: name or client; None means the default backend.
    """
    return list(backend.get_client(platform).live_arrays()) if backend.is_started() else []
