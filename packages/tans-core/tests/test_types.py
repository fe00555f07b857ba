import copy
import gc
import pickle

import numpy as np
import pytest

from tans_core import ShapedArray, abstract_token, dtypes, float0, same_but_weak, same_type, typeof

DTYPES = ["bool", "int8", "int32", "float16", "float32", "complex64"]
SHAPES = [(), (3,), (0, 2), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_types_are_one_object(shape, dtype):
    a = ShapedArray(shape, np.dtype(dtype))
    assert a is ShapedArray(list(shape), dtype)
    assert a is pickle.loads(pickle.dumps(a))
    assert a is copy.deepcopy(a)
    assert a.size == int(np.prod(shape))
    assert a.ndim == len(shape)


def test_fields_make_different_types():
    a = ShapedArray((3,), np.float32)
    assert a is not ShapedArray((3,), np.float32, weak_type=True)
    assert a is not ShapedArray((4,), np.float32)
    assert a is not ShapedArray((3,), np.int32)
    assert a is not a.update(memory_space="pinned_host")


def test_big_endian_dtype_is_the_native_one():
    assert ShapedArray((2,), np.dtype(">f4")) is ShapedArray((2,), np.float32)


def test_types_that_nobody_holds_are_forgotten():
    a = ShapedArray((12345,), np.float32)
    first = id(a)
    del a
    gc.collect()
    b = ShapedArray((54321,), np.float32)
    assert id(b) == first or b.shape == (54321,)


def test_types_are_immutable():
    with pytest.raises(AttributeError, match=r"update\(shape=\.\.\.\)"):
        ShapedArray((3,), np.float32).shape = (4,)


class Parts:
    """A dtype of pairs of floats whose tangents are given."""

    name, type, itemsize = "parts", dtypes.extended, 8
    element_shape, element_dtype = (2,), np.dtype(np.float32)

    def __init__(self, tangent_dtype):
        self.tangent_dtype = tangent_dtype

    def wrap(self, physical):
        return physical

    def unwrap(self, value):
        return value


@pytest.mark.parametrize(
    ("dtype", "tangent"),
    [
        ("float32", np.float32),
        ("complex64", np.complex64),
        ("int32", float0),
        ("bool", float0),
        (Parts(np.dtype(np.float32)), np.float32),
        (Parts(None), float0),
    ],
    ids=["float32", "complex64", "int32", "bool", "extended", "extended without derivative"],
)
def test_tangent_type(dtype, tangent):
    aval = ShapedArray((3,), dtype).to_tangent()
    assert aval is ShapedArray((3,), tangent)
    assert ShapedArray((3,), dtype).to_cotangent() is aval
    assert ShapedArray((3,), dtype).update(weak_type=True).to_tangent().dtype == tangent


@pytest.mark.parametrize(
    ("value", "text", "weak"),
    [
        (1, "i32[]", True),
        (1.5, "f32[]", True),
        (1j, "c64[]", True),
        (True, "bool[]", False),
        (np.float64(2), "f32[]", False),
        (np.zeros((2, 0), np.int8), "i8[2,0]", False),
    ],
)
def test_typeof(value, text, weak):
    aval = typeof(value)
    assert aval.str_short() == text
    assert aval.weak_type is weak


def test_typeof_names_what_it_got_and_the_remedy():
    with pytest.raises(TypeError, match=r"'spam' of type builtins\.str.*jnp\.asarray"):
        typeof("spam")


def test_same_type():
    a = ShapedArray((), np.float32, weak_type=True)
    assert same_type(a, a)
    assert not same_type(a, a.strong())
    assert same_but_weak(a, a.strong())
    assert not same_type(a, abstract_token)
