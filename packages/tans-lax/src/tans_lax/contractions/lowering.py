"""StableHLO of `dot_general`: storage casts, the product with its algorithm, the result cast."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_core.dtypes import SMALL_FLOATS, is_complex
from tans_lax.contractions import dot_general_p
from tans_lax.contractions.algorithms import DotAlgorithm, DotAlgorithmPreset, algorithm_text
from tans_lax.contractions.precision import CanonicalPrecision
from tans_lax.contractions.types import DimensionNumbers
from tans_xla import hlo

type IrValue = Any

_CPU_PRESETS: Final = frozenset(
    DotAlgorithmPreset[name]
    for name in (
        *("DEFAULT", "F16_F16_F16", "F32_F32_F32", "F64_F64_F64"),
        *("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"),
    )
)


def precision_config(precision: CanonicalPrecision) -> Any:
    """Return the attribute of a pair of levels; an algorithm leaves the levels at DEFAULT."""
    pair = precision if type(precision) is tuple else ("DEFAULT", "DEFAULT")
    return hlo.attribute(f"[{', '.join(f'#stablehlo<precision {level}>' for level in pair)}]")


def _cast(x: IrValue, aval: ShapedArray, dtype: Any) -> tuple[IrValue, ShapedArray]:
    if aval.dtype == dtype:
        return x, aval
    aval = aval.update(dtype=dtype)
    return hlo.convert(x, aval), aval


def _dot_general_lower(
    ctx: Any,
    lhs: IrValue,
    rhs: IrValue,
    *,
    dimension_numbers: DimensionNumbers,
    precision: CanonicalPrecision,
    **_: Any,
) -> IrValue:
    lhs_aval, rhs_aval = ctx.avals_in
    (out_aval,) = ctx.avals_out
    attributes = {
        "dot_dimension_numbers": _numbers_attribute(dimension_numbers),
        "precision_config": precision_config(precision),
    }
    product_dtype = out_aval.dtype
    if isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        _check_platforms(precision, ctx.platforms)
        lhs_dtype, rhs_dtype, product_dtype = _algorithm_types(
            precision, lhs_aval.dtype, rhs_aval.dtype, out_aval.dtype
        )
        lhs, lhs_aval = _cast(lhs, lhs_aval, lhs_dtype)
        rhs, rhs_aval = _cast(rhs, rhs_aval, rhs_dtype)
        if precision is not DotAlgorithmPreset.DEFAULT:
            text = algorithm_text(precision, lhs_dtype, rhs_dtype)
            attributes["algorithm"] = _algorithm_attribute(precision, text)
    elif not _may_stay_mixed(lhs_aval.dtype, rhs_aval.dtype, ctx.platforms):
        lhs, lhs_aval = _cast(lhs, lhs_aval, out_aval.dtype)
        rhs, rhs_aval = _cast(rhs, rhs_aval, out_aval.dtype)
    product_aval = out_aval.update(dtype=product_dtype)
    kind = hlo.ir_type(product_aval)
    out = hlo.op1("stablehlo.dot_general", kind, (lhs, rhs), attributes)
    return out if product_dtype == out_aval.dtype else hlo.convert(out, out_aval)


def _numbers_attribute(dimension_numbers: DimensionNumbers) -> Any:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    return hlo.attribute(
        f"#stablehlo.dot<lhs_batching_dimensions = {list(lhs_batch)}, "
        f"rhs_batching_dimensions = {list(rhs_batch)}, "
        f"lhs_contracting_dimensions = {list(lhs_contracting)}, "
        f"rhs_contracting_dimensions = {list(rhs_contracting)}>"
    )


def _algorithm_attribute(precision: DotAlgorithm | DotAlgorithmPreset, text: str) -> Any:
    try:
        return hlo.attribute(text)
    except Exception as error:  # of a class of the MLIR bindings
        raise ValueError(
            f"dot_general: given precision {precision}, which is not known to be supported on any "
            "hardware; expected a combination of types and passes that StableHLO has. Choose a "
            "DotAlgorithmPreset."
        ) from error


def _may_stay_mixed(lhs_dtype: Any, rhs_dtype: Any, platforms: tuple[str, ...]) -> bool:
    if lhs_dtype == rhs_dtype or (lhs_dtype in SMALL_FLOATS and rhs_dtype in SMALL_FLOATS):
        return True
    kinds = (np.floating, np.integer)
    return tuple(platforms) == ("tpu",) and any(
        issubdtype(lhs_dtype, kind) and issubdtype(rhs_dtype, kind) for kind in kinds
    )


def refuse_complex(
    function: str, precision: DotAlgorithm | DotAlgorithmPreset, lhs_dtype: Any, rhs_dtype: Any
) -> None:
    """Raise where an algorithm, which is one of real numbers, would drop imaginary parts."""
    if precision is DotAlgorithmPreset.DEFAULT:
        return
    if is_complex(lhs_dtype) or is_complex(rhs_dtype):
        raise ValueError(
            f"{function}: given precision {precision} and operands of dtype {lhs_dtype} and "
            f"{rhs_dtype}; expected real operands, since algorithms are those of real numbers. "
            "Give a level such as 'highest', or multiply real and imaginary parts."
        )


def _check_platforms(
    precision: DotAlgorithm | DotAlgorithmPreset, platforms: tuple[str, ...]
) -> None:
    if "cpu" in platforms and precision not in _CPU_PRESETS:
        names = ", ".join(sorted(preset.name for preset in _CPU_PRESETS))
        raise ValueError(
            f"dot_general: given precision {precision}, which the CPU lacks; expected a level "
            f"or one of {names}. Lower the function for another platform, or choose one of those."
        )


def _algorithm_types(
    precision: DotAlgorithm | DotAlgorithmPreset, lhs_dtype: Any, rhs_dtype: Any, out_dtype: Any
) -> tuple[Any, Any, Any]:
    """Return the dtypes of the operands as stored and of the product."""
    refuse_complex("dot_general", precision, lhs_dtype, rhs_dtype)
    if isinstance(precision, DotAlgorithm):
        lhs, rhs, accumulation = (np.dtype(t) for t in precision[:3])
        return lhs, rhs, accumulation
    if precision.is_f8 and not {lhs_dtype, rhs_dtype} <= set(SMALL_FLOATS):
        raise ValueError(
            f"dot_general: given precision {precision} and operands of dtype {lhs_dtype} and "
            f"{rhs_dtype}; expected two 8-bit floats. Convert them with astype."
        )
    storage = precision.supported_lhs_types
    if storage is not None:
        lhs_dtype = lhs_dtype if lhs_dtype in storage else storage[0]
        rhs_dtype = rhs_dtype if rhs_dtype in storage else storage[0]
    elif lhs_dtype != rhs_dtype:
        lhs_dtype = rhs_dtype = out_dtype
    outputs = precision.supported_output_types(lhs_dtype, rhs_dtype)
    product = out_dtype if outputs is None or out_dtype in outputs else outputs[0]
    return lhs_dtype, rhs_dtype, product


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    dot_general_p: _dot_general_lower,
}
