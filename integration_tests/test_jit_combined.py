"""`jit` together with the NumPy API, derivatives, batching and random keys."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import random
from tans_core import config_module as config


def count(fun, *args, op):
    return tans.jit(fun).lower(*args).as_text().count(op)


def layer(x, w):
    return jnp.tanh(x @ w)


X = np.ones((4, 4), np.float32)


def test_equal_layers_are_functions_whose_number_does_not_grow_with_depth():
    inner = tans.jit(layer)

    def loss(x, ws):
        for w in ws:
            x = inner(x, w)
        return jnp.sum(x)

    def functions(fun, depth):
        return count(fun, X, [X] * depth, op="func.func private @layer")

    assert functions(loss, 6) == 1
    gradient = tans.grad(loss, argnums=1)
    assert functions(gradient, 6) == functions(gradient, 12) <= 5


def test_one_trace_for_a_training_loop():
    traces = []

    @tans.jit
    def step(w, x):
        traces.append(1)
        return w - 0.1 * tans.grad(lambda w: jnp.sum((x @ w) ** 2))(w)

    w = jnp.zeros((4, 4))
    for _ in range(4):
        w = step(w, X)
    assert len(traces) == 1


def test_numpy_functions_leave_no_calls_in_a_traced_program():
    def f(x):
        y = jnp.where(x > 0, jnp.mean(x), jnp.clip(x, 0, 1))
        return jnp.concatenate([y, y[1:3]]).at[0].set(1.0)

    names = {e.primitive.name for e in tans.make_jaxpr(f)(X).eqns}
    assert "jit" not in names
    assert count(f, X, op="func.func") == 1


def test_donation_in_a_training_step():
    step = tans.jit(lambda w, x: w - tans.grad(lambda w: jnp.sum(x * w))(w), donate_argnums=0)
    w = jnp.ones((4, 4))
    old = w
    w = step(w, X)
    assert old.is_deleted()
    np.testing.assert_array_equal(w, 0 * X)


@pytest.mark.parametrize("wrap", [tans.grad, lambda f: lambda x: tans.vmap(f)(x[None])[0]])
def test_conditions_pick_the_branch_per_call_outside_of_jit(wrap):
    f = wrap(lambda x: x * 2.0 if x > 0 else x * 3.0)
    if wrap is tans.grad:
        assert [float(f(1.0)), float(f(-1.0))] == [2.0, 3.0]
    else:
        with pytest.raises(tans.errors.TracerBoolConversionError):
            f(jnp.float32(1.0))


def test_keys_are_arguments_and_results():
    @tans.jit
    def split(key):
        first, second = random.split(key)
        return first, {"bits": random.uniform(second, (3,))}

    key = random.key(0)
    for _ in range(2):
        key, out = split(key)
    eager = random.split(random.split(random.key(0))[0])
    np.testing.assert_array_equal(random.key_data(key), random.key_data(eager[0]))
    np.testing.assert_array_equal(out["bits"], random.uniform(eager[1], (3,)))
    with tans.disable_jit():
        same, _ = split(random.key(0))
    np.testing.assert_array_equal(
        random.key_data(same), random.key_data(random.split(random.key(0))[0])
    )


def test_compile_time_evaluation_with_numpy_functions():
    @tans.jit
    def f(x):
        with tans.ensure_compile_time_eval():
            table = jnp.arange(4) * 2
            total = int(table.sum())
        return x * total

    assert float(f(2.0)) == 24.0


def test_nan_checks_name_the_operation_and_line():
    @tans.jit
    def f(x):
        return jnp.sum(jnp.log(x - 1.0)) + 1.0

    with tans.debug_nans(True):
        for _ in range(2):
            with pytest.raises(FloatingPointError, match=r"log at .*test_jit_combined.py"):
                f(jnp.zeros(3))
        with pytest.raises(FloatingPointError, match="nan"):
            jnp.zeros(2) / jnp.zeros(2)


def test_derivatives_free_what_they_captured():
    def make():
        c = jnp.ones(5)

        @tans.jit
        def f(x):
            return jnp.sum(jnp.sin(x * c))

        tans.grad(f)(c)
        tans.hessian(f)(c)
        tans.vmap(f)(jnp.ones((2, 5)))
        tans.jit(tans.grad(f))(c)
        return weakref.ref(c), weakref.ref(f)

    references = make()
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_leaks_through_transformations_name_the_argument():
    box = []

    def f(x):
        box.append(x)
        return jnp.sum(x)

    tans.jit(f)(X)
    with pytest.raises(tans.errors.UnexpectedTracerError, match=r"argument x in f at .*combined"):
        jnp.sin(box[0])


def test_threads_differentiate_and_compile_concurrently():
    failures = []
    shared = tans.jit(layer)

    def work(i):
        try:
            w = X * (i + 1) / 16
            for k in range(2):
                f = tans.jit(tans.value_and_grad(lambda w, k=k: jnp.sum(shared(X, w) * (k + 1))))
                value, gradient = f(w)
                y = np.tanh(X @ w)
                np.testing.assert_allclose(value, y.sum() * (k + 1), rtol=1e-4)
                expected = X.T @ (1 - y**2) * (k + 1)
                np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_x64_changes_what_is_traced():
    f = tans.jit(lambda x: jnp.linspace(0.0, 1.0, 3) * x)
    assert f(1.0).dtype == np.float32
    with config.enable_x64(True):
        assert f(1.0).dtype == np.float64
    assert f(1.0).dtype == np.float32


def test_no_frames_of_ours_in_a_users_location():
    text = tans.jit(lambda x: jnp.mean(jnp.where(x > 0, x, 0.0))).lower(X).as_text(debug_info=True)
    assert "test_jit_combined.py" in text
    assert "tans_numpy" not in text


def test_keys_are_dispatched_from_cpp():
    split = tans.jit(lambda key, x: (random.split(key), x + 1.0))
    key = random.key(0)
    split(key, 1.0)
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code) if event == "call" else None)
    try:
        keys, _ = split(key, 1.0)
    finally:
        sys.setprofile(None)
    # Only what takes the words out of the argument and wraps those of the result.
    assert not any("/tans_xla/" in code.co_filename for code in calls)
    assert len(calls) < 20
    assert keys.dtype == key.dtype
    np.testing.assert_array_equal(random.key_data(keys), random.key_data(random.split(key)))


def test_keys_follow_their_device():
    key = tans.device_put(random.key(0), tans.devices()[3])
    split = tans.jit(random.split)
    for _ in range(2):
        assert split(key).devices() == {tans.devices()[3]}
