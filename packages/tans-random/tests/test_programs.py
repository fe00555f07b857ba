"""Programs of samplers: their size, and what is not in them."""

import doctest
import inspect

import pytest

import tans_numpy as jnp
import tans_random as random
from tans_core.config import threefry_partitionable
from tans_xla import jit


def operations(fn, *args):
    return jit(fn).lower(*args).as_text().count(" = stablehlo.")


@pytest.mark.parametrize(
    ("fn", "around"),
    [
        (lambda k: random.split(k), 12),
        (lambda k: random.bits(k, (100,)), 12),
        (lambda k: random.uniform(k, (100,)), 24),
        (lambda k: random.normal(k, (100,)), 30),
    ],
    ids=["split", "bits", "uniform", "normal"],
)
def test_little_is_added_to_one_block_of_threefry(fn, around):
    key = random.key(0)
    block = operations(lambda k: random.fold_in(k, 0), key)
    assert operations(fn, key) <= block + around


def test_keys_leave_no_trace_in_programs():
    typed = jit(lambda k: random.normal(k, (3,))).lower(random.key(0)).as_text()
    raw = jit(lambda k: random.normal(k, (3,))).lower(random.PRNGKey(0)).as_text()
    assert typed == raw


def test_flags_are_part_of_what_a_program_is_cached_by():
    draw = jit(lambda k: random.bits(k, (3,)))
    new = draw(random.key(0)).tolist()
    with threefry_partitionable(False):
        old = draw(random.key(0)).tolist()
    assert old == [4146024105, 1351547692, 2718843009]
    assert draw(random.key(0)).tolist() == new != old


FUNCTIONS = [n for n in random.__all__ if inspect.isfunction(getattr(random, n))]


def test_all_public_names_but_a_type_and_a_primitive_are_functions():
    assert sorted({*random.__all__} - {*FUNCTIONS}) == ["Key", "random_gamma_p"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_in_docstrings(name):
    value = getattr(random, name)
    names = {"random": random, "jnp": jnp}
    tests = doctest.DocTestFinder(recurse=False).find(value, name, globs=names)
    assert tests
    assert tests[0].examples
    assert doctest.DocTestRunner().run(tests[0]).failed == 0
