"""Tracing of the scalar function that a general reduction or windowed reduction folds with."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import ClosedJaxpr, ShapedArray, Tracer, trace_to_jaxpr, tree
from tans_core.config import trace_context
from tans_core.dtypes import is_extended

# The same function, structure and types give the same jaxpr object, which keys compiled code.
_traced: Final[weakref.WeakKeyDictionary[Any, dict[Any, ClosedJaxpr]]] = weakref.WeakKeyDictionary()


def check_init_values(
    name: str,
    structure: Any,
    init_structure: Any,
    avals: Sequence[ShapedArray],
    init_avals: Sequence[ShapedArray],
) -> None:
    """Check that there is one scalar initial value of the right dtype for each operand.

    Raises:
      TypeError: no operand, or structures or dtypes differ.
      ValueError: shapes of operands differ, or an initial value is not a scalar.
    """
    if not avals:
        raise TypeError(f"{name}: given no operands, expected at least one array")
    if structure != init_structure:
        raise TypeError(
            f"{name}: operands have structure {structure} but init_values have structure "
            f"{init_structure}; expected the same. Give one initial value for each operand."
        )
    for index, (aval, init) in enumerate(zip(avals, init_avals, strict=True)):
        if aval.shape != avals[0].shape:
            raise ValueError(
                f"{name}: operand {index} has shape {aval.shape} and operand 0 has shape "
                f"{avals[0].shape}; expected equal shapes. Broadcast the smaller one."
            )
        if is_extended(aval.dtype):
            raise TypeError(
                f"{name}: operand {index} has dtype {aval.dtype}, expected numbers or bools. Fold "
                "keys with lax.scan, or read their words with random.key_data."
            )
        if init.shape:
            raise ValueError(
                f"{name}: initial value {index} has shape {init.shape}, expected a scalar. "
                "Fold it in afterwards if it differs along the result."
            )
        if aval.dtype != init.dtype:
            raise TypeError(
                f"{name}: operand {index} has dtype {aval.dtype} but its initial value has dtype "
                f"{init.dtype}; expected the same dtype. Convert the initial value."
            )


def trace_computation(
    name: str, computation: Callable[[Any, Any], Any], structure: Any, avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """Trace `computation` on scalars of the operands' dtypes.

    Args:
      name: the public function, for messages.
      computation: function of two pytrees of scalars.
      structure: structure of the operands.
      avals: types of the operands.

    Returns:
      Jaxpr from (accumulators..., elements...) to accumulators.

    Raises:
      TypeError: the result's structure or types differ from the operands'.
      NotImplementedError: `computation` uses a traced value from outside.
    """
    scalars = tuple(ShapedArray((), aval.dtype) for aval in avals)
    key = (structure, scalars, trace_context())
    try:
        memo = _traced.setdefault(computation, {})
    except TypeError:  # not weakly referable: a builtin, say
        memo = {}
    jaxpr = memo.get(key)
    if jaxpr is None:
        jaxpr = _trace(name, computation, structure, scalars)
        memo[key] = jaxpr
    return jaxpr


def _trace(
    name: str, computation: Callable[[Any, Any], Any], structure: Any, scalars: tuple[Any, ...]
) -> ClosedJaxpr:
    count = len(scalars)

    def flat_computation(*args: Any) -> list[Any]:
        left = tree.unflatten(structure, args[:count])
        right = tree.unflatten(structure, args[count:])
        results, result_structure = tree.flatten(computation(left, right))
        if result_structure != structure:
            raise TypeError(
                f"{name}: computation returned structure {result_structure}, expected the "
                f"operands' structure {structure}. Return one scalar for each operand."
            )
        return results

    jaxpr = trace_to_jaxpr(flat_computation, (*scalars, *scalars))
    _check_results(name, scalars, jaxpr)
    return jaxpr


def _check_results(name: str, scalars: tuple[Any, ...], jaxpr: ClosedJaxpr) -> None:
    for index, (scalar, result) in enumerate(zip(scalars, jaxpr.out_avals, strict=True)):
        if scalar is not result.strong():
            raise TypeError(
                f"{name}: computation returned {result.str_short(short_dtypes=False)} for operand "
                f"{index}, expected {scalar.str_short(short_dtypes=False)}. "
                "Convert its result to the operand's dtype."
            )
    if any(isinstance(const, Tracer) for const in jaxpr.consts):
        raise NotImplementedError(
            f"{name}: computation uses a traced value from outside; expected a function of its "
            "arguments alone. Apply that value before or after the fold, or use lax.scan."
        )
