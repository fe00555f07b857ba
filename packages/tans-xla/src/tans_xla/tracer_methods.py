"""Methods of arrays that read a buffer, which traced values don't have."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from tans_core.errors import ConcretizationTypeError
from tans_core.trace import Tracer

_METHODS: Final = (
    "__dlpack__ __dlpack_device__ addressable_data delete devices is_deleted "
    "on_device_size_in_bytes tobytes unsafe_buffer_pointer"
).split()


def _refusing(name: str) -> Callable[..., NoReturn]:
    def method(self: Tracer, *_: Any, **__: Any) -> NoReturn:
        raise ConcretizationTypeError(self, f"The method {name} reads the buffer of an array.")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Raise ConcretizationTypeError: a traced value has no buffer."
    return method


def install() -> None:
    """Set the methods on the class of traced values."""
    for name in _METHODS:
        setattr(Tracer, name, _refusing(name))
