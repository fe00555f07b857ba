"""Random bits: the Threefry reference vectors, the compiler's generators, batching."""

import numpy as np
import pytest

import tans_lax as lax
from tans_core import rules
from tans_core.context import AxisData
from tans_lax.random_bits import rng_bit_generator_p, rng_uniform_p, threefry2x32_p
from tans_xla import jit

ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24]


def threefry(key, count):
    """Evaluate the cipher from its definition, in Python integers."""
    mask = 0xFFFFFFFF
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = (count[0] + keys[0]) & mask, (count[1] + keys[1]) & mask
    for step in range(20):
        r = ROTATIONS[step % 8]
        x = (x + y) & mask
        y = ((y << r | y >> (32 - r)) & mask) ^ x
        if step % 4 == 3:
            n = step // 4 + 1
            x = (x + keys[n % 3]) & mask
            y = (y + keys[(n + 1) % 3] + n) & mask
    return x, y


def words(*values):
    return [np.uint32(v) for v in values]


# Salmon et al., Random123 1.09, known-answer tests of threefry2x32 with 20 rounds.
@pytest.mark.parametrize(
    ("count", "key", "block"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers(count, key, block):
    assert tuple(int(w) for w in lax.threefry2x32(*words(*key, *count))) == block
    assert threefry(key, count) == block


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3, 4)])
def test_counters_of_any_shape(shape):
    rng = np.random.default_rng(0)
    high, low = (rng.integers(0, 2**32, shape, np.uint32) for _ in range(2))
    outs = lax.threefry2x32(*words(1, 42), high, low)
    expected = [
        threefry((1, 42), (int(a), int(b))) for a, b in zip(high.flat, low.flat, strict=True)
    ]
    for out, column in zip(outs, np.array(expected, np.uint32).reshape(-1, 2).T, strict=True):
        assert out.shape == shape
        np.testing.assert_array_equal(np.asarray(out).ravel(), column)


def test_keys_may_have_the_counters_shape():
    keys = np.arange(6, dtype=np.uint32).reshape(2, 3)
    out, _ = lax.threefry2x32(*keys, *(keys + 10))
    expected = [threefry((i, i + 3), (i + 10, i + 13))[0] for i in range(3)]
    assert out.tolist() == expected


def test_bits_of_key_zero_and_42():
    def bits(key, n):
        counters = np.arange(n, dtype=np.uint32)
        a, b = lax.threefry2x32(*words(*key), np.zeros(n, np.uint32), counters)
        return lax.bitwise_xor(a, b)

    assert bits((0, 0), 4).tolist() == [4070199207, 4202968722, 1427181096, 2012915765]
    assert bits((0, 42), 3).tolist() == [2098992034, 2919706841, 2646866425]


@pytest.mark.parametrize("dims", [(0, 0, None, None), (None, None, 0, 0), (0, 0, 1, 1)])
def test_batching_of_threefry_equals_a_loop(dims):
    rng = np.random.default_rng(0)
    full = [rng.integers(0, 2**32, (3,) if i < 2 else (3, 4), np.uint32) for i in range(4)]
    args = [x[0] if d is None else np.moveaxis(x, 0, d) for x, d in zip(full, dims, strict=True)]
    outs, out_dims = rules.batching[threefry2x32_p](AxisData(3), tuple(args), dims)
    each = [
        lax.threefry2x32(*(x[0 if d is None else i] for x, d in zip(full, dims, strict=True)))
        for i in range(3)
    ]
    for out, dim, expected in zip(outs, out_dims, zip(*each, strict=True), strict=True):
        np.testing.assert_array_equal(np.moveaxis(np.asarray(out), dim, 0), np.stack(expected))


def test_the_cipher_compiles_to_straight_line_code():
    u = np.zeros(8, np.uint32)
    text = jit(lax.threefry2x32).lower(u[0], u[0], u, u).as_text()
    assert "stablehlo.while" not in text


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_generator_gives_bits_and_the_next_state(dtype):
    key = np.array([1, 2, 3, 4], np.uint32)
    state, bits = lax.rng_bit_generator(key, (1000,), dtype)
    again, same = lax.rng_bit_generator(key, (1000,), dtype)
    assert (state.shape, bits.shape, bits.dtype) == ((4,), (1000,), np.dtype(dtype))
    assert state.tolist() == again.tolist() != key.tolist()
    np.testing.assert_array_equal(bits, same)
    mean = np.asarray(bits).astype(np.float64).mean() / np.iinfo(dtype).max
    assert abs(mean - 0.5) < 0.05


@pytest.mark.parametrize("algorithm", list(lax.RandomAlgorithm))
def test_generator_algorithms(algorithm):
    key = np.zeros(4, np.uint32)
    _, bits = lax.rng_bit_generator(key, (2, 3), algorithm=algorithm)
    assert bits.shape == (2, 3)
    assert str(algorithm) == algorithm.name


def test_batching_of_the_generator_draws_once_for_all():
    keys = np.arange(12, dtype=np.uint32).reshape(3, 4)
    params = {"dtype": np.dtype("uint32"), "algorithm": lax.RandomAlgorithm.RNG_DEFAULT}
    (states, bits), dims = rules.batching[rng_bit_generator_p](
        AxisData(3), (keys,), (0,), shape=(5,), out_sharding=None, **params
    )
    assert dims == [0, 0]
    state, expected = lax.rng_bit_generator(keys[0], (3, 5))
    np.testing.assert_array_equal(bits, expected)
    np.testing.assert_array_equal(states, [state, *keys[1:]])


def test_uniform_numbers_lie_between_the_bounds():
    x = np.asarray(lax.rng_uniform(np.float32(2), np.float32(3), (2, 500)))
    assert x.shape == (2, 500)
    assert ((x >= 2) & (x < 3)).all()
    assert abs(x.mean() - 2.5) < 0.05
    i = np.asarray(lax.rng_uniform(0, 10, (100,)))
    assert ((i >= 0) & (i < 10)).all()


def test_batching_of_uniform_numbers():
    low, high = np.array([0, 10], np.float32), np.array([4, 11], np.float32)
    out, dim = rules.batching[rng_uniform_p](AxisData(2), (low, high), (0, 0), shape=(50,))
    x = np.moveaxis(np.asarray(out), dim, 0)
    assert ((x >= low[:, None]) & (x < high[:, None])).all()
    assert (x.max(1) > (low + high) / 2).all()
    with pytest.raises(NotImplementedError, match="int32"):
        rules.batching[rng_uniform_p](
            AxisData(2), (np.arange(2, dtype=np.int32), np.int32(9)), (0, None), shape=(3,)
        )


def test_uniform_numbers_have_no_derivative():
    import tans_autodiff as autodiff

    with pytest.raises(NotImplementedError, match="bounds"):
        autodiff.jvp(lambda a: lax.rng_uniform(a, 1.0, (3,)), (0.0,), (1.0,))


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: lax.threefry2x32(*np.zeros(4, np.int32)), TypeError, ["int32", "uint32"]),
        (
            lambda: lax.threefry2x32(*words(0, 0), np.zeros(2, np.uint32), np.zeros(3, np.uint32)),
            TypeError,
            ["uint32[2]", "uint32[3]"],
        ),
        (lambda: lax.rng_bit_generator(np.zeros(3, np.uint32), (4,)), TypeError, ["uint32[3]"]),
        (lambda: lax.rng_bit_generator(np.zeros(4, np.int32), (4,)), TypeError, ["int32[4]"]),
        (
            lambda: lax.rng_bit_generator(np.zeros(4, np.uint32), (4,), np.float32),
            TypeError,
            ["float32"],
        ),
        (lambda: lax.rng_uniform(0.0, np.ones(2), (3,)), ValueError, ["(2,)"]),
        (lambda: lax.rng_uniform(0, 1.0, (3,)), ValueError, ["int32", "float32"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)
