"""StableHLO of Fourier transforms."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.fourier import FftType, fft_p
from tans_xla import hlo

type IrValue = Any


def _fft_lower(ctx: Any, x: IrValue, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> IrValue:
    (out,) = ctx.avals_out
    if ctx.avals_in[0].size == 0 or out.size == 0:  # the compiler refuses transforms of nothing
        return hlo.zeros(out)
    attributes = {
        "fft_type": hlo.attribute(f"#stablehlo<fft_type {fft_type.name}>"),
        "fft_length": hlo.i64s(fft_lengths),
    }
    return hlo.op1("stablehlo.fft", ctx.result_type, [x], attributes)


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    fft_p: _fft_lower,
}
