"""Batching of recorded programs: forced output dimensions, and a memo that lets go."""

import gc
import weakref

import numpy as np
import pytest

import tans_lax as lax
from tans_batching import batch_jaxpr
from tans_core import AxisData, ShapedArray, eval_closed, trace_to_jaxpr
from tans_core.config import enable_x64

AXIS = AxisData(3)
VECTOR = ShapedArray((2,), np.float32)
X = np.arange(6, dtype="float32").reshape(3, 2)


def body():
    one = np.float32(1)
    return trace_to_jaxpr(lambda x, y: [lax.sin(x), y, one], [VECTOR, VECTOR])


def test_dimensions_as_they_come():
    closed, dims = batch_jaxpr(body(), AXIS, (1, None))
    assert dims == (1, None, None)
    assert closed.in_avals == (ShapedArray((2, 3), np.float32), VECTOR)
    outs = eval_closed(closed, X.T, X[0])
    np.testing.assert_allclose(outs[0], np.sin(X.T))


@pytest.mark.parametrize("wanted", [(0, 0, 0), (1, None, 0), (0, 1, None)])
def test_forced_dimensions(wanted):
    closed, dims = batch_jaxpr(body(), AXIS, (0, None), wanted)
    assert dims == wanted
    for aval, dim in zip(closed.out_avals, wanted, strict=True):
        assert dim is None or aval.shape[dim] == 3


def test_same_request_gives_the_same_program():
    program = body()
    first = batch_jaxpr(program, AXIS, (0, None))
    assert batch_jaxpr(program, AXIS, [0, None])[0] is first[0]
    with enable_x64(True):
        assert batch_jaxpr(program, AXIS, (0, None))[0] is not first[0]


def test_memo_lets_the_program_go():
    program = body()
    batched = weakref.ref(batch_jaxpr(program, AXIS, (0, 0))[0])
    alive = weakref.ref(program)
    del program
    gc.collect()
    assert alive() is None
    assert batched() is None
