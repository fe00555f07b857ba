"""Indexing of arrays and tracers: ``x[index]``, ``x.at[index]``, and `take` and its relatives."""

from typing import Any, Final

from tans_numpy.indexing.along_axis import put_along_axis, take_along_axis
from tans_numpy.indexing.at import at
from tans_numpy.indexing.eager import getitem
from tans_numpy.indexing.take import put, take

__all__ = ("SLOTS", "at", "getitem", "put", "put_along_axis", "take", "take_along_axis")

# Attributes of arrays and tracers, for `tans_core.slots.fill`.
SLOTS: Final[dict[str, Any]] = {"__getitem__": getitem, "at": at}
