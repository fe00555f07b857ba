"""Options of foreign calls that don't fit, and how calls are recorded; nothing is executed."""

from collections import namedtuple

import numpy as np
import pytest

import tans as jax
import tans.numpy as jnp
from tans import ffi

X = jnp.arange(6.0).reshape(2, 3)
ROW = jax.ShapeDtypeStruct((3,), np.float32)
LIKE_X = jax.ShapeDtypeStruct((2, 3), np.float32)


def recorded(*args, result=LIKE_X, name="target", attributes=None, **options):
    call = ffi.ffi_call(name, result, **options)
    return jax.make_jaxpr(lambda *xs: call(*xs, **(attributes or {})))(*args)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"name": 3}, TypeError, "target_name=3 of type int"),
        ({"vmap_method": 3}, ValueError, "vmap_method=3"),
        ({"custom_call_api_version": 5}, ValueError, "custom_call_api_version=5"),
        ({"custom_call_api_version": "4"}, ValueError, "custom_call_api_version='4'"),
        ({"result": jax.ShapeDtypeStruct((-2, 3), np.float32)}, ValueError, r"shape \(-2, 3\)"),
        ({"input_layouts": 3}, TypeError, "input layouts 3 of type int"),
        ({"input_layouts": [1]}, ValueError, "the layout 1 of input 0"),
        ({"input_layouts": [(1.0, 0.0)]}, ValueError, r"the layout \(1\.0, 0\.0\) of input 0"),
        ({"input_layouts": ["ab"]}, ValueError, "the layout 'ab' of input 0"),
        ({"output_layouts": (0, 0)}, ValueError, r"the layout \(0, 0\) of output 0"),
        ({"input_output_aliases": [0]}, TypeError, r"input_output_aliases=\[0\] of type list"),
        ({"input_output_aliases": {"a": 0}}, ValueError, "the input index 'a'"),
        ({"input_output_aliases": {-1: 0}}, ValueError, "the input index -1"),
        ({"attributes": {"n": 2**63}}, TypeError, "n=9223372036854775808 of type int"),
        ({"attributes": {"d": {1: 2}}}, TypeError, "the attribute 1=2 .* Name it"),
    ],
)
def test_options(options, error, text):
    with pytest.raises(error, match=text):
        recorded(X, **options)


def test_one_result_takes_over_one_operand():
    with pytest.raises(ValueError, match="one result for two operands"):
        recorded(X, X, input_output_aliases={0: 0, 1: 0})


@pytest.mark.parametrize("layout", [(1, 0), [1, 0], np.array([1, 0])])
def test_orders_of_dimensions(layout):
    (eqn,) = recorded(X, input_layouts=[layout], output_layouts=layout).jaxpr.eqns
    assert eqn.params["input_layouts"] == eqn.params["output_layouts"] == ((0, 1),)


def test_results_are_named_as_they_were_announced():
    Pair = namedtuple("Pair", "first second")
    found = jax.eval_shape(ffi.ffi_call("target", Pair(LIKE_X, ROW)), X)
    assert found == Pair(LIKE_X, ROW)


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all", "legacy_vectorized"])
def test_an_operand_that_a_result_takes_over_is_repeated_by_vmap(method):
    call = ffi.ffi_call("target", ROW, vmap_method=method, input_output_aliases={1: 0})
    closed = jax.make_jaxpr(jax.vmap(call, in_axes=(0, None)))(X, jnp.ones(3))
    (eqn,) = (e for e in closed.jaxpr.eqns if e.primitive.name == "ffi_call")
    assert eqn.invars[1].aval.shape == eqn.outvars[0].aval.shape == (2, 3)
    jax.jit(jax.vmap(call, in_axes=(0, None))).lower(X, jnp.ones(3))


@pytest.mark.parametrize(
    ("method", "loops", "calls"),
    [("sequential", 1, 1), ("sequential_unrolled", 0, 2), ("broadcast_all", 0, 1)],
)
def test_rows_are_called_for_in_a_loop_one_by_one_or_at_once(method, loops, calls):
    call = ffi.ffi_call("target", ROW, vmap_method=method)
    text = jax.jit(jax.vmap(call)).lower(X).as_text()
    assert (text.count("stablehlo.while"), text.count("custom_call @target")) == (loops, calls)


def test_keys_are_given_as_their_words():
    call = ffi.ffi_call("target", ROW, vmap_method="broadcast_all")
    assert "tensor<2xui32>" in jax.jit(call).lower(jax.random.key(0)).as_text()
    keys = jax.random.split(jax.random.key(0), 4)
    assert "tensor<4x2xui32>" in jax.jit(jax.vmap(call)).lower(keys).as_text()


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (lambda: ffi.register_ffi_target(3, None), "register_ffi_target: given name=3"),
        (lambda: ffi.register_ffi_target("a", None, platform=3), "given platform=3"),
        (lambda: ffi.register_ffi_target_as_batch_partitionable(3), "given name=3 of type int"),
        (lambda: ffi.register_ffi_type("t", None), "given type_registration=None"),
        (lambda: ffi.register_ffi_type("t", {"a": 1}), 'a capsule under "type_id"'),
    ],
)
def test_registration(register, text):
    with pytest.raises(TypeError, match=text):
        register()
