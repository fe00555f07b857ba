"""Evaluation of device_put on concrete values."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_xla._jaxlib import ArrayCopySemantics
from tans_xla.transfer import device_put_p
from tans_xla.transfer.place import put_leaf
from tans_xla.transfer.target import target_of


def _device_put(
    *args: Any, devices: tuple[Any, ...], copy_semantics: tuple[Any, ...], **_: Any
) -> list[Any]:
    return [
        put_leaf(
            x,
            target_of(device, x),
            copy=semantics is not ArrayCopySemantics.REUSE_INPUT,
        )
        for x, device, semantics in zip(args, devices, copy_semantics, strict=True)
    ]


EVALUATION: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put}
