"""The named axes in scope: mapped by vmap, or manual axes of a mesh."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tans_core.config import axis_env


@contextmanager
def extend_axis_env(axes: Sequence[tuple[Any, int]]) -> Generator[None]:
    """Context manager: bring axes, as (name, size), into scope."""
    old = axis_env.value
    previous = axis_env.swap_local((*old, *axes))
    try:
        yield
    finally:
        axis_env.set_local(previous)


def axis_size(name: Any) -> int:
    """Return the size of the innermost axis called `name`.

    Raises:
      NameError: no such axis is in scope.
    """
    for axis, size in reversed(axis_env.value):
        if axis == name:
            return size
    known = ", ".join(repr(axis) for axis, _ in axis_env.value) or "none"
    raise NameError(
        f"axis {name!r} is not in scope; the axes in scope are: {known}. Bring it into scope with "
        f"vmap(f, axis_name={name!r}) or shard_map."
    )
