"""Named operations with a decomposition, which a compiler may replace by a kernel of its own."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, tree, typeof
from tans_lax.control_flow.functions import check_callable, trace_body

type Value = Any

composite_p: Final = Primitive("composite", family=__name__, multiple_results=True, call_like=True)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Make a function one named operation of the program.

    A compiler that knows the name may run a kernel of its own; others run the decomposition.
    Derivatives and maps are those of the decomposition.

    Args:
      decomposition: function of trees of arrays by position, and of attributes by keyword: numbers,
        strings, None, arrays of NumPy or sequences of these.
      name: name of the operation, as ``"namespace.op"``.
      version: version of its meaning.

    Returns:
      A function with the arguments of `decomposition`.

    Raises:
      TypeError: `decomposition` is not callable.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> scale = composite(lambda x, *, factor: lax.mul(x, factor), "my.scale")
      >>> scale(np.float32(3.0), factor=2.0).tolist()
      6.0
    """
    check_callable(decomposition, "composite", "decomposition")

    def call(*args: Any, **attributes: Any) -> Any:
        leaves, in_tree = tree.flatten(args)

        def fun(*args: Any) -> Any:
            return decomposition(*args, **attributes)

        body = trace_body(fun, in_tree, [typeof(x) for x in leaves], "composite")
        outs = composite_p.bind(
            *body.consts,
            *leaves,
            call_jaxpr=body.jaxpr,
            name=name,
            version=int(version),
            attributes=tuple((k, _hashable(v)) for k, v in sorted(attributes.items())),
        )
        return tree.unflatten(body.out_tree, outs)

    return call


class ArrayAttribute:
    """An array among the attributes, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray) -> None:
        self.value = value


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return ArrayAttribute(value) if isinstance(value, np.ndarray) else value
