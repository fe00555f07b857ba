"""StableHLO of calls into LAPACK, cuSOLVER and their like: column-major matrices, status to nan."""

from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any, Final

import numpy as np

from tans_core import ShapedArray
from tans_xla import hlo, hlo_parts
from tans_xla.ffi_targets import use_gpu_libraries, use_lapack
from tans_xla.sizes import has_symbolic

type IrValue = Any
type LoweringRule = Callable[..., Any]

_PREFIX: Final = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def lapack(routine: str, dtype: Any) -> str:
    """Return the CPU target of a LAPACK routine, made known to the compiler.

    Args:
      routine: name without the type letter, such as "potrf"; a pair "orgqr/ungqr" gives the names
        of the real and of the complex routine.
      dtype: dtype of the matrix.
    """
    use_lapack()
    real, _, other = routine.partition("/")
    name = other if other and dtype.kind == "c" else real
    return f"lapack_{_PREFIX[dtype.name]}{name}_ffi"


def gpu(library: str, routine: str, platforms: Sequence[str]) -> str:
    """Return the target of a GPU library's routine, made known to the compiler.

    Args:
      library: "solver", "sparse" or "hybrid" (a library of the vendor) or "" (jaxlib's kernels).
      routine: the name behind the library's, such as "potrf_ffi".
      platforms: the platforms of the module that is built.
    """
    platform = "rocm" if "rocm" in platforms else "cuda"
    use_gpu_libraries(platform)
    vendor = "hip" if platform == "rocm" else "cu"
    return f"{vendor}{library}_{routine}"


def letter(condition: bool, yes: str, no: str) -> Any:
    """Return one of two option letters of LAPACK as an attribute."""
    return hlo.attribute(f"{ord(yes if condition else no)} : ui8")


def ffi_call(
    target: str,
    operands: Sequence[IrValue],
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    batch_ndim: int,
    config: Mapping[str, Any] | None = None,
    aliases: Mapping[int, int] | None = None,
) -> list[IrValue]:
    """Call a typed foreign function on a stack of problems.

    Args:
      target: name of the registered function.
      operands: its operands; matrices are passed column by column.
      avals_in: their types.
      avals_out: types of the results.
      batch_ndim: how many leading dimensions only count problems.
      config: attributes of the call.
      aliases: result index to the index of the operand whose buffer it overwrites.
    """
    attributes = {
        "call_target_name": hlo.string(target),
        "api_version": hlo.i32(4),
        "backend_config": hlo.ir.DictAttr.get(dict(config or {})),
        "operand_layouts": hlo.array([_layout(a.ndim, batch_ndim) for a in avals_in]),
        "result_layouts": hlo.array([_layout(a.ndim, batch_ndim) for a in avals_out]),
        "output_operand_aliases": hlo.array(
            [_alias(out, operand, len(avals_out)) for out, operand in (aliases or {}).items()]
        ),
        # Both tell the partitioner that problems may live on different devices.
        "mhlo.frontend_attributes": hlo.ir.DictAttr.get(
            {"num_batch_dims": hlo.string(str(batch_ndim))}
        ),
    }
    if any(has_symbolic(a.shape) for a in avals_out):
        # The shapes of the results are operands as well.
        layouts = [_layout(a.ndim, batch_ndim) for a in avals_in]
        attributes["operand_layouts"] = hlo.array(layouts + [_layout(1, 0)] * len(avals_out))
    elif batch_ndim:
        attributes["sdy.sharding_rule"] = _sharding_rule(avals_in, avals_out, batch_ndim)
    return hlo_parts.custom_call(avals_out, operands, attributes)


def _layout(ndim: int, batch_ndim: int) -> Any:
    core = list(range(batch_ndim, ndim))
    order = core if len(core) == 2 else core[::-1]
    dims = ", ".join(map(str, [*order, *reversed(range(batch_ndim))]))
    return hlo.attribute(f"dense<[{dims}]> : tensor<{ndim}xindex>")


def _alias(result: int, operand: int, results: int) -> Any:
    place = [result] if results > 1 else []
    return hlo.attribute(
        f"#stablehlo.output_operand_alias<output_tuple_indices = {place}, "
        f"operand_index = {operand}, operand_tuple_indices = []>"
    )


def _sharding_rule(
    avals_in: Sequence[ShapedArray], avals_out: Sequence[ShapedArray], batch_ndim: int
) -> Any:
    """Batch dimensions are one factor each, every other dimension is a factor of its own."""
    names = [*ascii_lowercase[8:], *(f"z_{i}" for i in range(1, 64))]
    batch, rest = names[:batch_ndim], iter(names[batch_ndim:])
    sizes: dict[str, int] = {}

    def dims(aval: ShapedArray) -> str:
        own = [*batch, *(next(rest) for _ in range(aval.ndim - batch_ndim))]
        sizes.update(zip(own, aval.shape, strict=True))
        return "[" + ", ".join(own) + "]"

    left = ", ".join(map(dims, avals_in))
    right = ", ".join(map(dims, avals_out))
    factors = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return hlo.attribute(f"#sdy.op_sharding_rule<({left})->({right}) {{{factors}}}, custom>")


def status_aval(aval: ShapedArray, batch_ndim: int) -> ShapedArray:
    """Return the type of the status codes that come with a stack of problems."""
    return ShapedArray(aval.shape[:batch_ndim], np.dtype("int32"))


def succeeded(status: IrValue, batch_shape: Sequence[int], direction: str = "EQ") -> IrValue:
    """Compare status codes with zero; a positive one may be no failure (direction "GE")."""
    zero = hlo.zeros(ShapedArray(tuple(batch_shape), np.dtype("int32")))
    return hlo.compare(status, zero, direction, "SIGNED")


def nan_unless(ok: IrValue, x: IrValue, aval: ShapedArray, batch_ndim: int) -> IrValue:
    """Replace the results of problems that failed by nan."""
    mask = hlo.broadcast_in_dim(ok, aval.update(dtype=np.dtype(bool)), range(batch_ndim))
    undefined = np.nan if aval.dtype.kind == "f" else complex(np.nan, np.nan)
    return hlo.select(mask, x, hlo.full(aval, undefined))


def unless_empty(rule: LoweringRule) -> LoweringRule:
    """Answer problems without elements here: foreign functions refuse sizes of zero.

    Of such a problem, results with elements are orthogonal matrices, which are the identity, and
    permutations.
    """

    def lower(ctx: Any, *operands: IrValue, **params: Any) -> Any:
        if all(a.size for a in ctx.avals_in) and all(a.size for a in ctx.avals_out):
            return rule(ctx, *operands, **params)
        return [_of_nothing(a) for a in ctx.avals_out]

    return lower


def _of_nothing(aval: ShapedArray) -> IrValue:
    if aval.size and aval.dtype.kind == "i":
        return hlo.iota(aval, aval.ndim - 1)
    if aval.size and aval.ndim >= 2:
        return hlo.constant(np.broadcast_to(np.eye(*aval.shape[-2:]), aval.shape), aval)
    return hlo.zeros(aval)
