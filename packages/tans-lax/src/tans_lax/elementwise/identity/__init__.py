"""Operations that return their operand and mean something to a transformation or the compiler."""

from typing import Any, Final

from tans_core import ArrayImpl, Primitive, dtypes, is_evaluating, tree, typeof
from tans_core.hi_types import is_hi_type, is_hi_value
from tans_xla.ref_checks import is_ref

type Value = Any  # an array, a Python scalar or a tracer

copy_p: Final = Primitive("copy", family=__name__)
stage_p: Final = Primitive("stage", family=__name__)
stop_gradient_p: Final = Primitive("stop_gradient", family=__name__)
optimization_barrier_p: Final = Primitive(
    "optimization_barrier", family=__name__, multiple_results=True
)


def stop_gradient[T](x: T) -> T:
    """Return `x` as a constant for differentiation.

    Args:
      x: pytree of arrays of any shape and dtype.

    Raises:
      TypeError: a leaf is not an array.

    Example:
      >>> float(lax.stop_gradient(3.0))
      3.0
    """
    if type(x) is ArrayImpl:
        return x if is_evaluating() else stop_gradient_p.bind(x)
    return tree.map(_stop_leaf, x)


def _stop_leaf(x: Value) -> Value:
    aval = typeof(x)
    if is_hi_type(aval):
        return x if is_hi_value(x) and is_evaluating() else stop_gradient_p.bind(x)
    dtype = aval.dtype
    if dtypes.is_extended(dtype) or (type(x) is ArrayImpl and is_evaluating()):
        return x
    return stop_gradient_p.bind(x)


def optimization_barrier(operand: Any, /) -> Any:
    """Return `operand`; the compiler moves nothing across this point.

    All leaves are computed before any of the results is used.

    Args:
      operand: pytree of arrays of any shape and dtype; refs come out as they are.

    Raises:
      TypeError: a leaf is not an array.

    Example:
      >>> [float(x) for x in lax.optimization_barrier((1.0, 2.0))]
      [1.0, 2.0]
    """
    leaves, structure = tree.flatten(operand)
    arrays = iter(optimization_barrier_p.bind(*(x for x in leaves if not is_ref(x))))
    return tree.unflatten(structure, [x if is_ref(x) else next(arrays) for x in leaves])


def stage(x: Value, /) -> Value:
    """Return `x` as a value of the program being traced, concrete or not.

    Args:
      x: array of any shape and dtype.

    Raises:
      TypeError: `x` is not an array.

    Example:
      >>> float(lax.stage(1.0))
      1.0
    """
    return stage_p.bind(x)
