"""The two memories of a device: its own, and the host's."""

import enum
from types import SimpleNamespace
from typing import Any, Final, override

KIND_OF_HOST: Final = "pinned_host"


class MemorySpace(enum.Enum):
    """A memory that values are kept in; a destination of `device_put`.

    In the type of a value it prints as in ``f32<host>[3]``; device memory isn't shown.
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    @override
    def __str__(self) -> str:
        return self.name.lower()

    @override
    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    @classmethod
    def of(cls, where: Any) -> "MemorySpace":
        """Return the space of a kind of memory, such as ``"pinned_host"``.

        Raises:
          ValueError: there is no such memory.
        """
        if isinstance(where, cls):
            return where
        if where == "device":
            return cls.Device
        if where in (KIND_OF_HOST, "unpinned_host"):
            return cls.Host
        raise ValueError(
            f"memory: given the kind {where!r}; expected 'device', 'pinned_host', 'unpinned_host' "
            "or a MemorySpace. Write 'pinned_host' for the memory of the host."
        )


def type_in(aval: Any, space: MemorySpace) -> Any:
    """Return the type of a value that is kept in a memory."""
    return aval.update(memory_space=space if space is MemorySpace.Host else None)


def sharding_in(sharding: Any, space: MemorySpace) -> Any:
    """Return a sharding in another memory."""
    kind = KIND_OF_HOST if space is MemorySpace.Host else None
    return sharding if space is MemorySpace.Any else sharding.with_memory_kind(kind)


memory: Final = SimpleNamespace(Space=MemorySpace)
