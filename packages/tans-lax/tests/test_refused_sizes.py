"""Sizes, axes and paddings that are not integers, or not as many as there are dimensions."""

import numpy as np
import pytest

import tans_lax as lax
from tans_core.errors import TracerIntegerConversionError
from tans_xla import jit

X = np.arange(4.0, dtype=np.float32)
SIGNAL = X[None, None]
BAD = {"float": (1.5,), "string": ("a",), "single": 2, "none": None, "nested": ((1,),), "word": "a"}
SEQUENCES = {
    "reduce_window": lambda v: lax.reduce_window(X, 0.0, lax.add, v),
    "reduce_window strides": lambda v: lax.reduce_window(X, 0.0, lax.add, (2,), v or 3),
    "reduce_window dilation": lambda v: lax.reduce_window(
        X, 0.0, lax.add, (2,), window_dilation=v or 3
    ),
    "conv": lambda v: lax.conv_general_dilated(SIGNAL, SIGNAL, v, "VALID"),
    "conv dilation": lambda v: lax.conv_general_dilated(
        SIGNAL, SIGNAL, (1,), [(0, 0)], rhs_dilation=v or 3
    ),
    "slice": lambda v: lax.slice(X, v, (3,)),
    "dynamic_slice": lambda v: lax.dynamic_slice(X, (0,), v),
    "reshape": lambda v: lax.reshape(X, v),
    "broadcast": lambda v: lax.broadcast(X, v),
    "broadcast_in_dim": lambda v: lax.broadcast_in_dim(X, (4,), v),
    "transpose": lambda v: lax.transpose(X, v),
    "rev": lambda v: lax.rev(X, v),
    "expand_dims": lambda v: lax.expand_dims(X, v),
    "fft": lambda v: lax.fft(X + 0j, "fft", v),
    "broadcasted_iota": lambda v: lax.broadcasted_iota("int32", v, 0),
    "pad": lambda v: lax.pad(X, np.float32(0), v),
}
SINGLES = {
    "sort": lambda v: lax.sort(X, v),
    "top_k": lambda v: lax.top_k(X, v),
    "cumsum": lambda v: lax.cumsum(X, v),
    "concatenate": lambda v: lax.concatenate([X, X], v),
    "iota": lambda v: lax.iota("int32", v),
    "integer_pow": lambda v: lax.integer_pow(X, v),
    "reduce_precision": lambda v: lax.reduce_precision(X, v, 3),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_integers_are_asked_for(name, bad):
    error = (TypeError, ValueError) if (name, bad) == ("pad", "nested") else TypeError
    with pytest.raises(error, match=r"given.* expected .*(Convert|write|Write)"):
        SEQUENCES[name](BAD[bad])


@pytest.mark.parametrize("bad", [2.5, "a", None, (1,), np.float32(1), np.array([1, 2])])
@pytest.mark.parametrize("name", SINGLES)
def test_integers_are_asked_for(name, bad):
    with pytest.raises(TypeError, match=r"given.* expected an integer.*Convert"):
        SINGLES[name](bad)


@pytest.mark.parametrize("padding", [(1,), [(1, 2, 3)], 2, [("a", 1)], None])
def test_paddings_are_pairs(padding):
    with pytest.raises(ValueError, match=r"given.*expected"):
        lax.conv_general_dilated(SIGNAL, SIGNAL, (1,), padding)
    with pytest.raises((TypeError, ValueError), match=r"given.*expected"):
        lax.reduce_window(X, 0.0, lax.add, (2,), (1,), padding)


def test_traced_sizes_are_not_concrete():
    with pytest.raises(TracerIntegerConversionError):
        jit(lambda n: lax.iota("int32", n))(3)


def test_random_bits_of_a_negative_size_are_refused():
    with pytest.raises(TypeError, match=r"given the shape \(-1,\), expected.*at least 0"):
        lax.rng_bit_generator(np.zeros(4, np.uint32), (-1,))
