"""Arrays as text: array_repr, array_str."""

from typing import Any

import numpy as np

from tans_core import Tracer


def get_printoptions() -> dict[str, Any]:
    """Return how arrays print; see `set_printoptions`."""
    return dict(np.get_printoptions())


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Set how arrays print; NumPy's options, which are also its own.

    Args:
      *args, **kwargs: passed on to `numpy.set_printoptions`.
    """
    np.set_printoptions(*args, **kwargs)


def array_repr(
    arr: Any, max_line_width: int | None = None, precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:  # fmt: skip
    """Return the text that `repr` gives, with other widths and digits.

    Args:
      arr: any shape.
      max_line_width: columns of a line.
      precision: digits behind the point.
      suppress_small: print tiny numbers as 0.
    """
    if isinstance(arr, Tracer):
        return repr(arr)
    text = np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)
    return f"Array{text.removeprefix('array')}"


def array_str(
    a: Any, max_line_width: int | None = None, precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:  # fmt: skip
    """Return the text that `str` gives, with other widths and digits; see `array_repr`."""
    if isinstance(a, Tracer):
        return str(a)
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)
