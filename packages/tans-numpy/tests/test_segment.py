"""Reductions over segments against a loop in NumPy."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_autodiff.check_grads import check_grads
from tans_numpy import segment
from tans_xla import jit

REDUCTIONS = {
    "segment_sum": (np.add, 0),
    "segment_prod": (np.multiply, 1),
    "segment_max": (np.maximum, None),
    "segment_min": (np.minimum, None),
}
IDS = np.array([0, 2, 0, -1, 2, 4, 9])


def reference(name, data, ids, count):
    combine, start = REDUCTIONS[name]
    if start is None:
        info = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
        start = info.min if name == "segment_max" else info.max
        if data.dtype.kind == "f":
            start = np.copysign(np.inf, start)
    out = np.full((count, *data.shape[1:]), start, data.dtype)
    for x, i in zip(data, ids, strict=True):
        if 0 <= i < count:
            out[i] = combine(out[i], x)
    return out


@pytest.mark.parametrize("bucket_size", [None, 3])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
@pytest.mark.parametrize("shape", [(7,), (7, 2)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_values(name, shape, dtype, bucket_size):
    data = np.random.default_rng(0).integers(-4, 5, size=shape)
    expected = reference(name, data.astype("int32" if dtype == "int32" else "float32"), IDS, 5)
    out = getattr(segment, name)(jnp.asarray(data, dtype), IDS, 5, bucket_size=bucket_size)
    assert out.dtype == jnp.dtype(dtype)
    np.testing.assert_array_equal(np.asarray(out).astype(expected.dtype), expected)


def test_the_number_of_segments_is_counted_unless_traced():
    data = jnp.arange(3.0)
    assert segment.segment_sum(data, np.array([0, 3, 1])).shape == (4,)
    assert segment.segment_sum(data[:0], np.zeros(0, int)).shape == (0,)
    with pytest.raises(TypeError, match="num_segments"):
        jit(segment.segment_sum)(data, jnp.array([0, 3, 1]))
    with pytest.raises(ValueError, match="num_segments=-1"):
        segment.segment_sum(data, np.array([0, 3, 1]), -1)


@pytest.mark.parametrize("name", ["segment_sum", "segment_max", "segment_min"])
def test_derivatives(name):
    data = jnp.array([0.5, -1.3, 2.2, 0.7])
    check_grads(lambda d: getattr(segment, name)(d, np.array([0, 1, 1, 1]), 2), (data,), order=1)
