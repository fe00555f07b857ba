"""Data between the processes of a job: gather, broadcast, compare, wait.

Each function is called by all processes that own one of its ``devices``, all devices by default.
After a failure pass the live ones: a collective over a dead process can only fail.
"""

import hashlib
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_core import ArrayImpl, Tracer, tree
from tans_core.mesh import AxisType, Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_fault.coordination import state
from tans_fault.live import ProcessFailureError, live_devices
from tans_lax.collectives import psum
from tans_sharding import shard_map
from tans_xla import backend, jit
from tans_xla.make_array import (
    make_array_from_callback,
    make_array_from_single_device_arrays,
)
from tans_xla.process_local import make_array_from_process_local_data

__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]

type Tree = Any  # a tree of arrays
type Device = Any
_AXIS = "tans_processes"
_DIGEST_BYTES = 16


def broadcast_one_to_all(
    in_tree: Tree, is_source: bool | None = None, *, devices: Sequence[Device] | None = None
) -> Tree:
    """Return the tree of one process on all.

    Args:
      in_tree: tree of arrays; the same structure, shapes and dtypes on all processes.
      is_source: whether this process is the one; by default the first that takes part.
      devices: devices of the processes that take part.

    Returns:
      Tree of NumPy arrays, bit for bit those of the source.

    Raises:
      TypeError: a leaf is no array of numbers or text.
      ValueError: structures, shapes or dtypes differ between processes.

    Example:
      >>> broadcast_one_to_all({"a": np.float32(3)})
      {'a': array(3., dtype=float32)}
    """
    chosen = _first_devices(devices)
    if is_source is None:
        is_source = chosen[0].process_index == backend.process_index()
    if len(chosen) == 1:
        return tree.map(np.asarray, in_tree)
    leaves, structure = tree.flatten(in_tree)
    arrays = [_plain("broadcast_one_to_all", leaf) for leaf in leaves]
    _check_same("broadcast_one_to_all", structure, arrays, chosen)
    data = b"".join(a.tobytes() for a in arrays)
    summed = _sum(np.frombuffer(data if is_source else bytes(len(data)), np.uint8), chosen)
    parts = np.split(summed, np.cumsum([a.nbytes for a in arrays])[:-1])
    return structure.unflatten(
        [_from_bytes(part, a) for part, a in zip(parts, arrays, strict=True)]
    )


def process_allgather(
    in_tree: Tree, tiled: bool = False, *, devices: Sequence[Device] | None = None
) -> Tree:
    """Return the trees of all processes, on all.

    Args:
      in_tree: tree of arrays; the same structure, shapes and dtypes on all processes. An array
        over devices of several processes is made whole, and needs ``tiled=True``.
      tiled: whether to concatenate along axis 0 instead of stacking on a new one.
      devices: devices of the processes that take part.

    Returns:
      Tree of NumPy arrays of shape ``[processes, ...]``, or ``[processes * n, ...]`` if tiled.

    Raises:
      TypeError: a leaf is no array of numbers or text.
      ValueError: an array over several processes with ``tiled=False``; structures, shapes or dtypes
        differ between processes.

    Example:
      >>> process_allgather(np.ones(2, np.float32))
      array([[1., 1.]], dtype=float32)
    """
    chosen = _first_devices(devices)
    leaves, structure = tree.flatten(in_tree)
    leaves = [leaf if _is_spread(leaf) else _plain("process_allgather", leaf) for leaf in leaves]
    if len(chosen) > 1:
        _check_same("process_allgather", structure, leaves, chosen)
    return structure.unflatten([_gather(leaf, tiled, chosen) for leaf in leaves])


def _is_spread(leaf: Any) -> bool:
    return isinstance(leaf, ArrayImpl) and not leaf.is_fully_addressable


def _gather(leaf: Any, tiled: bool, chosen: list[Device]) -> np.ndarray:
    if _is_spread(leaf):
        if not tiled:
            raise ValueError(
                f"process_allgather: given an array of type {leaf.aval.str_short()} over devices "
                "of several processes and tiled=False, expected tiled=True: its parts are put "
                "together, and there is nothing to stack. Pass tiled=True."
            )
        return whole_value(leaf)
    array = np.asarray(leaf)
    if len(chosen) == 1:
        return array if tiled else array[None]
    pieces = [_from_bytes(row, array) for row in _rows(array.tobytes(), chosen)]
    return np.concatenate([np.atleast_1d(p) for p in pieces]) if tiled else np.stack(pieces)


def whole_value(array: ArrayImpl) -> np.ndarray:
    """Return the value of an array over several processes, made whole on each of them."""
    if array.is_fully_addressable:
        return np.asarray(array)
    if not array.is_fully_replicated:
        target = NamedSharding(array.sharding.mesh, PartitionSpec())
        array = jit(lambda x: x, out_shardings=target)(array)
    return np.asarray(array.addressable_data(0))


def sync_global_devices(name: str, *, devices: Sequence[Device] | None = None) -> None:
    """Wait until all processes call this with the same name.

    Raises:
      AssertionError: the names differ.
      TypeError: the name is no text.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"sync_global_devices: name={name!r} is a {type(name).__name__}, expected a str. "
            "Write str(name)."
        )
    assert_equal(
        np.uint32(zlib.crc32(name.encode())),
        f"sync_global_devices: the name {name!r} of this process",
        devices=devices,
    )


def assert_equal(
    in_tree: Tree, fail_message: str = "", *, devices: Sequence[Device] | None = None
) -> None:
    """Check that all processes have the same values.

    Raises:
      AssertionError: they differ; on the processes whose values differ from the first one's, or on
        all if structures, shapes or dtypes differ.
    """
    try:
        expected = broadcast_one_to_all(in_tree, devices=devices)
    except DifferentTreesError as error:
        raise AssertionError(f"{fail_message or 'assert_equal'}: {error}") from None
    same = tree.map(
        lambda a, b: np.array_equal(np.asarray(a), b, equal_nan=False), in_tree, expected
    )
    if not all(tree.leaves(same)):
        raise AssertionError(
            f"{fail_message or 'assert_equal: a value'} differs from that of the first process: "
            f"given {in_tree}, expected {expected}. All processes must compute the same."
        )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether this is the step at which all processes save and end, because one got SIGTERM.

    Args:
      step_id: number of the step, the same in all processes, which all call this once per step.

    Raises:
      RuntimeError: the preemption service is switched off.
    """
    if state.client is None:
        return False
    if state.preemption_sync_manager is None:
        raise RuntimeError(
            "reached_preemption_sync_point: the preemption service does not run, expected it to. "
            "Leave jax_enable_preemption_service on."
        )
    return bool(state.preemption_sync_manager.reached_sync_point(step_id))


def host_local_array_to_global_array(local_inputs: Tree, global_mesh: Mesh, pspecs: Any) -> Tree:
    """Return arrays over a mesh of all processes, of which each gives its part.

    Nothing is sent, so the shapes of the parts are not compared. Where they may differ, call
    ``assert_equal(np.shape(x))`` first.

    Args:
      local_inputs: tree of arrays: what belongs to the devices of this process. A traced value
        stays as it is: only a mesh of this process's devices may be given with it.
      global_mesh: the mesh.
      pspecs: partition spec of each, or one for all.

    Raises:
      TypeError: the mesh is none.
      ValueError: a spec is None, or does not fit; a traced value and a mesh of several processes.
    """
    name = "host_local_array_to_global_array"

    def convert(spec: PartitionSpec, local: Any) -> Any:
        sharding = NamedSharding(global_mesh, spec)
        if _is_spread(local) or _is_traced(name, local, global_mesh):
            return local
        return make_array_from_process_local_data(sharding, np.asarray(local))

    _check_mesh(name, global_mesh)
    return _map_specs(name, convert, pspecs, local_inputs)


def global_array_to_host_local_array(global_inputs: Tree, global_mesh: Mesh, pspecs: Any) -> Tree:
    """Return this process's part of arrays over a mesh, as arrays over its own devices.

    Args:
      global_inputs: tree of arrays. A traced value stays as it is: only a mesh of this process's
        devices may be given with it.
      global_mesh: the mesh; the devices of one process form a block of it.
      pspecs: partition spec of each, or one for all.

    Raises:
      TypeError: the mesh is none.
      ValueError: a spec is None, or does not fit; a traced value and a mesh of several processes.
    """
    name = "global_array_to_host_local_array"
    _check_mesh(name, global_mesh)
    mesh = global_mesh.local_mesh

    def convert(spec: PartitionSpec, whole: Any) -> Any:
        local = NamedSharding(mesh, spec)
        if _is_traced(name, whole, global_mesh):
            return whole
        if not isinstance(whole, ArrayImpl):
            return make_array_from_process_local_data(local, _plain(name, whole))
        if whole.is_fully_addressable:
            return whole
        shards = whole.addressable_shards
        shape = _shape_of_parts([s.index for s in shards], whole.shape)
        return make_array_from_single_device_arrays(
            shape, local, [s.data for s in shards], dtype=whole.dtype
        )

    return _map_specs(name, convert, pspecs, global_inputs)


def _is_traced(name: str, value: Any, mesh: Mesh) -> bool:
    """Whether a value is traced, and so has no part of its own on this process.

    Raises:
      ValueError: it is, but a part of the mesh's devices belongs to another process.
    """
    others = {d.process_index for d in mesh.devices.flat} - {backend.process_index()}
    if isinstance(value, Tracer) and others:
        raise ValueError(
            f"{name}: given a traced value and a mesh with devices of other processes "
            f"({sorted(others)}), expected arrays: all processes trace the same program, in which "
            "there is no part of one. Call it outside of jit, grad and vmap."
        )
    return isinstance(value, Tracer)


def _check_mesh(name: str, mesh: Any) -> None:
    if not isinstance(mesh, Mesh):
        raise TypeError(
            f"{name}: global_mesh is a {type(mesh).__name__}, expected a Mesh. Make one with "
            "make_mesh."
        )


def _map_specs(name: str, convert: Callable[..., Any], pspecs: Any, inputs: Tree) -> Tree:
    if pspecs is None:
        raise ValueError(
            f"{name}: pspecs is None, expected a PartitionSpec, or a tree of them. For a whole "
            "copy on each device write P()."
        )
    leaves, structure = tree.flatten(inputs)
    is_spec = lambda x: isinstance(x, PartitionSpec)  # noqa: E731
    specs = tree.broadcast_prefix(pspecs, inputs, is_leaf=is_spec)
    return structure.unflatten([convert(s, x) for s, x in zip(specs, leaves, strict=True)])


def _shape_of_parts(indices: list[tuple[slice, ...]], shape: tuple[int, ...]) -> tuple[int, ...]:
    spans = [{i[d].indices(n)[:2] for i in indices} for d, n in enumerate(shape)]
    return tuple(sum(stop - start for start, stop in found) for found in spans)


class DifferentTreesError(ValueError):
    """Processes gave trees of different structures, shapes or dtypes."""


def _check_same(name: str, structure: Any, leaves: list[Any], chosen: list[Device]) -> None:
    """Compare, over processes, what is called with what kind of tree; a sum would mix them up.

    Raises:
      DifferentTreesError: they differ; on all processes.
    """
    shown = f"{structure} of {[f'{leaf.dtype}{list(leaf.shape)}' for leaf in leaves]}"
    rows = _rows(hashlib.sha256(f"{name} {shown}".encode()).digest()[:_DIGEST_BYTES], chosen)
    mine = rows[_place(chosen)]
    others = [d.process_index for d, row in zip(chosen, rows, strict=True) if (row != mine).any()]
    if others:
        raise DifferentTreesError(
            f"{name}: given {shown} here and something else, or another function, on processes "
            f"{others}; expected the same structure, shapes and dtypes on all. Call it in the same "
            "way everywhere."
        )


def _plain(name: str, leaf: Any) -> np.ndarray:
    """Return a leaf as an array whose bytes are its values."""
    array = np.asarray(leaf)
    if array.dtype.hasobject:
        raise TypeError(
            f"{name}: given a {type(leaf).__name__}, expected arrays of numbers. Send its parts, "
            "or bytes as np.frombuffer(data, np.uint8)."
        )
    return array


def _place(chosen: list[Device]) -> int:
    """Return the place of this process among those that take part."""
    return [d.process_index for d in chosen].index(backend.process_index())


def _rows(data: bytes, chosen: list[Device]) -> np.ndarray:
    """Return the bytes of all processes, equally many each, as rows."""
    padded = np.zeros((len(chosen), len(data)), np.uint8)
    padded[_place(chosen)] = np.frombuffer(data, np.uint8)
    return _sum(padded.reshape(-1), chosen).reshape(padded.shape)


def _first_devices(devices: Sequence[Device] | None) -> list[Device]:
    """Return one device of each process, in the order of processes; one must be of this process."""
    found: dict[int, Device] = {}
    for device in sorted(backend.devices() if devices is None else devices, key=lambda d: d.id):
        found.setdefault(device.process_index, device)
    me = backend.process_index()
    if me not in found:
        raise ValueError(
            f"multihost_utils: given devices of the processes {sorted(found)}, none of them of "
            f"this process, {me}; expected at least one. Call it only on those, or add a device."
        )
    return [found[process] for process in sorted(found)]


def _from_bytes(data: np.ndarray, like: np.ndarray) -> np.ndarray:
    return np.frombuffer(data.tobytes(), like.dtype).reshape(like.shape)


def _sum(data: np.ndarray, chosen: list[Device]) -> np.ndarray:
    """Return the sum of bytes over processes; as only one has others than 0, it is exact."""
    if data.size == 0:
        return data
    mesh = Mesh(np.array(chosen), (_AXIS,), AxisType.Auto)
    split = PartitionSpec(_AXIS)
    rows = make_array_from_callback(
        (len(chosen), data.size), NamedSharding(mesh, split), lambda _: data[None], np.uint8
    )
    whole: Any = shard_map(_psum, mesh=mesh, in_specs=split, out_specs=PartitionSpec())
    run: Any = jit(whole)
    return np.asarray(run(rows).addressable_data(0))[0]


def _psum(x: Any) -> Any:
    return psum(x, _AXIS)
