"""What functions leave in a program: the equations of common ones, and how many there may be."""

from pathlib import Path

import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import typeof
from tans_xla import make_jaxpr

A = np.ones((6, 8), np.float32)
NAMES = {
    "jnp": jnp, "np": np, "a": A, "v": np.ones(8, np.float32), "iv": np.zeros(5, np.int32),
    "mask": A > 0, "t": np.ones((2, 3, 4), np.float32), "z": np.ones(3, np.complex64),
    "i": np.arange(6),
}  # fmt: skip
TRACED = ("a", "v", "iv", "mask", "t", "z")
# Bound on the number of equations, calls inlined, and the expression.
COUNTS = [
    line.split(maxsplit=1)
    for line in (Path(__file__).parent / "equation_counts.txt").read_text().splitlines()
]


def program(expression):
    code = compile(expression, "<expression>", "eval")

    def function(*args):
        return eval(code, {**NAMES, **dict(zip(TRACED, args, strict=True))})

    return make_jaxpr(function)(*(NAMES[name] for name in TRACED))


def text(function, *args):
    return str(make_jaxpr(function)(*args))


@pytest.mark.parametrize(("bound", "call"), COUNTS, ids=[call for _, call in COUNTS])
def test_functions_leave_few_equations_and_no_calls(bound, call):
    expression = f"jnp.{call}".replace("take_along_axis(a,argsort", "take_along_axis(a,jnp.argsort")
    eqns = program(expression).eqns
    assert len(eqns) <= int(bound)
    assert not any(eqn.primitive.name in ("jit", "pjit") for eqn in eqns)


def test_mean_is_a_sum_and_a_division():
    assert text(jnp.mean, A) == (
        "{ lambda ; a:f32[6,8]. let\n"
        "    b:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] a\n"
        "    c:f32[] = div b 48.0:f32[]\n"
        "  in (c,) }"
    )


def test_variance_is_taken_in_one_pass_over_deviations():
    names = [eqn.primitive.name for eqn in make_jaxpr(lambda x: jnp.var(x, axis=0))(A).eqns]
    assert names == ["reduce_sum", "div", "broadcast_in_dim", "sub", "square", "reduce_sum", "div"]


def test_where_with_python_scalars_keeps_them_as_literals():
    names = [eqn.primitive.name for eqn in make_jaxpr(lambda x: jnp.where(x > 0, x, 0.0))(A).eqns]
    assert names == ["gt", "broadcast_in_dim", "select_n"]


def test_python_scalars_are_literals_of_the_arrays_dtype():
    x = np.ones(3, np.float16)
    assert text(lambda x: 2 * x + 1, x) == (
        "{ lambda ; a:f16[3]. let\n"
        "    b:f16[3] = mul 2.0:f16[] a\n"
        "    c:f16[3] = add b 1.0:f16[]\n"
        "  in (c,) }"
    )


def test_einsum_of_matrices_is_one_product():
    names = [e.primitive.name for e in make_jaxpr(lambda x: jnp.einsum("ij,kj->ik", x, x))(A).eqns]
    assert names == ["dot_general"]


def test_softmax_in_numpy_terms():
    def softmax(x):
        shifted = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        return shifted / jnp.sum(shifted, axis=-1, keepdims=True)

    names = [eqn.primitive.name for eqn in make_jaxpr(softmax)(A).eqns]
    assert names == [
        "reduce_max", "broadcast_in_dim", "sub", "exp", "reduce_sum", "broadcast_in_dim", "div",
    ]  # fmt: skip


def test_static_quantiles_are_slices_at_static_places():
    static = {e.primitive.name for e in make_jaxpr(lambda x: jnp.quantile(x, 0.3))(A).eqns}
    traced = {e.primitive.name for e in make_jaxpr(jnp.quantile)(A, np.float32(0.3)).eqns}
    assert "dynamic_slice" not in static
    assert "dynamic_slice" in traced


def test_eager_and_traced_results_have_one_type():
    for function in (jnp.mean, jnp.sum, jnp.var, jnp.max, jnp.median, jnp.cumsum, jnp.argmax):
        (traced,) = make_jaxpr(function)(1.5 if function is not jnp.median else A).out_avals
        eager = function(1.5 if function is not jnp.median else A)
        assert typeof(eager).str_short() == traced.str_short()
        assert typeof(eager).weak_type == traced.weak_type
