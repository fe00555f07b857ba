"""Effects in control flow happen as often as written, in order, also under transformations."""

import numpy as np
import pytest

from tans_autodiff import grad, jvp
from tans_batching import vmap
from tans_core import dce_jaxpr
from tans_lax.control_flow.cond import cond
from tans_lax.control_flow.fori_loop import fori_loop
from tans_lax.control_flow.scan import scan
from tans_lax.control_flow.while_loop import while_loop
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.elementwise.comparison import lt
from tans_xla import jit, make_jaxpr
from tans_xla.callbacks import debug_callback, effects_barrier


def run(f, *args):
    out = f(*args)
    effects_barrier()
    return out


def loop_with(callback, x, ordered=False, steps=5):
    def body(c, i):
        debug_callback(callback, i, ordered=ordered)
        return mul(c, x), None

    return scan(body, np.float32(1), np.arange(steps, dtype=np.int32))[0]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("transform", [lambda f: f, jit, grad, lambda f: jit(grad(f))])
def test_effect_in_scan_happens_once_per_step(ordered: bool, transform):
    seen: list[int] = []
    run(transform(lambda x: loop_with(lambda i: seen.append(int(i)), x, ordered)), np.float32(2))
    assert (seen if ordered else sorted(seen)) == [0, 1, 2, 3, 4]


def test_effect_on_constants_is_not_hoisted():
    # A reference drops all but one of these calls.
    seen = []

    def f(x):
        def body(c, _):
            debug_callback(lambda: seen.append(1))
            return mul(c, x), None

        return scan(body, np.float32(1), None, length=5)[0]

    run(jit(grad(f)), np.float32(2))
    assert len(seen) == 5
    seen.clear()
    run(grad(grad(f)), np.float32(2))
    assert len(seen) == 5


def test_ordered_effects_before_in_and_after_loops():
    seen = []

    def log(tag):
        debug_callback(lambda i, tag=tag: seen.append(f"{tag}{int(i)}"), np.int32(0), ordered=True)

    def f(p, n):
        log("a")

        def step(i, c):
            debug_callback(lambda i: seen.append(f"s{int(i)}"), i, ordered=True)
            return c

        fori_loop(0, 2, step, 0)
        log("b")
        fori_loop(0, n, step, 0)
        cond(p, lambda: log("t"), lambda: log("f"))
        log("c")
        return n

    run(jit(f), True, 3)
    assert seen == ["a0", "s0", "s1", "b0", "s0", "s1", "s2", "t0", "c0"]


def test_ordered_effect_in_the_condition():
    seen = []

    def condition(n):
        debug_callback(lambda n: seen.append(("cond", int(n))), n, ordered=True)
        return lt(n, 2)

    def body(n):
        debug_callback(lambda n: seen.append(("body", int(n))), n, ordered=True)
        return add(n, 1)

    assert int(run(jit(lambda n: while_loop(condition, body, n)), 0)) == 2
    assert seen == [("cond", 0), ("body", 0), ("cond", 1), ("body", 1), ("cond", 2)]


def test_effect_in_while_happens_once_per_step_under_jvp():
    seen = []

    def f(x):
        def body(c):
            debug_callback(lambda i: seen.append(int(i)), c[0])
            return add(c[0], 1), mul(c[1], x)

        return while_loop(lambda c: lt(c[0], 3), body, (0, np.float32(1)))[1]

    run(lambda x: jvp(f, (x,), (x,)), np.float32(2))
    assert sorted(seen) == [0, 1, 2]


def test_effect_in_the_branch_taken_happens_once_under_grad():
    seen = []

    def f(p, x):
        def true_fun(x):
            debug_callback(lambda: seen.append("t"))
            return mul(x, x)

        def false_fun(x):
            debug_callback(lambda: seen.append("f"))
            return x

        return cond(p, true_fun, false_fun, x)

    run(jit(grad(f, argnums=1)), False, np.float32(2))
    assert seen == ["f"]


def test_effects_survive_dead_code_elimination():
    jaxpr = make_jaxpr(lambda x: loop_with(lambda i: None, x))(np.float32(1))
    small, _ = dce_jaxpr(jaxpr, [False])
    assert len(small.eqns) == 1
    assert small.effects


def test_vmap_of_an_effect_in_a_loop():
    seen = []
    run(
        vmap(lambda x: loop_with(lambda i: seen.append(int(i)), x, steps=2)), np.ones(3, np.float32)
    )
    assert set(seen) == {0, 1}
