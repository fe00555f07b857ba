"""What gathers and scatters mean: their dimension numbers and their out-of-bounds modes."""

import enum
import math
from typing import Any, NamedTuple, Self

import numpy as np

from tans_core.dtype_queries import iinfo
from tans_core.dtypes import is_inexact

type Scalar = bool | int | float | complex


class GatherDimensionNumbers(NamedTuple):
    """How the windows of a gather are laid out.

    Attributes:
      offset_dims: dimensions of the result that run over the window.
      collapsed_slice_dims: operand dimensions of window size 1, left out of the result.
      start_index_map: operand dimension of each component of an index vector.
      operand_batching_dims: operand dimensions paired with dimensions of the indices.
      start_indices_batching_dims: those dimensions of the indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()

    def for_scatter(self) -> "ScatterDimensionNumbers":
        """Return the numbers of the scatter that writes to the places this gather reads."""
        return ScatterDimensionNumbers(*self)


class ScatterDimensionNumbers(NamedTuple):
    """How the windows of a scatter are laid out.

    Attributes:
      update_window_dims: dimensions of the updates that run over the window.
      inserted_window_dims: operand dimensions of window size 1, left out of the updates.
      scatter_dims_to_operand_dims: operand dimension of each component of an index vector.
      operand_batching_dims: operand dimensions paired with dimensions of the indices.
      scatter_indices_batching_dims: those dimensions of the indices.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()

    def for_gather(self) -> GatherDimensionNumbers:
        """Return the numbers of the gather that reads the places this scatter writes."""
        return GatherDimensionNumbers(*self)

    def window_sizes(
        self, operand_shape: tuple[int, ...], update_shape: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the window's size in each dimension of the operand."""
        left_out = {*self.inserted_window_dims, *self.operand_batching_dims}
        sizes = iter([update_shape[d] for d in self.update_window_dims])
        return tuple(1 if d in left_out else next(sizes) for d in range(len(operand_shape)))


class GatherScatterMode(enum.Enum):
    """What happens to windows that reach out of bounds.

    * CLIP: they are moved inside.
    * FILL_OR_DROP: a gather fills with a value, a scatter drops the window.
    * PROMISE_IN_BOUNDS: the caller promises that there are none.
    * ONE_HOT: as FILL_OR_DROP with zeros; the gather may be computed as a product with a one-hot
      matrix.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    __hash__ = object.__hash__  # members are unique, and each eager index looks one up

    @classmethod
    def from_any(cls, mode: "str | GatherScatterMode | None") -> Self:
        """Return the mode for its name, for None the default of scatters.

        Raises:
          ValueError: no mode has this name.
        """
        if isinstance(mode, cls):
            return mode
        try:
            return cls[_NAMES[mode]]
        except (KeyError, TypeError):
            names = ", ".join(repr(name) for name in _NAMES if name)
            raise ValueError(
                f"gather or scatter: given mode {mode!r}, expected one of {names}. To wrap indices "
                "around, use jnp.take with mode='wrap', or take the indices modulo the size."
            ) from None


_NAMES: dict[Any, str] = {
    None: "FILL_OR_DROP",
    "clip": "CLIP",
    "fill": "FILL_OR_DROP",
    "drop": "FILL_OR_DROP",
    "promise_in_bounds": "PROMISE_IN_BOUNDS",
    "one_hot": "ONE_HOT",
}


def default_fill_value(dtype: Any) -> Scalar | None:
    """Return what a filling gather fills with: nan, the lowest signed or highest unsigned value.

    Extended dtypes answer None: their physical dtype decides.
    """
    if not isinstance(dtype, np.dtype):
        return None
    if is_inexact(dtype):
        return math.nan
    if dtype == np.bool_:
        return True
    info = iinfo(dtype)
    return int(info.min if info.min < 0 else info.max)
