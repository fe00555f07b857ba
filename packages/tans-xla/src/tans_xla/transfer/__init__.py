"""Moving values between host and devices: `device_put`, `device_get`, waiting for results."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from tans_core import tree
from tans_core.config import abstract_mesh
from tans_core.dtypes import ExtendedDType
from tans_core.hi_types import is_hi_value, lower_value, raise_value
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_core.refs import RefCell
from tans_core.sharding import NamedSharding, named_sharding
from tans_core.trace import Tracer
from tans_core.types import ShapedArray
from tans_core.values import typeof
from tans_xla import guards
from tans_xla._jaxlib import (
    ArrayCopySemantics,
    ArrayImpl,
    batched_block_until_ready,
    batched_copy_to_host_async,
)
from tans_xla.host_value import check_readable, host_value
from tans_xla.memory import MemorySpace
from tans_xla.transfer.place import put_leaf, put_numpy
from tans_xla.transfer.target import (
    Destination,
    context_mesh,
    default_target,
    is_destination,
    make_target,
    target_of,
)

device_put_p = Primitive("device_put", family=__name__, multiple_results=True)

_LEAVES: Final = frozenset((np.ndarray, ArrayImpl, int, float, complex, bool))


def device_put(
    x: Any,
    device: Destination = None,
    *,
    src: Destination = None,
    donate: Any = False,
    may_alias: Any = None,
) -> Any:
    """Put the leaves of a tree on devices.

    Args:
      x: tree of arrays, NumPy arrays and scalars, Python scalars.
      device: a device, a sharding, a `PartitionSpec` under `set_mesh`, a `MemorySpace`, or a tree
        of these that is a prefix of `x`. With None arrays stay where they are, and other values go
        to the default device without being committed to it.
      src: where values come from; needed only for values that are traced.
      donate: bool, or a tree prefix of bools: whether the leaf's buffer may be given up; the leaf
        can't be used afterwards.
      may_alias: bool, or a tree prefix: whether the result may share the buffer of an array leaf.
        NumPy memory is never shared.

    Returns:
      A tree like `x` with array leaves.

    Raises:
      TypeError: a leaf is not a number or an array of numbers.
      ValueError: `device` is no destination, its tree does not fit `x`, or a dimension is not
        divisible by its number of shards.

    Example:
      >>> device_put(np.arange(3.0))
      Array([0., 1., 2.], dtype=float32)
    """
    if type(x) in _LEAVES and donate is False and may_alias is not False and not guards.are_used():
        return put_leaf(x, target_of(device, x))
    with guards.explicit_put():
        leaves, treedef = tree.flatten(x)
        options = [
            _spread(name, value, x, len(leaves))
            for name, value in (
                ("device", device), ("donate", donate), ("may_alias", may_alias), ("src", src),
            )
        ]  # fmt: skip
        return tree.unflatten(treedef, _put_leaves(leaves, *options))


def _spread(name: str, option: Any, x: Any, count: int) -> list[Any]:
    """Return one option per leaf of `x` from a tree prefix."""
    if is_destination(option) or isinstance(option, bool):
        return [option] * count
    try:
        return tree.broadcast_prefix(option, x, is_leaf=is_destination)
    except ValueError as error:
        raise ValueError(
            f"device_put: {name}={option!r} is no tree prefix of the value: {error}"
        ) from None


def _put_leaves(
    leaves: list[Any],
    devices: list[Any],
    donates: list[Any],
    aliases: list[Any],
    sources: list[Any],
) -> list[Any]:
    known: dict[int, Any] = {id(None): None}
    default = default_target()
    results = []
    for x, device, donate, alias, source in zip(
        leaves, devices, donates, aliases, sources, strict=True
    ):
        kind = type(x)
        if kind not in _LEAVES and isinstance(x, Tracer):
            results.append(_bind(x, device, donate, alias, source))
            continue
        if is_hi_value(x):
            aval = typeof(x)
            parts = lower_value(aval, x)
            n = len(parts)
            put = _put_leaves(parts, [device] * n, [donate] * n, [alias] * n, [source] * n)
            results.append(raise_value(aval, put))
            continue
        target = known.get(id(device))
        if isinstance(device, MemorySpace):
            target = target_of(device, x)
        elif target is None and device is not None:
            target = known[id(device)] = make_target(device)
        if kind is np.ndarray:
            results.append(put_numpy(x, target or default))
            continue
        result = put_leaf(x, target, copy=alias is False or bool(donate))
        if donate and type(x) is ArrayImpl:
            x.delete()
        results.append(result)
    return results


def _bind(x: Tracer, device: Any, donate: Any, alias: Any, source: Any) -> Any:
    if isinstance(device, PartitionSpec):
        device = named_sharding(_traced_mesh(device), device)
    aval = typeof(x)
    if isinstance(device, NamedSharding) and isinstance(aval, ShapedArray):
        explicit = AxisType.Explicit in device.mesh.axis_types
        if explicit or len(device.spec.partitions) > aval.ndim:
            device.shard_shape(aval.shape)  # raises where the spec does not fit
    semantics = ArrayCopySemantics.REUSE_INPUT
    if donate:
        semantics = ArrayCopySemantics.DONATE_INPUT
    elif alias is False:
        semantics = ArrayCopySemantics.ALWAYS_COPY
    (result,) = device_put_p.bind(x, copy_semantics=(semantics,), devices=(device,), srcs=(source,))
    return result


def _traced_mesh(spec: PartitionSpec) -> Any:
    found = abstract_mesh.value
    return context_mesh(spec, "device_put") if found is None else found


def device_get(x: Any) -> Any:
    """Return the tree `x` with its arrays as NumPy arrays; waits until they are computed.

    Args:
      x: tree; leaves that are not arrays pass through `np.asarray` if they can.

    Raises:
      RuntimeError: an array can't be read from this process.
    """
    with guards.explicit_get():
        leaves, treedef = tree.flatten(x)
        arrays = [leaf for leaf in leaves if isinstance(leaf, ArrayImpl)]
        if len(arrays) > 1:
            # All copies are started before the first is waited for.
            copy_to_host_async(arrays)
        return tree.unflatten(treedef, [_get_leaf(leaf) for leaf in leaves])


def _get_leaf(x: Any) -> Any:
    if isinstance(x, ArrayImpl):
        return host_value(x)
    if isinstance(getattr(getattr(x, "aval", None), "dtype", None), ExtendedDType):
        return x  # keys have no NumPy form
    if isinstance(x, RefCell):
        return x
    to_array = getattr(x, "__array__", None)
    return x if to_array is None else to_array()


def copy_to_host_async(x: Any) -> Any:
    """Start copying the arrays of the tree `x` to the host; returns `x`."""
    arrays = [a for a in _arrays(x) if a._npy_value is None]
    for array in arrays:
        check_readable(array)
    if arrays:
        batched_copy_to_host_async(arrays)
    return x


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of the tree `x` are computed; other leaves are left alone.

    Returns:
      `x`.

    Raises:
      JaxRuntimeError: the computation of an array failed, or an array was deleted.
    """
    arrays = []
    for leaf in tree.leaves(x):
        if isinstance(leaf, ArrayImpl):
            arrays.append(leaf)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if arrays:
        batched_block_until_ready(arrays)
    return x


def _arrays(x: Any) -> Iterable[ArrayImpl]:
    return [leaf for leaf in tree.leaves(x) if isinstance(leaf, ArrayImpl)]
