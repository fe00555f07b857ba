"""Arrays made of what each process holds."""

from typing import Any

import numpy as np

from tans_core import tree
from tans_core.sharding import Sharding
from tans_xla import backend
from tans_xla.make_array import make_array_from_callback
from tans_xla.transfer import device_put

type Span = tuple[int, int]


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Any:
    """Return arrays over all devices, of which each process gives the part that its devices hold.

    Args:
      sharding: a sharding over the devices of all processes, or a tree of them like `local_data`.
      local_data: tree of NumPy arrays: this process's part. A dimension that is split over
        processes has the size of the part; other dimensions have their full size.
      global_shape: shape of the whole, or a tree of shapes; found from the part when left out. On
        one process, the part is the whole.

    Raises:
      ValueError: the shapes don't fit.

    Example:
      >>> import numpy as np
      >>> from tans_core.sharding import single_device_sharding
      >>> from tans_xla import devices
      >>> here = single_device_sharding(devices()[0])
      >>> make_array_from_process_local_data(here, np.arange(3.0)).tolist()
      [0.0, 1.0, 2.0]
    """
    leaves, treedef = tree.flatten(local_data)
    shardings = tree.broadcast_prefix(sharding, local_data, is_leaf=_is_sharding)
    if global_shape is None or (treedef.num_leaves == 1 and not isinstance(global_shape, dict)):
        shapes = [global_shape] * len(leaves)
    else:
        shapes = tree.broadcast_prefix(global_shape, local_data, is_leaf=_is_shape)
    triples = zip(shardings, leaves, shapes, strict=True)
    return tree.unflatten(treedef, [_from_local(s, np.asarray(x), n) for s, x, n in triples])


def _is_sharding(x: Any) -> bool:
    return isinstance(x, Sharding)


def _is_shape(x: Any) -> bool:
    return x is None or (isinstance(x, tuple) and all(isinstance(n, int | None) for n in x))


def _from_local(sharding: Sharding, data: np.ndarray, global_shape: Any) -> Any:
    if backend.process_count() == 1:
        if global_shape is not None and tuple(global_shape) != data.shape:
            raise ValueError(
                f"make_array_from_process_local_data: given global_shape={tuple(global_shape)} and "
                f"data of shape {data.shape}; on one process they are the same. Leave global_shape "
                "out."
            )
        return device_put(data, sharding)
    shape = _whole_shape(sharding, data.shape, global_shape)
    offsets = _offsets(sharding, data.shape, shape)

    def part(index: tuple[slice, ...]) -> np.ndarray:
        places = []
        for at, size, known in zip(index, shape, offsets, strict=True):
            start, stop, _ = at.indices(size)
            shift = start - known[start, stop]
            places.append(slice(start - shift, stop - shift))
        return data[tuple(places)]

    return make_array_from_callback(shape, sharding, part, data.dtype)


def _spans(sharding: Any, shape: tuple[int, ...]) -> list[tuple[set[Span], set[Span]]]:
    """Return, for each dimension, the spans of this process and those of all."""
    mine = sharding.addressable_devices_indices_map(shape).values()
    every = sharding.devices_indices_map(shape).values()
    return [
        tuple({index[d].indices(n)[:2] for index in indices} for indices in (mine, every))
        for d, n in enumerate(shape)
    ]  # pyright: ignore[reportReturnType]


def _whole_shape(sharding: Any, local: tuple[int, ...], given: Any) -> tuple[int, ...]:
    if given is not None and None not in given:
        return tuple(given)
    # Any shape that the sharding divides tells how many parts of each dimension are here.
    trial = tuple(n * len(sharding.device_set) for n in local)
    found = [n * len(e) // len(m) for n, (m, e) in zip(local, _spans(sharding, trial), strict=True)]
    wanted = given or (None,) * len(local)
    return tuple(f if w is None else w for f, w in zip(found, wanted, strict=True))


def _offsets(
    sharding: Any, local: tuple[int, ...], shape: tuple[int, ...]
) -> list[dict[Span, int]]:
    """Return, for each dimension, where in the local data a span of the whole starts."""
    result = []
    for d, (mine, _) in enumerate(_spans(sharding, shape)):
        spans = sorted(mine)
        if local[d] == shape[d]:
            result.append({span: span[0] for span in spans})
            continue
        total = sum(stop - start for start, stop in spans)
        if total != local[d]:
            raise ValueError(
                f"make_array_from_process_local_data: given data of shape {local} for a whole of "
                f"shape {shape}; expected {total} or {shape[d]} in dimension {d}, of which this "
                "process's devices hold that much. Pass what this process holds."
            )
        starts = np.cumsum([0, *(stop - start for start, stop in spans[:-1])])
        result.append(dict(zip(spans, map(int, starts), strict=True)))
    return result
