"""Arrangements, joins and choices of arrays with an extended dtype act on whole elements."""

import numpy as np
import pytest

import tans_lax as lax
import tans_random as random
from tans_xla import jit

WHICH = np.arange(6) > 2


@pytest.fixture(scope="module")
def keys():
    return random.split(random.key(0), 6)


def bits(keys):
    return np.asarray(random.key_data(keys))


def third(keys):
    return lax.squeeze(lax.index_in_dim(keys, 2), (0,))


CASES = {
    "reshape": (lambda k: lax.reshape(k, (2, 3)), lambda d: d.reshape(2, 3, 2)),
    "reshape permuted": (
        lambda k: lax.reshape(lax.reshape(k, (2, 3)), (6,), (1, 0)),
        lambda d: d.reshape(2, 3, 2).transpose(1, 0, 2).reshape(6, 2),
    ),
    "transpose": (
        lambda k: lax.transpose(lax.reshape(k, (2, 3)), (1, 0)),
        lambda d: d.reshape(2, 3, 2).transpose(1, 0, 2),
    ),
    "broadcast": (lambda k: lax.broadcast(k, (2,)), lambda d: np.broadcast_to(d, (2, 6, 2))),
    "expand_dims": (lambda k: lax.expand_dims(k, (0,)), lambda d: d[None]),
    "rev": (lambda k: lax.rev(k, (0,)), lambda d: d[::-1]),
    "concatenate": (lambda k: lax.concatenate([k, k], 0), lambda d: np.concatenate([d, d])),
    "stack": (lambda k: lax.stack([k, k], 1), lambda d: np.stack([d, d], 1)),
    "split": (lambda k: lax.split(k, (2, 4))[1], lambda d: d[2:]),
    "unstack": (lambda k: lax.unstack(k)[3], lambda d: d[3]),
    "tile": (lambda k: lax.tile(k, (2,)), lambda d: np.tile(d, (2, 1))),
    "pad": (
        lambda k: lax.pad(k, third(k), ((1, 0, 0),)),
        lambda d: np.concatenate([d[2:3], d]),
    ),
    "full_like": (lambda k: lax.full_like(k, third(k)), lambda d: np.broadcast_to(d[2], (6, 2))),
    "select": (
        lambda k: lax.select(WHICH, k, lax.rev(k, (0,))),
        lambda d: np.where(WHICH[:, None], d, d[::-1]),
    ),
    "barrier": (lambda k: lax.optimization_barrier(lax.stop_gradient(k)), lambda d: d),
    "empty": (lambda k: lax.empty((3,), k.dtype), lambda d: np.zeros((3, 2))),
}


def test_elements_stay_whole(keys):
    run = jit(lambda k: {name: fn(k) for name, (fn, _) in CASES.items()})
    out = run(keys)
    for name, (_, oracle) in CASES.items():
        np.testing.assert_array_equal(bits(out[name]), oracle(bits(keys)), name)


def test_equality_compares_whole_elements(keys):
    assert lax.eq(keys, third(keys)).tolist() == [False, False, True, False, False, False]
    assert lax.ne(keys, keys).tolist() == [False] * 6


def test_keys_have_no_arithmetic(keys):
    with pytest.raises(TypeError, match=r"given.*key<fry>\[6\].*expected"):
        lax.add(keys, keys)
    with pytest.raises(ValueError, match="numeric dtypes"):
        lax.convert_element_type(keys, np.float32)
