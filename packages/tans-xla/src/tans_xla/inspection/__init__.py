"""Looking at how the compiler shards a value: `inspect_array_sharding`."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import ArrayImpl, Primitive, tree
from tans_core.trace import is_evaluating
from tans_xla.transfer import device_put

# Not lowered through templates: a callback belongs to one module.
inspect_sharding_p: Final = Primitive(
    "inspect_sharding", family=__name__, multiple_results=True, call_like=True
)
"""Params: callback. One operand, no result."""


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of each array.

    Outside of `jit` it is called at once. Inside, it is called while the program is compiled, so
    once per compilation: then the sharding of an intermediate value on Auto axes is known.

    Args:
      value: tree of arrays, any shapes.
      callback: takes a `Sharding`; its result is not used.

    Raises:
      TypeError: `callback` can't be called.

    Example:
      >>> import numpy as np
      >>> from tans_xla.inspection import inspect_array_sharding
      >>> inspect_array_sharding(np.ones(3), callback=lambda s: print(type(s).__name__))
      SingleDeviceSharding
    """
    if not callable(callback):
        raise TypeError(
            f"inspect_array_sharding: given callback={callback!r} of type "
            f"{type(callback).__name__}, expected a function of a sharding. Pass callback=print."
        )
    for x in tree.leaves(value):
        if is_evaluating():
            array = x if isinstance(x, ArrayImpl) else device_put(x)
            callback(array.sharding)
        else:
            inspect_sharding_p.bind(x, callback=callback)
