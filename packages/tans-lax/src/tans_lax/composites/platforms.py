"""Functions that differ by the platform a program is compiled for."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.control_flow.cond import run_branch
from tans_lax.control_flow.functions import check_callable

platform_index_p: Final = Primitive("platform_index", family="tans_lax.composites")

_ALIASES: Final = {"gpu": ("cuda", "rocm")}


def platform_index_type(*, platforms: tuple[tuple[str, ...] | None, ...]) -> ShapedArray:
    """Type rule of the index of the platform."""
    del platforms
    return ShapedArray((), np.dtype("int32"))


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Run the function that belongs to the platform the program is compiled for.

    All functions are traced; only one is compiled.

    Args:
      *args: trees of arrays, passed to the function.
      default: the function for platforms that are not named.
      **per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``tpu``, or ``gpu`` for
        both kinds of GPU. All return one structure with equal types.

    Returns:
      What the function returned.

    Raises:
      TypeError: a function is not callable, or the results differ.
      ValueError: no functions are given.
      NotImplementedError: no function is for the platform.

    Example:
      >>> import tans_lax as lax
      >>> round(float(platform_dependent(0.0, tpu=lax.sin, default=lax.cos)), 3)
      1.0
    """
    if not per_platform and default is None:
        raise ValueError(
            "platform_dependent: given no functions, expected at least one. Pass default=, or a "
            "function by platform as cpu=."
        )
    platforms: list[tuple[str, ...] | None] = [_ALIASES.get(name, (name,)) for name in per_platform]
    functions = list(per_platform.values())
    names = list(per_platform)
    if default is not None:
        platforms.append(None)
        functions.append(default)
        names.append("default")
    for name, function in zip(names, functions, strict=True):
        check_callable(function, "platform_dependent", name)
    index = platform_index_p.bind(platforms=tuple(platforms))
    return run_branch("platform_dependent", names, index, functions, args)
