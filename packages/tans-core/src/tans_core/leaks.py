"""Finds tracers that outlive their trace; the flag ``check_tracer_leaks`` turns it on."""

import gc
from collections.abc import Callable

from tans_core.errors import TracerLeakError
from tans_core.trace import Trace, Tracer


def report_leaks(trace_of: Callable[[], Trace | None]) -> None:
    """Raise when a finished trace is still referred to.

    Args:
      trace_of: weak reference to the trace; the caller holds no other.

    Raises:
      TracerLeakError: with each tracer, where it comes from and what refers to it.
    """
    gc.collect()
    trace = trace_of()
    if trace is None:
        return
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    lines = [f"  a {x.describe()}, held by {_holders(x, leaked)}" for x in leaked]
    raise TracerLeakError(
        f"{len(leaked)} traced value(s) outlived the transformation they belong to:\n"
        + "\n".join(lines)
        + "\nexpected none. Return values from the traced function instead of storing them."
    )


def _holders(x: Tracer, leaked: list[Tracer]) -> str:
    kinds = {type(holder).__name__ for holder in gc.get_referrers(x) if holder is not leaked}
    return ", ".join(sorted(kinds - {"frame", "list_iterator"})) or "a local variable"
