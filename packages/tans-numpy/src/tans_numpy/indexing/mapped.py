"""Whether a value is mapped by `vmap` over an axis without elements."""

from typing import Any

from tans_batching.trace import BatchTracer


def is_mapped_over_nothing(x: Any) -> bool:
    """Whether `x` stands for the elements of an axis that has none."""
    while isinstance(x, BatchTracer):
        trace: Any = x._trace
        if trace.axis.size == 0:
            return True
        x = x.value
    return False
