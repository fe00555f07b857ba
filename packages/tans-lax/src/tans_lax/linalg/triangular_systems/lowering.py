"""Triangular systems by LAPACK on the CPU, by the compiler elsewhere."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.custom_calls import ffi_call, lapack, letter, unless_empty
from tans_lax.linalg.triangular_systems import triangular_solve_p
from tans_xla import hlo
from tans_xla.lowering import ByPlatform

type IrValue = Any


def _operation(transpose_a: bool, conjugate_a: bool) -> str:
    if not transpose_a:
        return "NO_TRANSPOSE"
    return "ADJOINT" if conjugate_a else "TRANSPOSE"


def _solve_compiler(
    ctx: Any,
    a: IrValue,
    b: IrValue,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> IrValue:
    operation = _operation(transpose_a, conjugate_a)
    attributes = {
        "left_side": hlo.boolean(left_side),
        "lower": hlo.boolean(lower),
        "unit_diagonal": hlo.boolean(unit_diagonal),
        "transpose_a": hlo.attribute(f"#stablehlo<transpose {operation}>"),
    }
    return hlo.op1("stablehlo.triangular_solve", ctx.result_type, [a, b], attributes)


def _solve_lapack(
    ctx: Any,
    a: IrValue,
    b: IrValue,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> IrValue:
    batch = ctx.avals_in[0].ndim - 2
    config = {
        "side": letter(left_side, "L", "R"),
        "uplo": letter(lower, "L", "U"),
        "trans_x": hlo.attribute(f"{ord(_operation(transpose_a, conjugate_a)[0])} : ui8"),
        "diag": letter(unit_diagonal, "U", "N"),
    }
    if transpose_a and conjugate_a:
        config["trans_x"] = letter(True, "C", "N")
    target = lapack("trsm", ctx.avals_in[0].dtype)
    return ffi_call(target, [a, b], ctx.avals_in, ctx.avals_out, batch, config, {0: 1})[0]


LOWERING: Final[dict[Primitive, Any]] = {
    triangular_solve_p: ByPlatform(default=_solve_compiler, cpu=unless_empty(_solve_lapack)),
}
