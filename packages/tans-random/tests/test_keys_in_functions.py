"""Arrays of keys in functions of arrays: what moves and compares elements takes them."""

import numpy as np
import pytest

import tans_lax as lax
import tans_numpy as jnp
from tans_random import key, key_data, split
from tans_xla import jit

KEYS = split(key(0), 3)
WORDS = np.asarray(key_data(KEYS))
NONE = np.zeros((1, 2), np.uint32)
ON = np.eye(3, dtype=np.uint32)[..., None]

# Functions that return arrays of keys, and the word that is in each key.
FILLED = {
    "lax.full_like": (lambda: lax.full_like(KEYS, 7), 7),
    "lax.full_like, NumPy scalar": (lambda: lax.full_like(KEYS, np.int32(7)), 7),
    "lax.full": (lambda: lax.full((3,), 7, KEYS.dtype), 7),
    "full_like": (lambda: jnp.full_like(KEYS, 7), 7),
    "full": (lambda: jnp.full((3,), 7, KEYS.dtype), 7),
    "zeros_like": (lambda: jnp.zeros_like(KEYS), 0),
    "ones_like": (lambda: jnp.ones_like(KEYS), 1),
    "fill": (lambda: KEYS.at[9].get(mode="fill"), 2**32 - 1),
    "fill, array": (lambda: KEYS.at[np.array([9, 7])].get(mode="fill"), 2**32 - 1),
    "fill_value": (lambda: KEYS.at[9].get(mode="fill", fill_value=7), 7),
    "fill_value, array": (lambda: KEYS.at[np.array([9])].get(mode="fill", fill_value=7), 7),
}
MOVED = {
    "pad, empty": (lambda k: jnp.pad(k, 1, mode="empty"), np.concatenate([NONE, WORDS, NONE])),
    "pad, edge": (lambda k: jnp.pad(k, 1, mode="edge"), WORDS[[0, 0, 1, 2, 2]]),
    "pad, key": (lambda k: jnp.pad(k, (0, 1), constant_values=k[1]), WORDS[[0, 1, 2, 1]]),
    "insert": (lambda k: jnp.insert(k, 1, k[0]), WORDS[[0, 0, 1, 2]]),
    "diag": (jnp.diag, WORDS * ON),
    "tril": (lambda k: jnp.tril(k[:, None]), WORDS[:, None]),
    "triu": (lambda k: jnp.triu(k[:, None]), WORDS[:, None] * ON[:, :1]),
}


@pytest.mark.parametrize("name", FILLED)
def test_integers_fill_all_words(name):
    make, word = FILLED[name]
    for found in (make(), jit(make)()):
        assert found.dtype == KEYS.dtype
        np.testing.assert_array_equal(key_data(found), np.uint32(word))


@pytest.mark.parametrize("name", MOVED)
def test_functions_that_move_elements_take_keys(name):
    move, expected = MOVED[name]
    np.testing.assert_array_equal(key_data(move(KEYS)), expected)
    np.testing.assert_array_equal(key_data(jit(move)(KEYS)), expected)


def test_keys_are_close_where_they_are_equal():
    other = KEYS.at[1].set(KEYS[0])
    assert jnp.isclose(KEYS, other).tolist() == [True, False, True]
    assert bool(jnp.allclose(KEYS, KEYS, equal_nan=True))
    assert not bool(jnp.allclose(KEYS, other))


REFUSED = {
    "full_like a scalar": (ValueError, lambda: lax.full_like(np.float32(1), KEYS[0])),
    "convert": (ValueError, lambda: lax.convert_element_type(KEYS, np.float32)),
    "convert to keys": (ValueError, lambda: lax.convert_element_type(1.5, KEYS.dtype)),
    "full of floats": (ValueError, lambda: lax.full((2,), 1.5, KEYS.dtype)),
    "bitcast": (ValueError, lambda: lax.bitcast_convert_type(KEYS, np.uint32)),
    "astype": (NotImplementedError, lambda: KEYS.astype(np.float32)),
    "pad": (ValueError, lambda: jnp.pad(KEYS, 1)),
    "pad, function": (ValueError, lambda: jnp.pad(KEYS, 1, mode=lambda v, *_: v)),
    "pad, mean": (TypeError, lambda: jnp.pad(KEYS, 1, mode="mean")),
    "pad, median": (TypeError, lambda: jnp.pad(KEYS, 1, mode="median")),
    "pad, linear_ramp": (TypeError, lambda: jnp.pad(KEYS, 1, mode="linear_ramp")),
    "isclose": (TypeError, lambda: jnp.isclose(KEYS, 1)),
    "sum": (TypeError, lambda: jnp.sum(KEYS)),
    "prod": (TypeError, lambda: jnp.prod(KEYS)),
    "mean": (TypeError, lambda: jnp.mean(KEYS)),
    "any": (ValueError, lambda: jnp.any(KEYS)),
    "sin": (TypeError, lambda: jnp.sin(KEYS)),
    "linspace": (TypeError, lambda: jnp.linspace(KEYS[0], KEYS[0], 3)),
    "vdot": (TypeError, lambda: jnp.vdot(KEYS, KEYS)),
    "top_k": (TypeError, lambda: lax.top_k(KEYS, 1)),
    "reduce": (TypeError, lambda: lax.reduce(KEYS, KEYS[0], lambda a, b: a, (0,))),
    "reduce_window": (TypeError, lambda: lax.reduce_window(KEYS, KEYS[0], lambda a, b: a, (2,))),
    "set": (TypeError, lambda: KEYS.at[0].set(1)),
    "add": (TypeError, lambda: KEYS.at[0].add(KEYS[0])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_functions_of_numbers_refuse_keys(name):
    error, call = REFUSED[name]
    with pytest.raises(error, match=r"(?s)(key<fry>.*expected|expected.*key<fry>).*\w+ .*\.$"):
        call()
