"""Samplers of vectors and matrices: multivariate normal, orthogonal."""

import operator
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.samplers.arguments import (
    STATIC,
    Array,
    ArrayLike,
    DTypeLike,
    Key,
    Shape,
    ShapeLike,
    Sharding,
    check_choice,
    float_dtype,
    float_dtype_of,
    place,
    static_shape,
)
from tans_random.samplers.normal import any_normal, real_normal
from tans_xla import composite


def _factor(cov: Array, method: str) -> Array:
    """Return a matrix whose product with its transpose is `cov`."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    if method == "svd":
        vectors, values, _ = jnp.linalg.svd(cov)
    else:
        values, vectors = jnp.linalg.eigh(cov)
    return lax.mul(vectors, jnp.broadcast_to(lax.sqrt(values)[..., None, :], vectors.shape))


@composite(static_argnames=(*STATIC, "method"))
def _multivariate_normal(
    words: Any, mean: Any, cov: Any, *, shape: Shape, dtype: Any, impl: Implementation, method: str
) -> Array:
    common = float_dtype_of(mean, cov)
    mean, cov = (lax.convert_element_type(v, common) for v in (mean, cov))
    z = real_normal(words, impl, (*shape, typeof(mean).shape[-1]), dtype)
    return mean + jnp.einsum("...ij,...j->...i", _factor(cov, method), z)


def multivariate_normal(
    key: Key, mean: ArrayLike, cov: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None,
    method: str = "cholesky", *, out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample vectors with a given mean and covariance.

    Args:
      key: single key.
      mean: [..., n].
      cov: positive semidefinite matrices, [..., n, n].
      shape: static batch shape, which those of `mean` and `cov` broadcast to; those if None.
      dtype: floating-point dtype of the normal numbers; if None, that of `mean` and `cov`. The
        result has the dtype to which all three promote.
      method: how `cov` is factored: "cholesky", or "eigh" or "svd", which serve singular matrices.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array [*shape, n].

    Raises:
      ValueError: shapes that do not fit, an unknown method, `dtype` not floating, or an array of
        keys.

    Example:
      >>> random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.eye(2), (3,)).shape
      (3, 2)
    """
    parts = take_apart(key, "multivariate_normal")
    target = (
        float_dtype_of(mean, cov) if dtype is None else float_dtype(dtype, "multivariate_normal")
    )
    check_choice("multivariate_normal", "method", method, ("cholesky", "eigh", "svd"))
    mean_shape, cov_shape = typeof(mean).shape, typeof(cov).shape
    n = mean_shape[-1:]
    if not mean_shape or len(cov_shape) < 2 or cov_shape[-2:] != n + n:
        raise ValueError(
            f"multivariate_normal: given mean with shape {mean_shape} and cov with shape "
            f"{cov_shape}, expected [..., n] and [..., n, n]. Use normal for single numbers."
        )
    own = jnp.broadcast_shapes(mean_shape[:-1], cov_shape[:-2])
    dims = own if shape is None else static_shape(shape, "multivariate_normal")
    if jnp.broadcast_shapes(dims, own) != dims:
        raise ValueError(
            f"multivariate_normal: given the shape {dims} and parameters with batch shape {own}, "
            "expected parameters that broadcast to the shape. It does not include the vectors' "
            "dimension."
        )
    out = _multivariate_normal(
        parts.words, mean, cov, shape=dims, dtype=target, impl=parts.impl, method=method
    )
    return place(out, out_sharding)


@composite(static_argnames=STATIC)
def _orthogonal(words: Any, *, shape: Shape, dtype: Any, impl: Implementation) -> Array:
    rows, columns = shape[-2:]
    tall = (*shape[:-2], max(rows, columns), min(rows, columns))
    q, r = jnp.linalg.qr(any_normal(words, impl, tall, dtype))
    # Of all factorisations, that with a positive diagonal of r makes q uniformly distributed.
    signs = lax.sign(jnp.diagonal(r, 0, -2, -1))
    q = lax.mul(q, jnp.broadcast_to(signs[..., None, :], q.shape))
    if rows >= columns:
        return q
    q = jnp.swapaxes(q, -2, -1)
    return lax.conj(q) if dtypes.is_complex(dtype) else q


def orthogonal(
    key: Key, n: int, shape: ShapeLike = (), dtype: DTypeLike = None, m: int | None = None, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample uniformly from the orthogonal (or unitary) matrices.

    Args:
      key: single key.
      n: number of rows.
      shape: static batch shape.
      dtype: floating-point or complex dtype; the default float if None.
      m: number of columns, `n` if None; the shorter dimension is orthonormal.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array [*shape, n, m].

    Raises:
      ValueError: a negative size, `dtype` not floating, or an array of keys.

    Example:
      >>> q = random.orthogonal(random.key(0), 3)
      >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6))
      True

    References:
      Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
    """
    parts = take_apart(key, "orthogonal")
    target = float_dtype(dtype, "orthogonal", allow_complex=True)
    rows = operator.index(n)
    sizes = (rows, rows if m is None else operator.index(m))
    dims = (*static_shape(shape, "orthogonal"), *static_shape(sizes, "orthogonal"))
    out = _orthogonal(parts.words, shape=dims, dtype=target, impl=parts.impl)
    return place(out, out_sharding)
