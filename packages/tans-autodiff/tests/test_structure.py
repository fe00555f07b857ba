"""The shape of derivative programs: what is saved, hoisted, shared, removed and compiled once."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    NotNeeded,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_jvp,
    custom_vjp,
    grad,
    value_and_grad,
    vjp,
)
from tans_core import tree
from tans_core.dce import dce_jaxpr
from tans_xla import device_put, jit, make_jaxpr

f32 = np.float32
XS = np.ones((5, 3), f32)
policies = checkpoint_policies


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


def layer(w, x):
    return lax.tanh(lax.dot(x, w))


def step(w, c, x):
    return lax.tanh(lax.add(lax.dot(c, w), x))


def rnn(w, xs, body=step):
    return lax.scan(lambda c, x: (body(w, c, x), None), np.zeros(3, f32), xs)[0]


def rnn_outputs(w, xs):
    return lax.scan(lambda c, x: (step(w, c, x),) * 2, np.zeros(3, f32), xs)[1]


def branches(w, x):
    return lax.cond(
        lax.gt(total(x), 0.0), lambda w: lax.sin(lax.dot(x, w)), lambda w: lax.dot(x, w), w
    )


def loop_inside(w, x):
    return lax.fori_loop(0, 3, lambda _, c: layer(w, c), x)


@custom_vjp
def scaled(x):
    return lax.sin(x)


scaled.defvjp(lambda x: (lax.sin(x), x), lambda x, ct: (lax.mul(ct, lax.cos(x)),))


@custom_jvp
def clipped(x):
    return lax.sin(x)


clipped.defjvp(lambda p, t: (lax.sin(p[0]), lax.mul(t[0], lax.cos(p[0]))))

NETS = {
    "layer": layer,
    "jit": jit(layer),
    "cond": branches,
    "fori_loop": loop_inside,
    "checkpoint": checkpoint(layer),
    "policy": checkpoint(layer, policy=policies.dots_saveable),
    "custom_vjp": lambda w, x: scaled(layer(w, x)),
    "custom_jvp": lambda w, x: clipped(layer(w, x)),
    "jit of scan": jit(loop_inside),
    "unused part": lambda w, x: (layer(w, x), lax.exp(w))[0],
    "jit with unused part": lambda w, x: jit(lambda w, x: (layer(w, x), lax.exp(w)))(w, x)[0],
    "stopped": lambda w, x: lax.mul(layer(w, x), lax.stop_gradient(lax.exp(lax.dot(x, w)))),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("net", NETS)
def test_every_saved_value_is_read(net, compiled, matrix, batch):
    def forward(w, x):
        return vjp(NETS[net], w, x)

    y, f_vjp = (jit(forward) if compiled else forward)(matrix, batch)
    leaves, structure = tree.flatten(f_vjp)
    closed = make_jaxpr(lambda *xs: structure.unflatten(xs)(y))(*leaves)
    _, used = dce_jaxpr(closed, [True] * len(closed.out_avals))
    assert all(used)


@pytest.mark.parametrize("loop", [rnn, rnn_outputs, jit(rnn)])
def test_the_gradient_of_a_scan_is_one_scan(loop, matrix):
    closed = make_jaxpr(jit(grad(lambda w, xs: total(loop(w, xs)), (0, 1))))(matrix, XS)
    assert str(closed).count(" scan[") == 2


def test_a_scan_saves_nothing_that_its_arguments_hold(matrix):
    def f(w, xs):
        return lax.scan(lambda c, x: (lax.add(lax.mul(c, x), lax.dot(x, w)), None), XS[0], xs)[0]

    xs = device_put(XS)
    _, f_vjp = vjp(f, matrix, xs)
    assert f_vjp.args_res[1] is xs
    assert f_vjp.args_res[0] is matrix
    assert [r.shape for r in f_vjp.opaque_residuals] == [(5, 3)]  # the carry


def test_what_a_loop_computes_from_constants_is_saved_once(matrix):
    def f(w, xs):
        return lax.scan(lambda c, x: (lax.mul(c, lax.exp(lax.sin(w))), None), matrix, xs)[0]

    _, f_vjp = vjp(f, matrix, XS)
    shapes = sorted(r.shape for r in f_vjp.opaque_residuals)
    assert shapes.count((5, 3, 3)) == 1  # the carry
    assert all(len(shape) == 2 for shape in shapes[:-1])
    closed = make_jaxpr(grad(lambda w: total(f(w, XS))))(matrix)
    (first, second) = [eqn for eqn in closed.eqns if eqn.primitive.name == "scan"]
    for scan in (first, second):
        assert not {e.primitive.name for e in scan.params["jaxpr"].eqns} & {"exp", "sin", "cos"}


def test_branches_share_their_saved_values(matrix):
    functions = [lax.sin, lambda x: lax.exp(lax.cos(x)), lax.tanh]
    f_vjp = jit(lambda i, x: vjp(lambda x: lax.switch(i, functions, x), x)[1])(1, matrix)
    kinds = sorted((r.dtype.name, r.shape) for r in f_vjp.opaque_residuals)
    # The largest need, two factors of exp(cos(x)), and the index.
    assert kinds == [("float32", (3, 3))] * 2 + [("int32", ())]


def test_values_that_a_body_needs_are_its_arguments(matrix, batch):
    f = jit(lambda w, x: lax.dot(lax.dot(x, w), w))
    _, f_vjp = vjp(f, matrix, batch)
    assert f_vjp.args_res[0] is matrix
    assert f_vjp.args_res[1] is batch
    assert [r.shape for r in f_vjp.opaque_residuals] == [(2, 3)]


def test_a_result_that_is_saved_is_returned_once(matrix):
    closed = make_jaxpr(lambda x: vjp(jit(lax.exp), x))(matrix)
    (call,) = closed.eqns
    assert len(call.outvars) == 1
    assert closed.jaxpr.outvars == [call.outvars[0]] * 2


def test_identical_layers_are_one_function_each_way(matrix, batch):
    deep = jit(layer)

    def loss(ws, x):
        for w in ws:
            x = deep(w, x)
        return total(x)

    ws = [matrix] * 6
    text = jit(value_and_grad(loss, (0, 1))).lower(ws, batch).as_text()
    names = [line.split("@")[1].split("(")[0] for line in text.splitlines() if "func.func" in line]
    assert len([n for n in names if n.startswith("layer")]) == 2
    closed = make_jaxpr(grad(loss, (0, 1)))(ws, batch)
    calls = [eqn for eqn in closed.eqns if eqn.primitive.name == "jit"]
    assert len(calls) == 12
    assert len({id(eqn.params["jaxpr"]) for eqn in calls[:6]}) == 1
    assert {eqn.params["name"] for eqn in calls} == {"layer"}


@pytest.mark.parametrize(
    ("policy", "shapes"),
    [
        (None, [(5, 3)]),
        (policies.save_only_these_names("h"), [(5, 3)] * 2),
        (policies.dots_saveable, [(5, 3)] * 2),
        (policies.everything_saveable, None),
    ],
)
def test_policies_inside_a_scan(policy, shapes, matrix):
    def body(w, c, x):
        h = checkpoint_name(lax.sin(lax.dot(c, w)), "h")
        return lax.tanh(lax.add(lax.sin(h), x))

    remat = checkpoint(body, policy=policy, prevent_cse=False)
    _, f_vjp = vjp(lambda w, xs: rnn(w, xs, remat), matrix, device_put(XS))
    if shapes is not None:
        assert [r.shape for r in f_vjp.opaque_residuals] == shapes
    f = lambda w: total(rnn(w, XS, remat))  # noqa: E731
    plain = lambda w: total(rnn(w, XS, body))  # noqa: E731
    np.testing.assert_allclose(grad(f)(matrix), grad(plain)(matrix), rtol=1e-5)


def equations(closed):
    """Return the names of all equations, inner programs included."""
    found = []
    for eqn in closed.eqns:
        found.append(eqn.primitive.name)
        for value in eqn.params.values():
            inner = value if isinstance(value, tuple) else (value,)
            for x in inner:
                if hasattr(x, "eqns"):
                    found += equations(x)
    return found


CALLS = {
    "jit": lambda f, x, y: jit(lambda x, y: (lax.sin(x), f(y)))(x, y),
    "scan": lambda f, x, y: lax.scan(
        lambda c, _: ((lax.sin(c[0]), f(c[1])), None), (x, y), None, length=3
    )[0],
    "cond": lambda f, x, y: lax.cond(
        lax.gt(total(x), 0.0),
        lambda x, y: (lax.sin(x), f(y)),
        lambda x, y: (lax.cos(x), y),
        x,
        y,
    ),
    "while": lambda f, x, y: lax.while_loop(
        lambda c: lax.lt(total(c[0]), 10.0), lambda c: (lax.add(c[0], 1.0), f(c[1])), (x, y)
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_unused_results_are_not_computed(call, matrix):
    closed = make_jaxpr(lambda x, y: CALLS[call](lax.exp, x, y)[0])(matrix, matrix)
    closed, used = dce_jaxpr(closed, [True])
    assert used == [True, False]
    assert "exp" not in equations(closed)


@pytest.mark.parametrize("call", ["jit", "scan", "cond"])
def test_unused_results_cost_nothing_backwards(call, matrix):
    f = jit(grad(lambda x, y: total(CALLS[call](lax.exp, x, y)[0])))
    closed = make_jaxpr(f)(matrix, matrix)
    closed, _ = dce_jaxpr(closed, [True])
    assert "exp" not in equations(closed)


def test_the_gradient_needs_no_more_than_it_reads(matrix, batch):
    _, f_vjp = vjp(lambda w, x: lax.add(w, lax.mul(w, 2.0)), matrix, batch)
    assert f_vjp.args_res == [NotNeeded(), NotNeeded()]
    assert f_vjp.nbytes <= 4
