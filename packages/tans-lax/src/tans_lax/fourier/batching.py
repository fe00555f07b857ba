"""Batching of Fourier transforms: leading dimensions count signals."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.fourier import fft_p
from tans_lax.rows import batch_to_front

type Value = Any


def _fft_batch(
    axis: AxisData, args: tuple[Value], dims: tuple[int], **params: Any
) -> tuple[Value, int]:
    return fft_p.bind(batch_to_front(axis, args[0], dims[0]), **params), 0


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    fft_p: _fft_batch,
}
