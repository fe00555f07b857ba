"""Resampling of images: resize, scale and translate.

A resampling along one dimension is a product with a matrix of weights [input, output]. Its columns
hold the kernel around the place that an output pixel has among the input pixels.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_numpy.operands import ArrayLike, canonicalize_axis, check_arraylike, to_inexact
from tans_xla import composite
from tans_xla.sizes import as_size, has_symbolic, max_size

__all__ = ("ResizeMethod", "resize", "scale_and_translate")

type Array = Any
type Kernel = Callable[[Array], Array]


class ResizeMethod(enum.Enum):
    """How pixels are interpolated."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(name: str) -> "ResizeMethod":
        """Return the method of a name.

        Raises:
          ValueError: no method has that name.
        """
        method = _METHOD_OF.get(name)
        if method is None:
            raise ValueError(
                f"image.resize: given the method {name!r}, expected one of {sorted(_METHOD_OF)}. "
                "Use 'linear' if in doubt."
            )
        return method


_METHOD_OF: Final = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


def _triangle(x: Array) -> Array:
    return jnp.maximum(1 - jnp.abs(x), 0)


def _cubic(a: float) -> Kernel:
    """Return Keys' kernel of parameter `a`."""

    def kernel(x: Array) -> Array:
        d = jnp.abs(x)
        inner = ((a + 2) * d - (a + 3)) * d * d + 1
        outer = ((d - 5) * d + 8) * d * a - 4 * a
        return jnp.where(d < 1, inner, jnp.where(d < 2, outer, 0))

    return kernel


def _lanczos(radius: int) -> Kernel:
    def kernel(x: Array) -> Array:
        return jnp.where(jnp.abs(x) < radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)

    return kernel


_KERNELS: Final[dict[ResizeMethod, Kernel]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
}


def _weights(
    method: ResizeMethod, n_in: int, n_out: int, scale: Any, translation: Any, antialias: bool,
    dtype: Any,
) -> Array:  # fmt: skip
    """Return the matrix [n_in, n_out] of weights."""
    inverse = 1 / scale
    outputs = jnp.arange(n_out, dtype=dtype)[None, :]
    inputs = jnp.arange(n_in, dtype=dtype)[:, None]
    if method is ResizeMethod.AREA:
        start, stop = (outputs - translation) * inverse, (outputs + 1 - translation) * inverse
        overlap = jnp.minimum(stop, inputs + 1) - jnp.maximum(start, inputs)
        return _normalised(jnp.maximum(overlap, 0))
    place = (outputs + 0.5 - translation) * inverse - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _clamped_cubic(place, n_in)
    width = jnp.maximum(inverse, 1) if antialias else 1
    weights = _normalised(_KERNELS[method]((place - inputs) / width))
    return jnp.where((place >= -0.5) & (place <= n_in - 0.5), weights, 0)


def _normalised(weights: Array) -> Array:
    total = jnp.sum(weights, 0, keepdims=True)
    is_some = jnp.abs(total) > 1000 * float(finfo(typeof(weights).dtype).eps)
    return jnp.where(is_some, weights / jnp.where(is_some, total, 1), 0)


def _clamped_cubic(place: Array, n_in: int) -> Array:
    """Return PyTorch's weights: pixels beyond the border are copies of the last one."""
    lower = lax.floor(place)
    inputs = jnp.arange(n_in, dtype=typeof(place).dtype)[:, None]
    total: Any = 0
    for shift in (-1, 0, 1, 2):
        index = jnp.clip(lower + shift, 0, n_in - 1)
        total = total + jnp.where(inputs == index, _cubic(-0.75)(place - lower - shift), 0)
    return total


@composite(static_argnames=("shape", "dims", "method", "antialias", "precision"))
def _resample(
    image: Array, scale: Any, translation: Any, *, shape: tuple[int, ...], dims: tuple[int, ...],
    method: ResizeMethod, antialias: bool, precision: Any,
) -> Array:  # fmt: skip
    image = lax.convert_element_type(image, to_inexact(typeof(image).dtype))
    dtype = typeof(image).dtype
    # Half precision would lose the sums of the weights.
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    for i, d in enumerate(dims):
        matrix = _weights(
            method, typeof(image).shape[d], shape[d], jnp.asarray(scale[i], wide),
            jnp.asarray(translation[i], wide), antialias, wide,
        )  # fmt: skip
        product = jnp.tensordot(image, matrix, ((d,), (0,)), precision=precision)
        image = jnp.moveaxis(product, -1, d)
    return lax.convert_element_type(image, dtype)


def scale_and_translate(
    image: ArrayLike, shape: Sequence[int], spatial_dims: Sequence[int], scale: ArrayLike,
    translation: ArrayLike, method: str | ResizeMethod, antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Array:  # fmt: skip
    """Scale an image and move it, within a frame of a given shape.

    Args:
      image: any shape; integers become floats.
      shape: shape of the result; equal to that of `image` but along `spatial_dims`.
      spatial_dims: [k] dimensions to resample.
      scale: [k], how many times larger the result is.
      translation: [k], in pixels of the result.
      method: how to interpolate, but not "nearest".
      antialias: whether the kernel is widened when the image becomes smaller.
      precision: precision of the products.

    Returns:
      Array of the given shape; 0 outside of the image.

    Raises:
      ValueError: shapes that do not fit, or an unknown method.

    Example:
      >>> x = jnp.arange(4.0)
      >>> scale_and_translate(x, (4,), (0,), jnp.ones(1), jnp.ones(1), "linear").tolist()
      [0.0, 0.0, 1.0, 2.0]
    """
    check_arraylike("scale_and_translate", image, scale, translation)
    shape, dims = tuple(shape), typeof(image).shape
    axes = tuple(canonicalize_axis(d, len(dims), "scale_and_translate") for d in spatial_dims)
    if len(shape) != len(dims) or any(
        i not in axes and n != m for i, (n, m) in enumerate(zip(shape, dims, strict=False))
    ):
        raise ValueError(
            f"scale_and_translate: given shape={shape} for an image of shape {dims} and "
            f"spatial_dims={axes}, expected equal sizes along all other dimensions. Add the "
            "dimensions that differ to spatial_dims."
        )
    method = ResizeMethod.from_string(method) if isinstance(method, str) else method
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "scale_and_translate: given the method 'nearest', expected one with a kernel. Use "
            "'linear', or resize."
        )
    return _resample(
        image, scale, translation, shape=shape, dims=axes, method=method,
        antialias=bool(antialias), precision=precision,
    )  # fmt: skip


def resize(
    image: ArrayLike, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Array:  # fmt: skip
    """Change the size of an image.

    Args:
      image: any shape; integers become floats, but for the method "nearest".
      shape: shape of the result, of the same rank.
      method: "nearest", "linear", "cubic", "lanczos3", "lanczos5", "area" or "cubic-pytorch".
      antialias: whether the kernel is widened when the image becomes smaller.
      precision: precision of the products.

    Returns:
      Array of the given shape.

    Raises:
      ValueError: another rank, or an unknown method.

    Example:
      >>> resize(jnp.array([0.0, 1.0]), (4,), "linear").tolist()
      [0.0, 0.25, 0.75, 1.0]
    """
    check_arraylike("resize", image)
    shape, dims = tuple(map(as_size, shape)), typeof(image).shape
    if len(shape) != len(dims):
        raise ValueError(
            f"resize: given shape={shape} for an image of shape {dims}, expected as many sizes as "
            "the image has dimensions. Name all of them."
        )
    method = ResizeMethod.from_string(method) if isinstance(method, str) else method
    changed = tuple(i for i, (n, m) in enumerate(zip(shape, dims, strict=True)) if n != m)
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape=shape, dims=changed)
    scale = [shape[i] / dims[i] if dims[i] else 1.0 for i in changed]
    if not has_symbolic((*shape, *dims)):
        scale = np.array(scale)
    return _resample(
        image, scale, np.zeros(len(changed)), shape=shape, dims=changed, method=method,
        antialias=bool(antialias), precision=precision,
    )  # fmt: skip


@composite(static_argnames=("shape", "dims"))
def _nearest(image: Array, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    image = jnp.asarray(image)
    for d in dims:
        n = typeof(image).shape[d]
        symbolic = has_symbolic((n, shape[d]))
        xp: Any = jnp if symbolic else np  # sizes that are numbers make constants
        index = xp.floor((xp.arange(shape[d]) + 0.5) * (n / shape[d])).astype(np.int32)
        image = jnp.take(image, xp.minimum(index, max_size(n - 1, 0)), d)
    return image
