"""The check of key reuse, which the flag debug_key_reuse turns on."""

import pytest

import tans_lax as lax
import tans_numpy as jnp
import tans_random as random
from tans_autodiff import checkpoint, grad
from tans_batching import vmap
from tans_core import config_module as config
from tans_core.errors import KeyReuseError
from tans_xla import jit


@pytest.fixture(autouse=True)
def checked():
    with config.debug_key_reuse(True):
        yield


def twice(key):
    return random.uniform(key) + random.normal(key)


def first_steps(key, _):
    return key, random.uniform(key)


def split_steps(key, _):
    key, sub = random.split(key)
    return key, random.uniform(sub)


def uniforms(keys):
    return vmap(random.uniform)(keys)


# Functions of one key that use it, or a part of it, more than once.
REUSED = {
    "eager": twice,
    "split": lambda k: (random.split(k), random.uniform(k)),
    "element": lambda k: [random.uniform(keys[1]) for keys in [random.split(k)] * 2],
    "unpacked": lambda k: [random.uniform(v) for keys in [random.split(k)] for v in [*keys, *keys]],
    "element of used keys": lambda k: [
        (uniforms(keys), random.uniform(keys[0])) for keys in [random.split(k)]
    ],
    "copy": lambda k: (random.uniform(k), random.uniform(jnp.array(k))),
    "reshaped": lambda k: (random.uniform(k), random.uniform(k.reshape(1)[0])),
    "stacked": lambda k: uniforms(jnp.stack([k, k])),
    "jit": jit(twice),
    "captured by jit": lambda k: jit(lambda: twice(k))(),
    "used by two calls": lambda k: [f(k) for f in [jit(random.uniform)] * 2],
    "result of jit": lambda k: random.uniform(jit(first_steps)(k, 0)[0]),
    "one key as two arguments": lambda k: jit(lambda *ks: [random.uniform(v) for v in ks])(k, k),
    "captured by vmap": lambda k: vmap(lambda i: i + twice(k))(jnp.arange(2)),
    "mapped": lambda k: jit(vmap(twice))(random.split(k)),
    "grad": lambda k: grad(lambda x: x * twice(k))(1.0),
    "checkpoint": checkpoint(twice),
    "carry of scan": lambda k: lax.scan(first_steps, k, None, length=2),
    "captured by scan": lambda k: lax.scan(
        lambda c, _: (c, random.uniform(k)), 0, None, length=2
    ),
    "scan in jit": jit(lambda k: lax.scan(first_steps, k, None, length=2)),
    "scanned twice": lambda k: [
        lax.scan(lambda c, k: (c, random.uniform(k)), 0, keys) for keys in [random.split(k)] * 2
    ],
    "while": lambda k: lax.while_loop(
        lambda c: c[1] < 2, lambda c: (c[0], c[1] + random.uniform(c[0])), (k, 0.0)
    ),
    "one branch": lambda k: lax.cond(True, random.uniform, twice, k),
    "after a branch": lambda k: (
        lax.cond(True, random.uniform, lambda k: 0.0, k), random.uniform(k)
    ),
}  # fmt: skip

ALLOWED = {
    "cloned": lambda k: (random.uniform(k), random.uniform(random.clone(k))),
    "cloned in jit": jit(lambda k: (random.uniform(random.clone(k)), random.uniform(k))),
    "folded": lambda k: [random.uniform(random.fold_in(k, i)) for i in range(3)],
    "elements": lambda k: [random.uniform(v) for v in random.split(k)],
    "elements in jit": lambda k: jit(lambda k: (random.uniform(k[0]), random.uniform(k[1])))(
        random.split(k)
    ),
    "compared": lambda k: (random.uniform(k), k == k, random.key_data(k)),
    "used and returned": lambda k: jit(first_steps)(k, 0),
    "scan that splits": lambda k: lax.scan(split_steps, k, None, length=3),
    "scan of one step": lambda k: lax.scan(first_steps, k, None, length=1),
    "scan over keys": lambda k: lax.scan(
        lambda c, k: (c, random.uniform(k)), 0, random.split(k, 4)
    ),
    "fold in the step": lambda k: lax.fori_loop(
        0, 3, lambda i, c: c + random.uniform(random.fold_in(k, i)), 0.0
    ),
    "either branch": lambda k: lax.cond(True, random.uniform, random.normal, k),
    "map": lambda k: uniforms(random.split(k)),
}  # fmt: skip


@pytest.mark.parametrize("case", REUSED)
def test_reuse_is_found(case):
    with pytest.raises(KeyReuseError, match=r"key.*debug_key_reuse"):
        REUSED[case](random.key(0))


@pytest.mark.parametrize("case", ALLOWED)
def test_no_reuse_is_let_through(case):
    ALLOWED[case](random.key(0))


def test_other_generators_are_checked_and_raw_keys_are_not():
    twice(random.PRNGKey(0))
    with pytest.raises(KeyReuseError, match="normal"):
        twice(random.key(0, impl="rbg"))


def test_v264():
    key = random.key(0)
    random.uniform(key)
    with pytest.raises(KeyReuseError, match=r"normal: given a key that uniform used before"):
        random.normal(key)


def test_the_message_names_the_line_in_a_program():
    with pytest.raises(KeyReuseError, match=r"normal: .* at .*test_key_reuse.* uniform used"):
        jit(twice)(random.key(0))


def test_a_refused_program_uses_no_key():
    key = random.key(0)
    with pytest.raises(KeyReuseError):
        jit(lambda k: (random.uniform(k), random.uniform(k)))(key)
    random.uniform(key)


def test_off_by_default_and_numbers_stay():
    key = random.key(0)
    checked = random.uniform(key)
    with config.debug_key_reuse(False):
        assert random.uniform(key) == random.uniform(key) == checked
