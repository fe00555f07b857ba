"""What a checkpoint policy may say of a value."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Recompute:
    """Compute the value anew on the backward pass."""


@dataclasses.dataclass(frozen=True)
class Saveable:
    """Keep the value."""


@dataclasses.dataclass(frozen=True)
class Offloadable:
    """Keep the value in another memory.

    Attributes:
      src: memory it is computed in: "device", "pinned_host" or a `MemorySpace`.
      dst: memory it is kept in.
    """

    src: Any
    dst: Any
