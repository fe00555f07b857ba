"""Quirks of JAX that the specification lists (its section 14): followed, or left out on purpose."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import config_module as config
from tans_core.errors import NonConcreteBooleanIndexError
from tans_lax import top_k
from tans_xla import jit


def test_1_a_new_axis_beside_a_boolean_is_that_of_numpy():
    assert jnp.arange(5)[None, True].shape == np.arange(5)[None, True].shape == (1, 1, 5)


@pytest.mark.parametrize("index", [np.int8(-1), np.array([-1, -128], np.int8)], ids=repr)
def test_2_narrow_negative_indices_count_from_the_end(index):
    x = np.arange(300)
    array = jnp.asarray(x)
    assert array[jnp.asarray(index)].tolist() == x[index].tolist()
    assert jit(lambda a, i: a[i])(array, index).tolist() == x[index].tolist()
    assert jnp.take(array, jnp.asarray(index)).tolist() == x[index].tolist()
    updated = x.copy()
    updated[index] = 0
    assert array.at[jnp.asarray(index)].set(0).tolist() == updated.tolist()


def test_3_python_integers_wrap_in_the_type_of_an_array():
    with config.enable_x64(True):
        assert (2**40 + jnp.int32(0)).item() == 0


def test_4_updates_at_a_traced_mask_are_refused():
    with pytest.raises(NonConcreteBooleanIndexError):
        jit(lambda x, m: x.at[m].set(1))(jnp.arange(3), jnp.array([True, False, True]))


def test_5_top_k_of_lax_is_a_list():
    assert isinstance(top_k(jnp.arange(3.0), 2), list)


def test_6_integers_become_floats_of_their_width():
    with config.enable_x64(True):
        assert jnp.sqrt(jnp.int32(4)).dtype == jnp.float32


def test_7_rounding_to_decimals_is_that_of_the_dtype():
    assert round(jnp.float32(2.567), 1).item() == np.float32(2.6000001)


@pytest.mark.parametrize(("x", "y"), [(-1.0, np.inf), (5.0, -np.inf)])
def test_8_remainders_of_an_infinite_divisor_are_those_of_numpy(x, y):
    assert jnp.remainder(x, y).item() == np.remainder(x, y)


@pytest.mark.parametrize(
    "given",
    [
        [np.ma.masked, np.ma.masked],
        [np.ma.masked_array([1, 2], mask=[True, False])],
        np.ma.masked_array([1, 2], mask=[True, False]),
    ],
    ids=["elements", "list", "array"],
)
def test_masks_are_not_dropped(given):
    for function in (jnp.asarray, jnp.array):
        with pytest.raises(ValueError, match="filled"):
            function(given)


def test_masked_arrays_that_hide_nothing_are_arrays():
    given = np.ma.masked_array([1, 2], mask=[False, False])
    assert jnp.asarray(given).tolist() == jnp.asarray([given])[0].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["float6_e2m3fn", "float6_e3m2fn"])
def test_arrays_of_six_bit_floats_are_refused(name):
    assert np.dtype(getattr(jnp, name)).name == name
    with pytest.raises(TypeError, match=name):
        jnp.zeros(2, getattr(jnp, name))


@pytest.mark.parametrize("name", ["int1", "uint1"])
def test_arrays_of_one_bit_integers(name):
    kind = getattr(jnp, name)
    assert jnp.ones(2, kind).astype(int).tolist() == [1, 1]
    assert jnp.zeros(2, kind).dtype.name == name


def test_arrays_do_not_change():
    i = jnp.arange(5)

    def write():
        i[0] = 1

    with pytest.raises(TypeError, match="at"):  # V223
        write()
    j = i
    j += 1
    assert (j.tolist(), i.tolist()) == ([1, 2, 3, 4, 5], [0, 1, 2, 3, 4])  # V224
    with pytest.raises(NotImplementedError):  # V227
        jnp.fill_diagonal(jnp.zeros((2, 2)), 1)
    with pytest.raises(NotImplementedError):  # V228
        jnp.add(i, i, out=i)
