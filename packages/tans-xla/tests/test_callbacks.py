import threading

import numpy as np
import pytest

from tans_core import config, rules
from tans_core.context import AxisData
from tans_core.partition_spec import P
from tans_core.sharding import NamedSharding, single_device_sharding
from tans_core.types import ShapedArray
from tans_core.zeros import Zero
from tans_xla import ShapeDtypeStruct, backend, device_put, jit, make_jaxpr
from tans_xla._jaxlib import ArrayImpl, JaxRuntimeError
from tans_xla.callbacks import (
    debug_callback,
    debug_callback_p,
    effects_barrier,
    io_callback,
    io_callback_p,
    pure_callback,
    pure_callback_p,
)
from tans_xla.callbacks.debug_print import debug_print

SCALAR = ShapeDtypeStruct((), np.dtype("float32"))


@pytest.fixture(params=[False, True], ids=["eager", "jit"])
def run(request):
    """Call a function directly, or jitted."""
    return jit if request.param else (lambda fun: fun)


def test_pure_callback_takes_and_returns_trees(run):
    def host(tree, *, scale):
        assert isinstance(tree["a"], ArrayImpl)
        return {"sum": np.add(tree["a"], tree["b"][0]) * np.float32(scale)}, np.ones(2, "i4")

    types = {"sum": SCALAR}, ShapeDtypeStruct((2,), np.dtype("int32"))

    def program(a, b):
        return pure_callback(host, types, {"a": a, "b": [b]}, scale=2.0)

    found, ones = run(program)(1.0, 2.0)
    assert float(found["sum"]) == 6.0
    np.testing.assert_array_equal(ones, [1, 1])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int8", "uint32", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)], ids=str)
def test_every_dtype_and_shape_survives(run, dtype, shape):
    value = (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)
    kind = ShapeDtypeStruct(shape, value.dtype)
    out = run(lambda x: pure_callback(np.asarray, kind, x))(value)
    assert out.dtype == value.dtype
    np.testing.assert_array_equal(np.asarray(out), value)


def test_results_in_any_memory_order(run):
    value = np.arange(6, dtype=np.int32).reshape(2, 3)
    kind = ShapeDtypeStruct((3, 2), np.dtype("int32"))
    out = run(lambda x: pure_callback(lambda x: np.asarray(x).T, kind, x))(value)
    np.testing.assert_array_equal(np.asarray(out), value.T)


def test_callback_without_arguments_or_results(run):
    calls = []
    run(lambda: io_callback(lambda: calls.append(1), None))()
    effects_barrier()
    assert calls == [1]
    assert float(run(lambda: pure_callback(lambda: np.float32(2), SCALAR))()) == 2.0


@pytest.mark.parametrize(
    ("result", "fact"),
    [
        (np.zeros(3, np.float32), r"float32\[3\]"),
        (np.int32(1), "int32"),
        ((1.0, 2.0), "structure"),
        ("text", "<U4"),
    ],
    ids=["shape", "dtype", "structure", "string"],
)
def test_wrong_results_are_named(run, result, fact):
    program = run(lambda x: pure_callback(lambda x: result, SCALAR, x))
    with pytest.raises(JaxRuntimeError, match=fact):
        program(1.0).block_until_ready()


def test_python_numbers_take_the_announced_dtype(run):
    assert float(run(lambda x: pure_callback(lambda x: 3, SCALAR, x))(1.0)) == 3.0
    assert float(run(lambda x: pure_callback(lambda x: np.float64(3), SCALAR, x))(1.0)) == 3.0


@pytest.mark.parametrize("kind", ["pure", "io", "ordered", "debug"])
def test_error_has_one_class_and_the_function_stays_usable(run, kind):
    fail = [False]

    def host(x):
        if fail[0]:
            raise KeyError("the user's own text")
        return x

    def program(x):
        if kind == "pure":
            return pure_callback(host, SCALAR, x)
        if kind == "debug":
            return debug_callback(host, x)
        return io_callback(host, SCALAR, x, ordered=kind == "ordered")

    def call(x):
        out = function(x)
        effects_barrier()
        return out if out is None else float(out)

    function = run(program)
    expected = None if kind == "debug" else 1.0
    assert call(1.0) == expected
    for _ in range(2):
        fail[0] = True
        with pytest.raises(JaxRuntimeError, match="the user's own text"):
            call(1.0)
        fail[0] = False
        assert call(1.0) == expected


def test_first_call_may_fail_too():
    def host(x):
        raise KeyError("at once")

    function = jit(lambda x: pure_callback(host, SCALAR, x))
    for _ in range(2):
        with pytest.raises(JaxRuntimeError, match="at once"):
            function(1.0).block_until_ready()


def test_bad_announcements_raise_at_once():
    wide = ShapeDtypeStruct((), np.dtype("float64"))
    with pytest.raises(ValueError, match="float64"):
        pure_callback(np.sin, wide, 1.0)
    with config.enable_x64(True):
        assert pure_callback(np.sin, wide, 0.0).dtype == np.float64
    with pytest.raises(TypeError, match="shape and dtype"):
        pure_callback(np.sin, 1.0, 1.0)
    with pytest.raises(TypeError, match="function"):
        pure_callback(SCALAR, np.sin, 1.0)
    with pytest.raises(ValueError, match="vmap_method='foo'"):
        pure_callback(np.sin, SCALAR, 1.0, vmap_method="foo")


def test_unused_pure_callback_is_dropped_and_others_are_kept():
    calls = []

    def program(x):
        pure_callback(lambda x: calls.append("pure") or x, SCALAR, x)
        io_callback(lambda x: calls.append("io") or x, SCALAR, x)
        debug_callback(lambda x: calls.append("debug"), x)
        return x

    jit(program)(1.0)
    effects_barrier()
    assert sorted(calls) == ["debug", "io"]


def test_ordered_callbacks_follow_the_program():
    calls = []

    def program(x):
        for i in range(5):
            io_callback(lambda x, i=i: calls.append((i, float(x))), None, x, ordered=True)
        return x

    function = jit(program)
    function(1.0)
    function(2.0)
    effects_barrier()
    assert calls == [(i, x) for x in (1.0, 2.0) for i in range(5)]


def test_ordered_callbacks_inside_a_nested_jit():
    calls = []
    inner = jit(lambda x: io_callback(lambda x: calls.append(float(x)), None, x, ordered=True))

    def program(x):
        inner(x)
        inner(x)
        io_callback(lambda x: calls.append("end"), None, x, ordered=True)

    jit(program)(3.0)
    effects_barrier()
    assert calls == [3.0, 3.0, "end"]


def test_debug_print(run, capfd):
    run(lambda x: debug_print("x = {x:.2f}, {} {word}", x, x=x, word="w"))(1.5)
    effects_barrier()
    assert capfd.readouterr().out == "x = 1.50, 1.5 w\n"


def test_debug_print_checks_its_format():
    with pytest.raises(ValueError, match=r"\[0\]"):
        debug_print("a", 1)
    with pytest.raises(ValueError, match="'y'"):
        debug_print("a", y=1)
    with pytest.raises(IndexError):
        debug_print("a {}")
    with pytest.raises(KeyError):
        debug_print("a {x}")


def test_debug_callback_passes_other_values_through(run):
    seen = []
    run(lambda x: debug_callback(lambda *a, **k: seen.append((a, k)), x, "text", key=None))(1.0)
    effects_barrier()
    ((args, kwargs),) = seen
    assert (float(args[0]), args[1], kwargs) == (1.0, "text", {"key": None})


def test_ordered_and_partitioned_exclude_each_other():
    with pytest.raises(ValueError, match="at most"):
        debug_callback(print, 1.0, ordered=True, partitioned=True)


def test_callbacks_have_effects():
    def program(x):
        io_callback(lambda x: x, SCALAR, x, ordered=True)
        debug_callback(print, x)
        return pure_callback(lambda x: x, SCALAR, x)

    closed = make_jaxpr(program)(1.0)
    assert sorted(map(str, closed.effects)) == ["Debug", "OrderedIO"]


def test_sharded_operands(mesh):
    value = np.arange(8, dtype=np.float32)
    x = device_put(value, NamedSharding(mesh, P("y")))
    kind = ShapeDtypeStruct((8,), np.dtype("float32"))
    seen = []
    y = jit(lambda x: pure_callback(lambda x: seen.append(x.shape) or np.sin(x), kind, x))(x)
    y.block_until_ready()
    assert seen == [(8,)]
    assert y.sharding.is_fully_replicated
    for shard in y.addressable_shards:
        np.testing.assert_allclose(np.asarray(shard.data), np.sin(value), rtol=1e-6)
    again = jit(lambda y: y)(y)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(y))


def test_sharded_program_calls_from_the_given_device(mesh):
    x = device_put(np.ones(8, np.float32), NamedSharding(mesh, P("y")))
    kind = ShapeDtypeStruct((8,), np.dtype("float32"))
    where = single_device_sharding(backend.devices()[2])
    y = jit(lambda x: pure_callback(np.sin, kind, x, sharding=where))(x)
    np.testing.assert_allclose(np.asarray(y), np.sin(np.ones(8)), rtol=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
def test_debug_callback_in_a_sharded_program_runs_once(mesh, ordered):
    x = device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("x")))
    seen = []
    function = jit(lambda x: debug_callback(lambda x: seen.append(x.tolist()), x, ordered=ordered))
    function(x)
    function(x)
    effects_barrier()
    assert seen == [list(range(8))] * 2


def test_partitioned_debug_callback_sees_the_parts(mesh):
    x = device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P(("x", "y"))))
    seen = []
    jit(lambda x: debug_callback(lambda x: seen.append(x.tolist()), x, partitioned=True))(x)
    effects_barrier()
    assert sorted(seen) == [[float(i)] for i in range(8)]


def test_ordered_callbacks_over_changing_devices(mesh):
    seen = []

    def program(x):
        io_callback(lambda x: seen.append(float(np.sum(x))), None, x, ordered=True)

    function = jit(program)
    one = device_put(np.ones(8, np.float32), backend.devices()[1])
    many = device_put(np.full(8, 2, np.float32), NamedSharding(mesh, P("x")))
    for x in (one, many, one):
        function(x)
    effects_barrier()
    assert seen == [8.0, 16.0, 8.0]


AXIS = AxisData(size=3, name=None, spmd_name=None, explicit_mesh_axis=None)


def batched(method, *, dims, args, primitive=pure_callback_p):
    seen = []

    def host(x, y):
        seen.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    closed = make_jaxpr(
        lambda x, y: pure_callback(host, ShapeDtypeStruct((), "float32"), x, y, vmap_method=method)
    )(1.0, 1.0)
    (eqn,) = closed.eqns
    outs, out_dims = rules.batching[primitive](AXIS, args, dims, **eqn.params)
    return np.asarray(outs[0]), out_dims, seen


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), ())] * 3),
        ("sequential_unrolled", [((), ())] * 3),
        ("expand_dims", [((3,), (1,))]),
        ("broadcast_all", [((3,), (3,))]),
        ("legacy_vectorized", [((3,), ())]),
    ],
)
def test_vmap_methods(method, shapes):
    x = device_put(np.arange(3, dtype=np.float32))
    out, dims, seen = batched(method, dims=(0, None), args=(x, device_put(1.0)))
    assert seen == shapes
    assert dims == [0]
    np.testing.assert_array_equal(out, [1, 2, 3])


def test_vmap_without_method_names_the_choices():
    x = device_put(np.arange(3, dtype=np.float32))
    with pytest.raises(NotImplementedError, match="sequential"):
        batched(None, dims=(0, None), args=(x, device_put(1.0)))


def test_vmap_of_io_and_debug_callbacks():
    seen = []
    x = device_put(np.arange(6, dtype=np.float32).reshape(2, 3))
    closed = make_jaxpr(lambda x: debug_callback(lambda x: seen.append(x.tolist()), x))(
        np.zeros(2, np.float32)
    )
    rules.batching[debug_callback_p](AXIS, (x,), (1,), **closed.eqns[0].params)
    assert seen == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    ordered = make_jaxpr(lambda x: io_callback(lambda x: x, SCALAR, x, ordered=True))(1.0)
    with pytest.raises(ValueError, match="ordered"):
        rules.batching[io_callback_p](AXIS, (x,), (1,), **ordered.eqns[0].params)


def test_derivatives():
    aval = ShapedArray((), np.dtype("float32"))
    params = make_jaxpr(lambda x: pure_callback(lambda x: x, SCALAR, x))(1.0).eqns[0].params
    with pytest.raises(ValueError, match="custom_jvp"):
        rules.jvp[pure_callback_p]((1.0,), (1.0,), **params)
    outs, tangents = rules.jvp[pure_callback_p]((1.0,), (Zero(aval),), **params)
    assert float(outs[0]) == 1.0
    assert type(tangents[0]) is Zero
    seen = []
    params = make_jaxpr(lambda x: debug_callback(seen.append, x))(1.0).eqns[0].params
    assert rules.jvp[debug_callback_p]((2.0,), (1.0,), **params) == ([], [])
    assert [float(x) for x in seen] == [2.0]


def test_callback_may_compute_with_arrays():
    double = jit(lambda x: x)

    def host(x):
        return np.asarray(double(x)) * 2

    assert float(jit(lambda x: pure_callback(host, SCALAR, x))(3.0)) == 6.0


def test_threads_have_their_own_order():
    calls = {0: [], 1: []}

    def work(k):
        function = jit(
            lambda x: io_callback(lambda x: calls[k].append(int(x)), None, x, ordered=True)
        )
        for i in range(20):
            function(np.int32(i))
        effects_barrier()

    threads = [threading.Thread(target=work, args=(k,)) for k in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == {0: list(range(20)), 1: list(range(20))}


@pytest.mark.parametrize("kind", ["pure", "io", "ordered", "debug", "partitioned"])
def test_error_in_a_sharded_program(mesh, kind):
    x = device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("x")))
    out = ShapeDtypeStruct((8,), np.dtype("float32"))
    fail = [True]

    def host(x):
        if fail[0]:
            raise KeyError("the user's own text")
        return x

    def program(x):
        if kind == "pure":
            return pure_callback(host, out, x)
        if kind in ("debug", "partitioned"):
            debug_callback(host, x, partitioned=kind == "partitioned")
            return x
        return io_callback(host, out, x, ordered=kind == "ordered")

    function = jit(program)
    for _ in range(2):
        fail[0] = True
        with pytest.raises(JaxRuntimeError, match="the user's own text"):
            function(x)
        effects_barrier()
        fail[0] = False
        np.testing.assert_array_equal(np.asarray(function(x)), np.arange(8))
    effects_barrier()
