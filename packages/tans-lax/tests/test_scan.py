"""scan: values, types, programs, errors."""

import gc
import weakref

import numpy as np
import pytest

from tans_core import Array, config, tree
from tans_core.errors import ConcretizationTypeError
from tans_lax.control_flow.scan import scan, scan_p
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.elementwise.trigonometric import sin
from tans_xla import jit, make_jaxpr


def running_sum(c, x):
    c = add(c, x)
    return c, c


@pytest.mark.parametrize("n", [0, 1, 2, 5, 7])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, True])
def test_scan_equals_a_loop(n: int, reverse: bool, unroll: int):
    xs = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
    carry, ys = jit(lambda c, xs: scan(running_sum, c, xs, reverse=reverse, unroll=unroll))(
        np.zeros(3, np.float32), xs
    )
    rows = xs[::-1] if reverse else xs
    want = np.cumsum(rows, axis=0)
    np.testing.assert_array_equal(carry, rows.sum(0))
    np.testing.assert_array_equal(ys, want[::-1] if reverse else want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int8", "bool"])
def test_scan_keeps_dtypes(dtype: str):
    xs = np.ones((4, 2, 1), np.float32).astype(
        np.dtype(dtype) if dtype != "bfloat16" else "bfloat16"
    )
    carry, ys = scan(lambda c, x: (x, c), xs[0], xs)
    assert carry.dtype == ys.dtype == xs.dtype
    assert ys.shape == (4, 2, 1)


def test_scan_takes_trees_and_none():
    def body(c, x):
        return {"n": add(c["n"], 1), "s": add(c["s"], x[0])}, (x[1], None)

    xs = (np.arange(3.0, dtype=np.float32), np.ones((3, 2), np.float32))
    carry, (ys, nothing) = scan(body, {"n": 0, "s": 0.0}, xs)
    assert int(carry["n"]) == 3
    assert float(carry["s"]) == 3.0
    assert ys.shape == (3, 2)
    assert nothing is None


def test_scan_without_xs_runs_length_steps():
    carry, ys = scan(lambda c, _: (mul(c, 2), c), 1, None, length=5)
    assert int(carry) == 32
    np.testing.assert_array_equal(ys, [1, 2, 4, 8, 16])


def test_scan_closes_over_arrays_and_tracers():
    w = np.float32(3) * np.ones(2, np.float32)
    out = jit(
        lambda v: scan(
            lambda c, x: (add(c, mul(mul(w, v), x)), None),
            np.zeros(2, np.float32),
            np.ones(4, np.float32),
        )[0]
    )(w)
    np.testing.assert_array_equal(out, [36, 36])


def test_body_is_traced_once():
    count = []

    def body(c, x):
        count.append(1)
        return add(c, x), c

    xs = np.ones(4, np.float32)
    scan(body, np.float32(0), xs)
    scan(body, np.float32(1), xs)
    assert len(count) == 1


def test_weak_carry_takes_the_dtype_of_the_result():
    carry, _ = scan(
        lambda c, x: (add(convert_element_type(c, x.dtype), x), None), 0, np.ones(3, np.float16)
    )
    assert carry.dtype == np.float16
    assert float(carry) == 3


def test_carry_types_reach_a_fixpoint():
    def body(c, x):
        a, b, _ = c
        return (add(convert_element_type(a, x.dtype), x), a, b), None

    xs = np.full(4, 5, np.float16)
    carry, _ = scan(body, (0.0, 0.0, 0.0), xs)
    assert [c.dtype for c in carry] == [np.float16] * 3
    assert [float(c) for c in carry] == [20.0, 15.0, 10.0]


def test_unchanged_carry_is_not_carried():
    w = np.ones((2, 2), np.float32)
    jaxpr = make_jaxpr(
        lambda c, w: scan(lambda s, x: ((add(s[0], s[1]), s[1]), s[0]), (c, w), None, length=3)
    )(w, w)
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is scan_p]
    assert eqn.params["num_carry"] == 1
    assert eqn.params["num_consts"] == 1


def test_results_equal_to_xs_or_to_each_other_are_not_stacked():
    jaxpr = make_jaxpr(lambda c, xs: scan(lambda c, x: (sin(c), (x, c, c)), c, xs))(
        np.float32(1), np.ones(3, np.float32)
    )
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is scan_p]
    assert len(eqn.outvars) == 2  # the carry and c stacked


def test_program_has_one_while_and_no_more_operations_than_needed():
    text = (
        jit(lambda c, xs: scan(running_sum, c, xs))
        .lower(np.float32(0), np.ones(5, np.float32))
        .as_text()
    )
    assert text.count("stablehlo.while") == 1
    assert text.count("stablehlo.dynamic_slice") == 1
    assert text.count("stablehlo.dynamic_update_slice") == 1


def test_fully_unrolled_scan_has_no_loop():
    text = (
        jit(lambda c, xs: scan(running_sum, c, xs, unroll=True))
        .lower(np.float32(0), np.ones(5, np.float32))
        .as_text()
    )
    assert "stablehlo.while" not in text


def test_scan_under_disable_jit_runs_python():
    seen = []

    def body(c, x):
        seen.append(float(x))
        return add(c, x), c

    with config.disable_jit(True):
        carry, ys = scan(body, 0.0, np.arange(3, dtype=np.float32), reverse=True)
    assert seen == [2.0, 1.0, 0.0]
    assert float(carry) == 3.0
    np.testing.assert_array_equal(ys, [3, 2, 0])


def test_carry_mismatch_names_each_leaf():
    def body(c, x):
        return {"a": c["a"], "b": np.ones(3, np.float32), "n": np.float32(1)}, None

    init = {"a": 1.0, "b": 2.0, "n": np.int32(1)}
    with pytest.raises(TypeError) as e:
        scan(body, init, None, length=3)
    text = str(e.value)
    assert "init['b']: given float32[], returned float32[3]" in text
    assert "init['n']: given int32[], returned float32[]" in text
    assert "init['a']" not in text
    assert "astype" in text


def test_carry_structure_mismatch_says_where():
    with pytest.raises(TypeError, match=r"init.*list"):
        scan(lambda c, x: ([c["a"]], None), {"a": 1.0}, None, length=2)


@pytest.mark.parametrize(
    ("call", "error", "fact"),
    [
        (lambda: scan(3, 0.0, np.ones(2)), TypeError, "f=3"),
        (lambda: scan(lambda c, x: c, 0.0, np.ones(2)), TypeError, "pair"),
        (lambda: scan(lambda c, x: (c, "a"), 0.0, np.ones(2)), TypeError, r"result\[1\]"),
        (lambda: scan(lambda c, x: (c, x), "a", np.ones(2)), TypeError, "init = 'a'"),
        (lambda: scan(lambda c, x: (c, x), 0.0, (np.ones(2), np.ones(3))), ValueError, r"xs\[1\]"),
        (lambda: scan(lambda c, x: (c, x), 0.0, np.ones(2), length=3), ValueError, "length=3"),
        (lambda: scan(lambda c, x: (c, x), 0.0, None), ValueError, "length"),
        (lambda: scan(lambda c, x: (c, x), 0.0, np.float32(1)), ValueError, "leading"),
        (lambda: scan(lambda c, x: (c, x), 0.0, np.ones(2), unroll=-1), ValueError, "unroll=-1"),
        (
            lambda: jit(lambda n: scan(lambda c, x: (c, x), 0.0, None, length=n))(3),
            ConcretizationTypeError,
            "while_loop",
        ),
    ],
    ids=["fn", "pair", "result", "leaf", "lengths", "length", "none", "rank", "unroll", "traced"],
)
def test_bad_input_is_refused(call, error, fact):
    with pytest.raises(error, match=fact):
        call()


def test_error_leaves_no_trace_behind():
    def bad(c, x):
        raise RuntimeError("user")

    with pytest.raises(RuntimeError, match="user"):
        scan(bad, 0.0, np.ones(2))
    assert float(scan(running_sum, 0.0, np.ones(2, np.float32))[0]) == 2.0


def test_tree_structure_of_results_is_kept():
    out = scan(lambda c, x: (c, {"y": x}), (0.0,), np.ones(2, np.float32))
    assert tree.structure(out) == tree.structure(((0,), {"y": 0}))


def test_closures_made_anew_are_one_program():
    bodies = set()
    for w in (1.0, 2.0):
        v = np.full(2, w, np.float32)

        def body(c, x, v=v):
            return add(c, mul(x, v)), None

        xs = np.ones((3, 2), np.float32)
        jaxpr = make_jaxpr(lambda c, xs, body=body: scan(body, c, xs))(v, xs)
        (eqn,) = [e for e in jaxpr.eqns if e.primitive is scan_p]
        bodies.add(eqn.params["jaxpr"])
        np.testing.assert_array_equal(scan(body, v, xs)[0], 4 * v)
    assert len(bodies) == 1


def test_programs_that_differ_in_a_literal_stay_apart():
    def make(k):
        return lambda c, x: (add(c, k), None)

    outs = [float(scan(make(k), np.float32(0), None, length=2)[0]) for k in (1.0, 2.0, -0.0)]
    assert outs == [2.0, 4.0, 0.0]
    bodies = set()
    for f in (make(0.0), make(-0.0)):
        jaxpr = make_jaxpr(lambda c, f=f: scan(f, c, None, length=2))(np.float32(0))
        bodies.add(jaxpr.eqns[0].params["jaxpr"])
    assert len(bodies) == 2


def test_rebound_variable_is_noticed():
    w = 1.0

    def body(c, _):
        return mul(c, w), None

    assert float(scan(body, np.float32(1), None, length=3)[0]) == 1.0
    w = 2.0
    assert float(scan(body, np.float32(1), None, length=3)[0]) == 8.0


def test_memo_does_not_keep_functions_alive():
    def make():
        def body(c, _):
            return add(c, 1.0), body and None

        scan(body, np.float32(1), None, length=2)
        return weakref.ref(body)

    ref = make()
    gc.collect()
    assert ref() is None


def test_forwarded_numpy_inputs_come_out_as_arrays():
    carry, ys = scan(lambda c, x: (c, x), np.float64(1.0), np.arange(3.0))
    assert isinstance(carry, Array)
    assert isinstance(ys, Array)
    assert ys.dtype == np.float32
