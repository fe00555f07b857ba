"""Keys as values: their attributes, moving them around, programs and trees of them, errors."""

import copy
import pickle

import numpy as np
import pytest

import tans_lax as lax
import tans_numpy as jnp
import tans_random as random
from tans_batching import vmap
from tans_core import Array, tree
from tans_xla import device_get, device_put, eval_shape, jit


@pytest.fixture
def keys():
    return random.split(random.key(0), 3)


def words(keys):
    return random.key_data(keys).tolist()


def test_attributes_are_those_of_an_array_of_keys(keys):
    assert isinstance(keys, Array)
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((3,), 1, 3, 3)
    assert (keys.itemsize, keys.nbytes, keys.on_device_size_in_bytes()) == (8, 24, 24)
    assert str(keys.dtype) == keys.dtype.name == "key<fry>"
    assert keys.is_fully_addressable
    assert keys.is_fully_replicated
    assert keys.devices() == {keys.device}
    assert [s.data.shape for s in keys.addressable_shards] == [(3,)]
    assert words(keys.addressable_data(0)) == words(keys)
    assert keys.block_until_ready() is keys
    assert not keys.is_deleted()
    assert keys.aval.str_short() == "key<fry>[3]"


def test_keys_move_like_elements(keys):
    all_words = words(keys)
    assert [words(k) for k in keys] == all_words
    assert words(keys[1]) == words(keys[-2]) == all_words[1]
    assert words(keys[::-1]) == all_words[::-1]
    assert words(keys[jnp.array([2, 0])]) == [all_words[2], all_words[0]]
    assert keys[None].T.shape == (3, 1)
    assert keys.reshape(3, 1).ravel().shape == (3,)
    assert words(jnp.stack([keys[0], keys[2]])) == [all_words[0], all_words[2]]
    assert jnp.concatenate([keys, keys]).shape == (6,)
    assert words(jnp.where(jnp.array([True, False, True]), keys, keys[1]))[1] == all_words[1]
    assert words(keys.at[0].set(keys[1]))[0] == all_words[1]
    assert words(random.permutation(random.key(3), keys)) != all_words
    assert sorted(words(random.permutation(random.key(3), keys))) == sorted(all_words)


def test_many_keys_can_be_iterated():
    keys = random.split(random.key(0), 40)
    assert [words(k) for k in keys] == words(keys)


def test_keys_compare_by_their_words(keys):
    assert (keys == keys[0]).tolist() == [True, False, False]
    assert (keys != keys[0]).tolist() == [False, True, True]
    with pytest.raises(TypeError):
        _ = keys == 0
    with pytest.raises(TypeError):
        _ = random.key(0) == random.key(0, impl="rbg")


@pytest.mark.parametrize(
    "use",
    [
        lambda k: k + 1,
        lambda k: -k,
        lambda k: bool(k[0]),
        lambda k: float(k[0]),
        lambda k: hash(k),
        lambda k: np.asarray(k),
        lambda k: len(k[0]),
        lambda k: list(k[0]),
        lambda k: jnp.sin(k),
    ],
)
def test_keys_are_not_numbers(keys, use):
    with pytest.raises(TypeError):
        use(keys)


def test_keys_are_copied_pickled_and_put_on_devices(keys):
    for other in (copy.copy(keys), copy.deepcopy(keys), pickle.loads(pickle.dumps(keys))):
        assert words(other) == words(keys)
        assert other.dtype == keys.dtype
    put = device_put(keys, keys.device)
    assert words(put) == words(keys)
    assert put.committed
    assert words(device_get(keys)) == words(keys)


def test_keys_are_leaves_of_trees(keys):
    out = jit(lambda t: tree.map(lambda k: k[::-1], t))({"a": keys})
    assert words(out["a"]) == words(keys)[::-1]


def test_abstract_keys_have_a_dtype(keys):
    out = eval_shape(lambda k: random.split(k, 4), keys[0])
    assert (out.shape, out.dtype) == ((4,), keys.dtype)


@pytest.mark.parametrize("make", [random.key, random.PRNGKey], ids=["typed", "raw"])
def test_both_styles_run_in_control_flow(make):
    key = make(0)
    raw = random.key_data(key)
    expected = random.key_data(random.split(key)[0]).tolist()

    def data(k):
        return random.key_data(k).tolist()

    _, drawn = lax.scan(lambda k, _: (random.split(k)[1], random.normal(k)), key, None, length=2)
    assert drawn[0] == random.normal(key)
    assert data(lax.cond(True, lambda k: random.split(k)[0], lambda k: k, key)) == expected
    one_split = lax.while_loop(
        lambda s: s[0] < 1, lambda s: (s[0] + 1, random.split(s[1])[0]), (0, key)
    )
    assert data(one_split[1]) == expected
    assert data(jit(lambda k: random.split(k)[0])(key)) == expected
    many = random.split(key, 3)
    each = [random.fold_in(k, 7) for k in many]
    mapped = vmap(random.fold_in, (0, None))(many, 7)
    assert data(mapped) == [data(k) for k in each]
    assert raw.dtype == np.uint32


def test_keys_are_made_of_traced_seeds():
    assert words(jit(random.key)(-1)) == [0, 0xFFFFFFFF]
    assert words(vmap(random.key)(jnp.arange(3))) == [[0, 0], [0, 1], [0, 2]]
    assert words(random.key(jnp.int8(-1))) == words(random.key(np.int8(-1))) == [0, 0xFFFFFFFF]
    assert words(random.key(True)) == [0, 1]


def test_words_become_keys_and_back(keys):
    raw = random.key_data(keys)
    assert words(random.wrap_key_data(raw)) == raw.tolist()
    assert words(random.wrap_key_data(np.asarray(raw))) == raw.tolist()
    rbg = random.key_dtype("rbg")
    assert random.wrap_key_data(jnp.zeros(4, jnp.uint32), dtype=rbg).dtype == rbg
    assert random.key(0, dtype=rbg).dtype == rbg
    assert random.key_impl(raw[0]) == "threefry2x32"
    assert words(random.clone(keys)) == words(keys)


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda k: random.key(1.5), TypeError, "1.5"),
        (lambda k: random.key(np.arange(2)), TypeError, "vmap"),
        (lambda k: random.key(k[0]), TypeError, "key<fry>"),
        (lambda k: random.key("a"), TypeError, "'a'"),
        (lambda k: random.key(2**70), OverflowError, "64 bits"),
        (lambda k: random.key(0, impl="nope"), ValueError, "nope"),
        (lambda k: random.key(0, dtype=np.int32), TypeError, "key_dtype"),
        (lambda k: random.key(0, impl="rbg", dtype=k.dtype), ValueError, "impl"),
        (lambda k: random.wrap_key_data(jnp.zeros(3, jnp.uint32)), TypeError, r"\(2,\)"),
        (lambda k: random.wrap_key_data(jnp.zeros(2)), TypeError, "uint32"),
        (lambda k: random.wrap_key_data([0, 0]), TypeError, "array"),
        (lambda k: random.wrap_key_data(k), TypeError, "key<fry>"),
        (lambda k: random.key_data(5), TypeError, "random.key"),
        (lambda k: random.split(k), ValueError, "vmap"),
        (lambda k: random.split(random.key_data(k)), ValueError, "vmap"),
        (lambda k: random.split(k[0], -1), ValueError, "-1"),
        (lambda k: random.split(k[0], 2.0), TypeError, "float"),
        (lambda k: random.split(0), TypeError, "random.key"),
        (lambda k: random.fold_in(k, 0), ValueError, "vmap"),
        (lambda k: random.fold_in(k[0], jnp.arange(2)), TypeError, "vmap"),
        (lambda k: random.fold_in(k[0], 2**32), OverflowError, "2\\*\\*32"),
        (lambda k: random.normal(k), ValueError, "vmap"),
        (lambda k: random.normal(random.key_data(k)), ValueError, "vmap"),
        (lambda k: random.normal(jnp.zeros(2)), TypeError, r"f32\[2\]"),
        (lambda k: random.normal([0, 0]), TypeError, "random.key"),
        (lambda k: random.normal(None), TypeError, "None"),
        (lambda k: jit(random.normal)(k), ValueError, "vmap"),
    ],
)
def test_errors_name_what_was_given(keys, use, error, text):
    with pytest.raises(error, match=text):
        use(keys)
