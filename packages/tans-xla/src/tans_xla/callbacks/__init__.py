"""Calling Python from a compiled program: `pure_callback`, `io_callback`, `debug.callback`."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import config, dtypes, tree
from tans_core.primitive import Primitive
from tans_core.sharding import SingleDeviceSharding
from tans_core.types import ShapedArray
from tans_core.values import is_value
from tans_xla import runtime_tokens
from tans_xla.callbacks.batched import VMAP_METHODS
from tans_xla.callbacks.host import FlatCallback

# Not lowered through templates: a template is shared by modules, and a callback belongs to one.
pure_callback_p = Primitive("pure_callback", family=__name__, multiple_results=True, call_like=True)
io_callback_p = Primitive("io_callback", family=__name__, multiple_results=True, call_like=True)
debug_callback_p = Primitive(
    "debug_callback", family=__name__, multiple_results=True, call_like=True
)

_X64: Final = tuple(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: SingleDeviceSharding | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function without side effects from a program.

    The function may be called any number of times, or never when its result is not used.

    Args:
      callback: takes arrays on the CPU in place of `args` and `kwargs`; returns a tree of arrays.
      result_shape_dtypes: tree of objects with `shape` and `dtype`: the types of the result.
      *args: trees of arrays, any shapes.
      sharding: the device on which the call is made in a program over several devices.
      vmap_method: what vmap does. "sequential": one call per index. "expand_dims" and
        "broadcast_all": one call, where operands without the mapped dimension get one of size 1,
        or are repeated. "legacy_vectorized": one call, such operands left alone. None: vmap raises.
      **kwargs: trees of arrays.

    Returns:
      A tree of arrays of the announced types.

    Raises:
      ValueError: a result type is 64-bit while x64 is off, or `vmap_method` is unknown.
      JaxRuntimeError: when run: the callback raised (its traceback is in the text), or returned
        another structure, shape or dtype.

    Example:
      >>> pure_callback(np.sin, ShapedArray((), np.dtype("float32")), 0.0)
      Array(0., dtype=float32)
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"pure_callback: vmap_method={vmap_method!r}, expected None or one of "
            f"{', '.join(map(repr, VMAP_METHODS))}."
        )
    flat, flat_callback, avals = _prepare(
        "pure_callback", callback, result_shape_dtypes, args, kwargs, sharding
    )
    outs = pure_callback_p.bind(
        *flat,
        callback=flat_callback,
        result_avals=avals,
        sharding=sharding,
        vmap_method=vmap_method,
    )
    return tree.unflatten(flat_callback.out_tree, outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: SingleDeviceSharding | None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function that has side effects from a program, once per execution.

    Args:
      callback: takes arrays on the CPU in place of `args` and `kwargs`; returns a tree of arrays.
      result_shape_dtypes: tree of objects with `shape` and `dtype`: the types of the result; None
        for a callback without results.
      *args: trees of arrays, any shapes.
      sharding: the device on which the call is made in a program over several devices.
      ordered: whether calls of ordered callbacks happen in program order.
      **kwargs: trees of arrays.

    Returns:
      A tree of arrays of the announced types.

    Raises:
      ValueError: a result type is 64-bit while x64 is off.
      JaxRuntimeError: as for `pure_callback`.
    """
    flat, flat_callback, avals = _prepare(
        "io_callback", callback, result_shape_dtypes, args, kwargs, sharding
    )
    outs = io_callback_p.bind(
        *flat, callback=flat_callback, ordered=bool(ordered), result_avals=avals, sharding=sharding
    )
    return tree.unflatten(flat_callback.out_tree, outs)


def _prepare(
    name: str,
    callback: Callable[..., Any],
    result_types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sharding: Any,
) -> tuple[list[Any], FlatCallback, tuple[ShapedArray, ...]]:
    if not callable(callback):
        raise TypeError(
            f"{name}: the callback {callback!r} is a {type(callback).__name__}, expected a "
            "function. The function comes first, then result_shape_dtypes, then its arguments."
        )
    if sharding is not None and not isinstance(sharding, SingleDeviceSharding):
        raise NotImplementedError(
            f"{name}: sharding={sharding!r} is a {type(sharding).__name__}, expected a "
            "SingleDeviceSharding: the call is made on one device."
        )
    types, out_tree = tree.flatten(result_types)
    avals = tuple(_result_type(name, t) for t in types)
    flat, in_tree = tree.flatten((args, kwargs))
    return flat, FlatCallback(callback, in_tree, out_tree, name), avals


def _result_type(name: str, given: Any) -> ShapedArray:
    if not (hasattr(given, "shape") and hasattr(given, "dtype")):
        raise TypeError(
            f"{name}: result_shape_dtypes holds {given!r} of type {type(given).__name__}, expected "
            "objects with shape and dtype. Write ShapeDtypeStruct(shape, dtype)."
        )
    dtype = dtypes.native(given.dtype)
    if dtype in _X64 and not config.enable_x64.value:
        raise ValueError(
            f"{name}: result_shape_dtypes asks for {dtype}, but 64-bit types are off. Ask for "
            f"{dtypes.canonicalize(dtype)}, or set jax_enable_x64."
        )
    return ShapedArray(tuple(given.shape), dtype)


def debug_callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """Call a Python function that looks at values while a program runs.

    It sees primal values under differentiation and one element at a time under vmap. The call is
    kept although it has no result.

    Args:
      callback: takes arrays on the CPU; its result is ignored.
      *args: trees of arrays; leaves of other types reach the callback as they are.
      ordered: whether calls of ordered callbacks happen in program order.
      partitioned: in a program over several devices, call once per device with its part.
      **kwargs: as `args`.

    Raises:
      TypeError: `callback` is not callable.

    Example:
      >>> debug_callback(lambda x: print("x is", x), 2.0)
      x is 2.0
    """
    if not callable(callback):
        raise TypeError(
            f"debug.callback: the callback {callback!r} is a {type(callback).__name__}, expected "
            "a function. The function comes first, then its arguments."
        )
    if ordered and partitioned:
        raise ValueError(
            "debug.callback: ordered=True and partitioned=True were both given, expected one at "
            "most: the parts of several devices have no order."
        )
    leaves, in_tree = tree.flatten((args, kwargs))
    static = tuple((i, x) for i, x in enumerate(leaves) if not is_value(x))
    flat = [x for x in leaves if is_value(x)]
    debug_callback_p.bind(
        *flat,
        callback=FlatCallback(callback, in_tree, None, "debug.callback", static),
        ordered=bool(ordered),
        partitioned=bool(partitioned),
    )


def effects_barrier() -> None:
    """Wait until the callbacks of all programs started by this thread have run.

    Raises:
      JaxRuntimeError: one of the programs failed.
    """
    runtime_tokens.block_until_ready()
