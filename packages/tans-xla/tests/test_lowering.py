"""Text tests: what programs look like in StableHLO, and how many operations they have."""

import textwrap

import numpy as np
import pytest

from tans_core import named_scope
from tans_xla import jit, named_call


def lowered(fun, *args, **options):
    return jit(fun, **options).lower(*args).as_text()


def text(program):
    return textwrap.dedent(program).strip()


X = np.ones(3, np.float32)


def test_a_small_program(toys):
    assert lowered(lambda x: toys.mul(toys.sin(x), 2.0), X).strip() == text(
        """
        module @jit__lambda_ {
          func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
            %0 = stablehlo.sine %arg0 : tensor<3xf32>
            %cst = stablehlo.constant dense<2.000000e+00> : tensor<3xf32>
            %1 = stablehlo.multiply %0, %cst : tensor<3xf32>
            return %1 : tensor<3xf32>
          }
        }
        """
    )


def test_nested_calls_are_functions_and_equal_ones_are_one(toys):
    layer = jit(lambda x: toys.sin(x))
    program = lowered(lambda x: layer(layer(layer(x))), X)
    assert program.count("func.func private") == 1
    assert program.count("call @") == 3


def test_inlined_calls_leave_no_function(toys):
    layer = jit(lambda x: toys.sin(x), inline=True)
    program = lowered(lambda x: layer(layer(x)), X)
    assert program.count("func.func") == 1
    assert program.count("stablehlo.sine") == 2


def test_dead_code_and_unused_arguments_are_dropped(toys):
    def f(x, y):
        toys.log(y)
        return toys.sin(x)

    assert "stablehlo.log" not in lowered(f, X, X)
    assert "%arg1" not in lowered(f, X, X)
    assert "%arg1" in lowered(f, X, X, keep_unused=True)


def test_dead_code_in_nested_calls(toys):
    inner = jit(lambda x, y: (toys.sin(x), toys.log(y)))
    program = lowered(lambda x, y: inner(x, y)[0], X, X)
    assert "stablehlo.log" not in program
    assert "%arg1" not in program


@pytest.mark.parametrize("value", [0.0, -0.0, float("nan"), float("inf")])
def test_literals_that_compare_oddly(toys, value):
    y = jit(lambda x: toys.mul(x, value))(1.0)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(np.float32(value)))
    np.testing.assert_array_equal(y, np.float32(value))


def test_complex_literals_that_differ_in_the_sign_of_a_zero(toys):
    plus, minus = (
        lowered(lambda x, sign=sign: toys.mul(x, complex(1.0, sign)), X.astype(np.complex64))
        for sign in (0.0, -0.0)
    )
    assert "(1.000000e+00,0.000000e+00)" in plus
    assert "(1.000000e+00,-0.000000e+00)" in minus


def test_templates_add_no_operations(toys):
    def chain(x):
        for _ in range(50):
            x = toys.add(toys.sin(x), 1.0)
        return x

    program = lowered(chain, X)
    assert program.count("stablehlo.") - program.count("stablehlo.constant") == 100
    assert program.count("stablehlo.constant") == 50


def test_donated_arguments_alias_results_of_their_type(toys):
    program = lowered(lambda x, y: (toys.sin(y), y[0] if False else x), X, X[:2], donate_argnums=0)
    assert "tensor<3xf32> {tf.aliasing_output = 1 : i32}" in program
    with pytest.warns(UserWarning, match=r"type float32\[3\], whose buffers no result can use"):
        program = lowered(lambda x: toys.log(1.0), X, donate_argnums=0, keep_unused=True)
    assert "jax.buffer_donor = true" in program


def test_names_of_operations_reach_the_optimised_program(toys):
    inner = jit(lambda x: toys.log(x))
    inner_named = named_call(lambda x: toys.sin(x), name="wave")

    def step(x):
        with named_scope("outer"), named_scope("inner"):
            x = inner_named(x)
        return inner(x)

    program = jit(step).lower(X).compile().as_text()
    assert 'op_name="jit(step)/outer/inner/wave/sin"' in program
    assert 'op_name="jit(step)/jit(<lambda>)/log"' in program


def test_locations_are_lines_of_the_user(toys):
    program = jit(lambda x: toys.sin(x)).lower(X).as_text(debug_info=True)
    assert "test_lowering.py" in program
    assert "tans_xla/" not in program
    assert "tans_core/" not in program


def test_a_missing_rule_is_named(toys):
    from tans_core import MissingRuleError, Primitive, rules

    odd_p = Primitive("odd")
    rules.types[odd_p] = lambda x: x
    with pytest.raises(MissingRuleError, match="'odd' has no lowering rule"):
        jit(lambda x: odd_p.bind(x))(1.0)


def test_several_results(toys):
    assert [float(x) for x in toys.twice(2.0)] == [2.0, 2.0]
    a, b = jit(lambda x: toys.twice(x))(X)
    np.testing.assert_array_equal(a, b)
