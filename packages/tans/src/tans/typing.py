"""Types for annotations."""

from typing import Any

import numpy as np

from tans_core import Array

type ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
type DTypeLike = str | type[Any] | np.dtype | Any

__all__ = ["ArrayLike", "DTypeLike"]
