"""Initializers of matrices with orthonormal rows or columns."""

import math
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
import tans_random as random
from tans_nn.initializers.protocol import (
    Array,
    DType,
    Initializer,
    Key,
    as_sizes,
    initial_dtype,
)
from tans_xla import composite


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Return an initializer of matrices with orthonormal rows or columns, times a factor.

    Args:
      scale: the factor.
      column_axis: the axis that is the second dimension of the matrix; all others together are
        the first.
      dtype: default dtype, float or complex.

    Raises:
      ValueError: (the initializer) the shape has less than two dimensions.

    Example:
      >>> orthogonal()(random.key(0), (3, 2)).shape
      (3, 2)

    References:
      Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep
      linear neural networks", 2013.
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dims, dtype = as_sizes(shape), initial_dtype(dtype, default)
        if len(dims) < 2:
            raise ValueError(
                f"orthogonal: given the shape {dims}, expected at least two dimensions. For a "
                "vector use normal(stddev)."
            )
        columns = dims[column_axis]
        rows = math.prod(dims) // max(columns, 1)
        matrix = _orthonormal(key, rows, columns, dtype)
        rest = tuple(np.delete(dims, column_axis).tolist())
        out = jnp.moveaxis(jnp.reshape(matrix, (*rest, columns)), -1, column_axis)
        out = jnp.asarray(scale, dtype) * out
        return out if out_sharding is None else jnp.reshape(out, dims, out_sharding=out_sharding)

    return init


@composite(static_argnames=("rows", "columns", "dtype"))
def _orthonormal(key: Key, rows: int, columns: int, dtype: Any) -> Array:
    tall = (max(rows, columns), min(rows, columns))
    q, r = lax.linalg.qr(random.normal(key, tall, dtype), full_matrices=False)
    # With the phases of r's diagonal taken out, q is uniform among orthonormal matrices.
    diagonal = jnp.diagonal(r)
    phase = jnp.where(diagonal == 0, 1, diagonal / jnp.abs(jnp.where(diagonal == 0, 1, diagonal)))
    q = q * phase.astype(dtype)
    return q.T if rows < columns else q


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Return an initializer of convolution kernels: orthogonal at the centre, 0 elsewhere.

    Args:
      scale: factor of the orthogonal matrix.
      column_axis: the axis of outputs in the matrix.
      dtype: default dtype, float or complex.

    Raises:
      ValueError: (the initializer) the shape has not 3 to 5 dimensions, or more inputs than
        outputs.

    Example:
      >>> delta_orthogonal()(random.key(0), (3, 2, 2)).shape
      (3, 2, 2)

    References:
      Xiao, Bahri, Sohl-Dickstein, Schoenholz, Pennington, "Dynamical isometry and a mean field
      theory of CNNs", 2018.
    """
    default = dtype

    def init(key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None) -> Array:
        dims, dtype = as_sizes(shape), initial_dtype(dtype, default)
        if len(dims) not in (3, 4, 5) or dims[-2] > dims[-1]:
            raise ValueError(
                f"delta_orthogonal: given the shape {dims}, expected 3 to 5 dimensions [..., "
                "inputs, outputs] with at least as many outputs as inputs. Use orthogonal for a "
                "matrix."
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, dims[-2:])
        centre = tuple((n - 1) // 2 for n in dims[:-2])
        out = jnp.zeros(dims, dtype).at[centre].set(matrix)
        return out if out_sharding is None else jnp.reshape(out, dims, out_sharding=out_sharding)

    return init
