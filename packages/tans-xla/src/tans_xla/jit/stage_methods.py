"""The methods of a jitted function beside calling it: `trace`, `lower`, `eval_shape`."""

from typing import Any

from tans_xla._jaxlib import PjitFunction
from tans_xla.stages import Lowered, Traced
from tans_xla.wide_arrays import narrowed


def _trace(self: Any, *args: Any, **kwargs: Any) -> Traced:
    """Record the program for these arguments (arrays or `ShapeDtypeStruct`) without running it."""
    jitted = self._jitted
    call, program = jitted.trace(*narrowed(args, kwargs))
    return Traced(jitted, call, program)


def _lower(self: Any, *args: Any, **kwargs: Any) -> Lowered:
    """Record and lower the program for these arguments."""
    return self.trace(*args, **kwargs).lower()


def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the types of the result as a tree of `ShapeDtypeStruct`."""
    return self.trace(*args, **kwargs).out_info


def _clear_cache(self: Any) -> None:
    """Forget the compiled and recorded programs of this function."""
    self._jitted.table.clear()
    self._clear_cache()


def attach() -> None:
    """Set the methods on jaxlib's class of jitted functions."""
    PjitFunction.trace = _trace
    PjitFunction.lower = _lower
    PjitFunction.eval_shape = _eval_shape
    PjitFunction.clear_cache = _clear_cache
