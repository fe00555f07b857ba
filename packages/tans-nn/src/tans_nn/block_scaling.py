"""Products whose operands are rounded to narrow floats that share a scale in blocks."""

from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_vjp, vjp
from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_nn.scaled_products import scaled_matmul

type Array = Any
type Dims = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


@dataclass(frozen=True, slots=True, eq=False)
class BlockScaleConfig:
    """How an operand is rounded.

    Attributes:
      mode: name of the format.
      block_size: number of elements along the contracted dimension that share a scale.
      data_type, scale_type: dtypes of elements and of scales.
      global_scale: factor by which the operand is divided first, or None.
      infer_only: accepted.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None
    infer_only: bool = False


_FORMATS: Final = {
    "nvfp4": (16, "float4_e2m1fn", "float8_e4m3fn"),
    "mxfp8": (32, "float8_e4m3fn", "float8_e8m0fnu"),
    "mxfp4": (32, "float4_e2m1fn", "float8_e8m0fnu"),
}


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8", "mxfp4"], global_scale: Array | None = None
) -> BlockScaleConfig:
    """Return the settings of a block-scaled format.

    Args:
      mode: "mxfp8" or "mxfp4" of the OCP microscaling formats, or "nvfp4".
      global_scale: factor for "nvfp4", by which the operand is divided first; 1 if None.

    Raises:
      ValueError: unknown mode, or a factor for another mode.

    Example:
      >>> get_scaled_dot_general_config("mxfp8").block_size
      32

    References:
      "OCP microscaling formats (MX) specification", 2023.
    """
    if mode not in _FORMATS:
        raise ValueError(
            f"get_scaled_dot_general_config: given mode={mode!r}, expected one of "
            f"{', '.join(map(repr, _FORMATS))}."
        )
    if mode == "nvfp4" and global_scale is None:
        global_scale = jnp.ones(1, np.float32)
    elif mode != "nvfp4" and global_scale is not None:
        raise ValueError(
            f"get_scaled_dot_general_config: given a global_scale for mode={mode!r}, expected "
            "None. Only 'nvfp4' has one."
        )
    block, data, scale = _FORMATS[mode]
    return BlockScaleConfig(mode, block, np.dtype(data).type, np.dtype(scale).type, global_scale)


def scaled_dot_general(
    lhs: Array,
    rhs: Array,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: list[BlockScaleConfig] | None = None,
    implementation: Literal["cudnn"] | None = None,
) -> Array:
    """Multiply as `dot_general` does, with operands rounded to block-scaled formats.

    Slopes are those of the product of the operands before they are rounded.

    Args:
      lhs, rhs: floating point, any shapes.
      dimension_numbers: ((contracted of lhs, of rhs), (batch of lhs, of rhs)).
      preferred_element_type: dtype of the result.
      configs: settings for `lhs`, for `rhs` and, accepted but not used, for gradients; None rounds
        nothing.
      implementation: accepted; one implementation serves both.

    Returns:
      Array of the dimensions that `dot_general` gives: batch, rest of `lhs`, rest of `rhs`.

    Raises:
      ValueError: fewer than two settings, or a contracted size that blocks do not divide.

    Example:
      >>> x = jnp.ones((2, 32))
      >>> config = get_scaled_dot_general_config("mxfp8")
      >>> scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=[config] * 3).tolist()
      [[32.0, 32.0], [32.0, 32.0]]
    """
    del implementation
    (lc, rc), (lb, rb) = dimension_numbers
    dims: Dims = ((tuple(lc), tuple(rc)), (tuple(lb), tuple(rb)))
    if configs is None:
        return lax.dot_general(lhs, rhs, dims, preferred_element_type=preferred_element_type)
    if len(configs) < 2:
        raise ValueError(
            f"scaled_dot_general: given {len(configs)} configs, expected one for lhs and one for "
            "rhs, and one for gradients."
        )
    size = prod(typeof(lhs).shape[k] for k in dims[0][0])
    blocks = {c.block_size for c in configs[:2]}
    if len(blocks) > 1 or size % max(blocks):
        raise ValueError(
            f"scaled_dot_general: given {size} contracted elements and blocks of "
            f"{sorted(blocks)}, expected one block size that divides them. Pad with zeros."
        )

    @custom_vjp
    def product(lhs: Any, rhs: Any) -> Array:
        return _product(lhs, rhs, dims, configs, preferred_element_type)

    def forward(lhs: Any, rhs: Any) -> tuple[Array, tuple]:
        return product(lhs, rhs), (lhs, rhs)

    def backward(saved: tuple, ct: Array) -> tuple[Array, Array]:
        return _exact_slopes(*saved, ct, dims)

    product.defvjp(forward, backward)
    return product(lhs, rhs)


def _as_rows(x: Array, contracted: tuple[int, ...], batch: tuple[int, ...]) -> tuple[Array, list]:
    """Return an operand as [batch, rows, contracted], and the sizes of its other dimensions."""
    free = [k for k in range(typeof(x).ndim) if k not in (*contracted, *batch)]
    sizes = typeof(x).shape
    shape = [prod(sizes[k] for k in group) for group in (batch, free, contracted)]
    moved = jnp.transpose(x, (*batch, *free, *contracted))
    return jnp.reshape(moved, tuple(shape)), [sizes[k] for k in free]


def _product(lhs: Any, rhs: Any, dims: Dims, configs: list[BlockScaleConfig], dtype: Any) -> Array:
    (lc, rc), (lb, rb) = dims
    left, left_free = _as_rows(lhs, lc, lb)
    right, right_free = _as_rows(rhs, rc, rb)
    left, left_scales = _rounded(left, configs[0])
    right, right_scales = _rounded(right, configs[1])
    out = scaled_matmul(left, right, left_scales, right_scales, np.float32)
    for config in configs[:2]:
        if config.global_scale is not None:
            out = out * jnp.reshape(jnp.asarray(config.global_scale, np.float32), ())
    batch = [typeof(lhs).shape[k] for k in lb]
    return jnp.reshape(out, (*batch, *left_free, *right_free)).astype(dtype)


def _rounded(x: Array, config: BlockScaleConfig) -> tuple[Array, Array]:
    """Return narrow elements and the scales of their blocks."""
    dims = typeof(x).shape
    blocks = jnp.reshape(x, (*dims[:2], dims[2] // config.block_size, config.block_size))
    blocks = blocks.astype(np.float32)
    if config.global_scale is not None:
        blocks = blocks / jnp.reshape(jnp.asarray(config.global_scale, np.float32), ())
    largest = float(finfo(np.dtype(config.data_type)).max)
    scale = jnp.max(jnp.abs(blocks), -1) / largest
    if config.mode.startswith("mx"):
        scale = jnp.exp2(jnp.ceil(jnp.log2(jnp.where(scale == 0, 1, scale))))
    scale = jnp.where(scale == 0, 1, scale)
    narrow = jnp.clip(scale, 0, float(finfo(np.dtype(config.scale_type)).max))
    narrow = narrow.astype(config.scale_type)
    wide = narrow.astype(np.float32)[..., None]
    elements = jnp.clip(blocks / jnp.where(wide == 0, 1, wide), -largest, largest)
    return jnp.reshape(elements.astype(config.data_type), dims), narrow


def _exact_slopes(lhs: Any, rhs: Any, ct: Array, dims: Dims) -> tuple[Array, Array]:
    from_operands = jnp.promote_types(typeof(lhs).dtype, typeof(rhs).dtype)

    def product(lhs: Any, rhs: Any) -> Array:
        wide = [v.astype(from_operands) for v in (lhs, rhs)]
        return lax.dot_general(*wide, dims, preferred_element_type=typeof(ct).dtype)

    return vjp(product, lhs, rhs)[1](ct)
