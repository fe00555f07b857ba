"""Types, printed forms and errors of elementwise operations."""

import numpy as np
import pytest

import tans_lax as lax
from tans_xla import jit, make_jaxpr

F32 = np.ones((2, 3), np.float32)
I32 = np.ones((2, 3), np.int32)


def printed(fn, *args):
    return " ".join(str(make_jaxpr(fn)(*args)).split())


def test_python_scalars_are_weak_literals():
    assert printed(lambda x: lax.add(x, 2.0), F32) == (
        "{ lambda ; a:f32[2,3]. let b:f32[2,3] = add a 2.0:f32[] in (b,) }"
    )
    assert printed(lambda x: lax.mul(2, x), I32) == (
        "{ lambda ; a:i32[2,3]. let b:i32[2,3] = mul 2:i32[] a in (b,) }"
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_python_floats_take_the_dtype_of_the_other_operand(dtype):
    x = lax.convert_element_type(F32, dtype)
    assert lax.mul(x, 2.0).dtype == x.dtype
    assert lax.sub(1.0, x).dtype == x.dtype


def test_python_integers_take_integer_dtypes_and_must_fit():
    x = np.ones(3, np.uint8)
    assert lax.add(x, 3).dtype == np.uint8
    with pytest.raises(OverflowError):
        lax.add(x, 300)


def test_results_are_weak_only_if_all_operands_are():
    assert lax.add(1.0, 2.0).weak_type
    assert not lax.add(1.0, np.float32(2)).weak_type
    assert lax.sin(1.0).weak_type
    assert lax.abs(1j).weak_type
    assert lax.select(True, 1.0, 2.0).weak_type
    assert not lax.integer_pow(np.float32(2), 2).weak_type
    one = lax.add(1.0, 0.0)
    assert lax.clamp(one, one, one).weak_type
    strong = np.float32(1)
    for operands in ((strong, one, one), (one, strong, one), (one, one, strong)):
        assert not lax.clamp(*operands).weak_type


@pytest.mark.parametrize(
    ("x", "y"),
    [(F32, 2), (I32, 2.0), (F32, I32), (F32, 1j), (np.float32(1), np.float16(1)), (True, F32)],
)
def test_operand_dtypes_must_be_equal(x, y):
    with pytest.raises(TypeError, match=r"lax\.add.*given.*expected"):
        lax.add(x, y)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 3, 1)])
def test_operand_shapes_must_be_equal(shape):
    with pytest.raises(TypeError, match=r"operand shapes differ.*float32\[2,3\]"):
        lax.add(F32, np.ones(shape, np.float32))


def test_size_1_and_rank_0_operands_are_repeated():
    assert lax.add(F32, F32[:1]).shape == (2, 3)
    assert lax.add(np.float32(1), F32).shape == (2, 3)
    assert lax.eq(F32, 1.0).tolist() == [[True] * 3] * 2


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (lax.sin, (I32,)), (lax.exp, (True,)), (lax.neg, (True,)), (lax.abs, (np.uint8(1),)),
        (lax.floor, (1,)), (lax.real, (1.0,)), (lax.conj, (1,)), (lax.bitwise_and, (1.0, 2.0)),
        (lax.shift_left, (True, True)), (lax.population_count, (1.0,)), (lax.lt, (1j, 2j)),
        (lax.rem, (1j, 1j)), (lax.cbrt, (1j,)), (lax.pow, (2, 2)), (lax.erf, (1,)),
        (lax.complex, (np.float16(1), np.float16(1))), (lax.add, (True, True)),
        (lax.nextafter, (1, 2)), (lax.integer_pow, (2, -1)), (lax.clz, (1.0,)),
    ],
)  # fmt: skip
def test_dtypes_that_an_operation_does_not_take(fn, args):
    with pytest.raises(TypeError, match=r"given.*expected"):
        fn(*args)


def test_select_checks_its_operands():
    with pytest.raises(TypeError, match="bool or an integer"):
        lax.select(F32, F32, F32)
    with pytest.raises(TypeError, match="case shapes differ"):
        lax.select(True, F32, 2.0)
    with pytest.raises(TypeError, match="operand dtypes differ"):
        lax.select(True, F32, I32)
    with pytest.raises(TypeError, match="rank 0"):
        lax.select(np.array([True] * 3), F32, F32)
    with pytest.raises(TypeError, match="at most two"):
        lax.select_n(True, F32, F32, F32)
    with pytest.raises(ValueError, match="no case"):
        lax.select_n(True)
    assert lax.select_n(np.int32(0), F32).shape == (2, 3)


def test_clamp_checks_its_bounds():
    with pytest.raises(TypeError, match="given min of type float32"):
        lax.clamp(F32[0], F32, F32)
    with pytest.raises(TypeError, match="dtypes differ"):
        lax.clamp(0, F32, 1)


def test_reduce_precision_and_round_check_their_parameters():
    with pytest.raises(ValueError, match="exponent_bits=0"):
        lax.reduce_precision(F32, 0, 3)
    with pytest.raises(ValueError, match="RoundingMethod"):
        lax.round(F32, 7)
    with pytest.raises(ValueError, match="at least 0"):
        lax.Tolerance(rtol=-1.0)


def test_values_of_other_classes_are_refused():
    for bad in ([1.0, 2.0], "a", None):
        with pytest.raises(TypeError):
            lax.add(F32, bad)


@pytest.mark.parametrize(
    ("fn", "operations"),
    [
        (lax.logistic, 1),
        (lambda x: lax.max(x, 0.0), 2),
        (lambda x: lax.clamp(0.0, x, 1.0), 3),
        (lambda x: lax.integer_pow(x, 7), 4),
        (lambda x: lax.convert_element_type(x, bool), 2),
        (lax.stop_gradient, 0),
        (lambda x: lax.pow(x, 2.0), 2),
        (lax.asin, 6),
    ],
)
def test_number_of_compiler_operations(fn, operations):
    lines = jit(fn).lower(F32).as_text().splitlines()
    assert sum(" = " in line for line in lines) == operations


def test_stop_gradient_takes_trees_and_keeps_values():
    tree = {"a": F32, "b": (1.0, I32)}
    out = lax.stop_gradient(tree)
    assert out["b"][1].dtype == np.int32
    assert "stop_gradient" in printed(lax.stop_gradient, I32)


def test_optimization_barrier_keeps_the_tree():
    out = jit(lambda x: lax.optimization_barrier({"a": x, "b": (x, x)}))(F32)
    assert out["b"][0].shape == (2, 3)
    assert lax.optimization_barrier(()) == ()
    text = jit(lax.optimization_barrier).lower((F32, I32)).as_text()
    assert text.count("stablehlo.optimization_barrier") == 1


def test_public_names_exist():
    for name in lax.__all__:
        assert getattr(lax, name) is not None
    with pytest.raises(AttributeError, match="public names"):
        lax.no_such_name  # noqa: B018
