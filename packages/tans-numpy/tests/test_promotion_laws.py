"""Laws of broadcasting and promotion, for shapes and dtypes that hypothesis picks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as shapes

import tans_numpy as jnp
from tans_core import typeof
from tans_xla import eval_shape

DTYPES = st.sampled_from(
    "bool int8 int16 int32 uint8 uint16 uint32 bfloat16 float16 float32 complex64".split()
)
SCALARS = st.sampled_from([True, 2, 2.5, 1j])
OPERATIONS = st.sampled_from(["add", "multiply", "maximum", "where", "equal"])
few = settings(max_examples=40, deadline=None)


def _combine(operation, x, y):
    if operation == "where":
        return jnp.where(True, x, y)
    return getattr(jnp, operation)(x, y)


@few
@given(shapes.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=3))
def test_shapes_broadcast_as_numpy_says(drawn):
    arrays = [np.ones(shape, np.float32) for shape in drawn.input_shapes]
    out = eval_shape(lambda x, y, z: jnp.where(x > 0, y, z) + x, *arrays)
    assert out.shape == drawn.result_shape
    assert jnp.broadcast_shapes(*drawn.input_shapes) == drawn.result_shape


@few
@given(OPERATIONS, DTYPES, DTYPES)
def test_results_have_the_promoted_dtype_whatever_the_order(operation, first, second):
    x, y = (np.ones((), np.dtype(getattr(jnp, d).dtype)) for d in (first, second))
    one = eval_shape(lambda x, y: _combine(operation, x, y), x, y)
    other = eval_shape(lambda x, y: _combine(operation, y, x), x, y)
    expected = np.dtype(bool) if operation == "equal" else jnp.promote_types(first, second)
    assert one.dtype == other.dtype == expected


@few
@given(DTYPES, SCALARS)
def test_python_scalars_give_way_to_arrays_of_their_kind(dtype, scalar):
    x = np.ones(3, np.dtype(getattr(jnp, dtype).dtype))
    out = eval_shape(lambda x: x * scalar, x)
    assert out.dtype == jnp.result_type(x, scalar)
    kinds = "b i f c".split()
    kind = {"u": "i", "V": "f"}.get(x.dtype.kind, x.dtype.kind)
    scalar_kind = np.asarray(scalar).dtype.kind
    if kinds.index(scalar_kind) <= kinds.index(kind):
        assert out.dtype == x.dtype


@few
@given(DTYPES, DTYPES, DTYPES)
def test_promotion_of_three_is_one_join(first, second, third):
    avals = [typeof(np.ones((), np.dtype(getattr(jnp, d).dtype))) for d in (first, second, third)]
    arrays = [np.ones((), a.dtype) for a in avals]
    out = eval_shape(lambda *xs: jnp.stack(xs), *arrays)
    assert out.dtype == jnp.result_type(*arrays)
    assert out.dtype == jnp.result_type(*reversed(arrays))
