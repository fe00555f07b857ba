"""The generators: published vectors of the block functions, and the numbers of JAX."""

import numpy as np
import pytest

import tans_numpy as jnp
import tans_random as random
from tans_batching import vmap
from tans_core import config_module as config
from tans_core.config import enable_x64
from tans_random import philox, threefry4x32

# Answers of the Random123 distribution for counters and keys of zeros.
ZEROS = [
    (philox._block_2x32, 1, 2, "ff1dae59 6cd10df2"),
    (philox._block_4x32, 2, 4, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (threefry4x32._block, 4, 4, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
]


@pytest.mark.parametrize(("block", "key_words", "counter_words", "answer"), ZEROS)
def test_block_functions_give_the_published_answers(block, key_words, counter_words, answer):
    zero = jnp.zeros((), jnp.uint32)
    words = block([zero] * key_words, [zero] * counter_words)
    assert [f"{int(w):08x}" for w in words] == answer.split()


# ruff: noqa: RUF005  (long lists of numbers are added up)

# What JAX gives for keys with the words 1, 2, ...: split in (2, 3), fold_in of 5, bits of (5,).
FROM_JAX = {
    "philox2x32": (
        [2473546483, 2127719656, 2373913950, 2672842061, 3780472347, 2080356861],
        [2080356861],
        [3469030295, 4162165488, 1483689709, 3688039046, 3041768662],
        [10623801251192267108, 9138486339837621784],
    ),
    "philox4x32": (
        [93904442, 2563932206, 2678699385, 3232560645, 3323132697, 1874869696]
        + [2190126727, 2026493332, 224912255, 1772328227, 4105731664, 978584569],
        [4105731664, 978584569],
        [1358092377, 1316901982, 107820245, 3303943754, 1959062654],
        [403316509903061038, 4673702139072237691],
    ),
    "threefry4x32": (
        [2253690689, 2896567071, 2612173798, 1508017368, 1273695912, 394132291, 2562522599]
        + [3151574376, 2725575922, 207671558, 324527481, 997261281, 3897815348, 3651925194]
        + [3355880367, 3835919257, 3159562765, 1004362863, 2000670994, 2478248000, 1265834845]
        + [1800889339, 3091519214, 3971556821],
        [1265834845, 1800889339, 3091519214, 3971556821],
        [3902968672, 1870787322, 3056255188, 3122090547, 3233066115],
        [2154423387257348039, 4605154839103093015],
    ),
    "rbg": (None, None, None, None),
    "unsafe_rbg": (None, None, None, None),
}
COUNTED = [name for name in FROM_JAX if "rbg" not in name]


def _key(name):
    n = random.key_data(random.key(0, impl=name)).size
    return random.wrap_key_data(jnp.arange(1, n + 1, dtype=jnp.uint32), impl=name)


@pytest.mark.parametrize("name", COUNTED)
def test_keys_and_bits_are_those_of_jax(name):
    key, (split, folded, bits, wide) = _key(name), FROM_JAX[name]
    assert random.key_data(random.split(key, (2, 3))).ravel().tolist() == split
    assert random.key_data(random.fold_in(key, 5)).tolist() == folded
    assert random.bits(key, (5,)).tolist() == bits
    assert random.bits(key, (5,), "uint8").tolist() == [b & 255 for b in bits]
    with enable_x64(True):
        assert random.bits(key, (2,), "uint64").tolist() == wide


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("philox2x32", [2646485464]),
        ("philox4x32", [1074531309, 3301950310]),
        ("threefry4x32", [3154218311, 1272626525, 2751269967, 476457565]),
        ("rbg", [7, 5, 7, 5]),
        ("threefry2x32", [7, 5]),
    ],
)
def test_seeds_have_64_bits_with_x64(name, words):
    with enable_x64(True):
        assert random.key_data(random.key((7 << 32) + 5, impl=name)).tolist() == words


@pytest.mark.parametrize(
    ("name", "split", "folded", "bits"),
    [
        (
            "rbg",
            [[3716834203, 3481239269] * 2, [1946498123, 2217676430] * 2],
            [1024511538, 2603795180] * 2,
            [3146934739, 3391003311, 1891301882],
        ),
        (
            "unsafe_rbg",
            [
                [3146934739, 3391003311, 1891301882, 1478358120],
                [1089363569, 1607244725, 1190331783, 2650401737],
            ],
            [4100637944, 821643296, 2756597315, 4227043038],
            [3146934739, 3391003311, 1891301882],
        ),
    ],
)
def test_keys_of_the_compilers_generator_are_those_of_jax_on_cpu(name, split, folded, bits):
    key = random.key(3, impl=name)
    assert random.key_data(random.split(key)).tolist() == split
    assert random.key_data(random.fold_in(key, 2)).tolist() == folded
    assert random.bits(key, (3,)).tolist() == bits


@pytest.mark.parametrize("name", list(FROM_JAX))
def test_every_generator_serves_samplers_and_vmap(name):
    keys = random.split(random.key(1, impl=name), 3)
    assert keys.dtype == random.key_dtype(name)
    assert random.key_impl(keys) == name
    assert vmap(lambda k: random.normal(k, (2,)))(keys).shape == (3, 2)
    assert random.gamma(keys[0], 2.0, (2,)).shape == (2,)


def test_the_default_generator_is_a_flag():
    with config.default_prng_impl("rbg"):
        assert random.key(0).dtype == random.key_dtype("rbg")
        assert random.PRNGKey(0).shape == (4,)
        assert random.split(random.PRNGKey(0)).shape == (2, 4)


def test_the_seed_offset_is_added_to_seeds():
    with config.random_seed_offset(3):
        assert random.key_data(random.key(1)).tolist() == [0, 4]
    assert random.key_data(random.key(1)).tolist() == [0, 1]


def test_exact_poisson_numbers_need_threefry():
    with pytest.raises(NotImplementedError, match="rbg"):
        random.poisson(random.key(0, impl="rbg"), 3.0)
    key = random.key(0, impl="rbg")
    assert random.poisson(key, 3.0, method="approximate").dtype == np.int32


# What JAX gives for the key of 3: gamma of 0.3, 2 and 30, and twice of 2 for each of two keys.
GAMMA_FROM_JAX = {
    "rbg": ([0.49102879, 1.857999682, 34.72651291], [4.3616843, 1.6473441, 1.0139328, 2.2760863]),
    "unsafe_rbg": (
        [0.000492052, 5.8400364, 31.526442], [3.0838695, 4.3805203, 3.0792952, 0.54093391],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(GAMMA_FROM_JAX))
def test_each_gamma_variate_has_the_numbers_of_its_own_key(name):
    key = random.key(3, impl=name)
    of_one, of_two = GAMMA_FROM_JAX[name]
    np.testing.assert_allclose(random.gamma(key, jnp.array([0.3, 2.0, 30.0])), of_one, rtol=2e-6)
    found = vmap(lambda k: random.gamma(k, 2.0, (2,)))(random.split(key, 2))
    np.testing.assert_allclose(found.ravel(), of_two, rtol=2e-6)


def test_implementations_are_names():
    with pytest.raises(TypeError, match=r"implementation 3 of type int, expected a name"):
        random.key(0, impl=3)
