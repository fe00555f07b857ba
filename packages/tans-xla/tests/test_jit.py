"""`jit`: dispatch, static and donated arguments, closures, caches and their lifetimes."""

import functools
import gc
import weakref
from collections import namedtuple

import numpy as np
import pytest

from tans_core import cache, errors
from tans_core import config_module as config
from tans_xla import device_put, jit


def values(x):
    return np.asarray(x).tolist()


def ones(n=4):
    return device_put(np.ones(n, np.float32))


def test_a_hit_runs_no_python(toys, count_calls):
    constant = np.arange(100, dtype=np.float32)
    f = jit(lambda x: toys.add(x, constant))
    x = ones(100)
    f(x)
    assert count_calls(f, x) == []


def test_one_trace_per_type_and_one_per_weak_kind(toys):
    traced = []

    @jit
    def f(x):
        traced.append(x.aval)
        return toys.sin(x)

    for x in (1.0, 2.0, np.float32(1), np.ones(3, np.float32), np.zeros(3, np.float32)):
        f(x)
    assert [a.str_short() for a in traced] == ["f32[]", "f32[]", "f32[3]"]
    assert [a.weak_type for a in traced] == [True, False, False]


def test_operations_on_constants_are_staged(toys):
    f = jit(lambda x: toys.add(x, toys.sin(1.0)))
    assert f.lower(1.0).as_text().count("stablehlo.sine") == 1


@pytest.mark.parametrize("value", [True, 1, 1.5, 1j, np.int8(3), np.float16(1), np.bool_(True)])
def test_scalars_keep_their_kind(value):
    y = jit(lambda x: x)(value)
    assert np.asarray(y) == value
    assert y.weak_type is (type(value) in (int, float, complex))


def test_static_arguments_are_compared_by_type(toys):
    f = jit(lambda x, n: toys.add(x, 1.0 if n is True else 2.0), static_argnums=1)
    assert [float(f(1.0, n)) for n in (True, 1, True, 1.0)] == [2.0, 3.0, 2.0, 3.0]


def test_negative_static_position_counts_parameters(toys):
    seen = []

    def f(x, n=3):
        seen.append((type(x).__name__, n))
        return toys.mul(x, float(n))

    g = jit(f, static_argnums=-1)
    assert [float(g(2.0)), float(g(2.0, 4))] == [6.0, 8.0]
    assert seen == [("JaxprTracer", 3), ("JaxprTracer", 4)]


def test_static_argument_by_name_keyword_and_position(toys):
    f = jit(lambda x, n: toys.mul(x, float(n)), static_argnames="n")
    assert [float(f(2.0, 3)), float(f(2.0, n=5))] == [6.0, 10.0]
    only = jit(lambda x, *, n: toys.mul(x, float(n)), static_argnames=("n",))
    assert float(only(2.0, n=3)) == 6.0


def test_unhashable_static_argument():
    f = jit(lambda x, n: x, static_argnums=1)
    with pytest.raises(ValueError, match="list"):
        f(1.0, [1])
    with pytest.raises(ValueError, match=r"static argument 1 of .*hash"):
        jit(lambda x: f(x, [1]))(1.0)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"static_argnums": 3}, ValueError, "2 positional arguments"),
        ({"static_argnames": "q"}, ValueError, "'q'"),
        ({"static_argnums": "x"}, TypeError, "static_argnums"),
        ({"static_argnums": 0, "donate_argnums": 0}, ValueError, "static and as donated"),
        ({"donate_argnames": "x", "static_argnums": 0}, ValueError, "'x'"),
        ({"compiler_options": {"a": []}}, TypeError, "compiler_options"),
        ({"in_shardings": "x"}, TypeError, "in_shardings"),
    ],
)
def test_wrong_options_are_named(options, error, text):
    with pytest.raises(error, match=text):
        jit(lambda x, y: x, **options)


def test_what_is_not_callable():
    with pytest.raises(TypeError, match="given 3 of type int"):
        jit(3)


def test_donated_arguments_are_gone_and_others_are_not(toys):
    f = jit(lambda x, y: toys.add(x, y), donate_argnames="y")
    for call in (f, f, lambda x, y: f(x, y=y)):
        x, y = ones(), ones()
        call(x, y)
        assert y.is_deleted()
        assert not x.is_deleted()


def test_using_a_donated_array_names_the_argument(toys):
    f = jit(lambda value: toys.sin(value), donate_argnums=0)
    x = ones()
    f(x)
    with pytest.raises(RuntimeError, match=r"argument value of type f32\[4\].*deleted"):
        f(x)


def test_donation_of_a_nested_call_is_ignored(toys):
    g = jit(lambda x: toys.sin(x), donate_argnums=0)
    x = ones()
    jit(lambda x: toys.add(g(x), x))(x)
    assert not x.is_deleted()


def test_compiler_options_are_keyed_by_type(toys):
    from tans_xla.compile import option_items

    assert option_items({"a": True}) != option_items({"a": 1})
    f = jit(lambda x: toys.sin(x), compiler_options={"xla_cpu_enable_fast_math": True})
    assert abs(float(f(1.0)) - np.sin(1.0)) < 1e-5
    with pytest.raises(errors.JaxRuntimeError, match="nonsense"):
        jit(lambda x: toys.sin(x), compiler_options={"nonsense": True})(1.0)


def test_callables_of_all_kinds(toys):
    class Model:
        def __call__(self, x):
            return toys.add(x, 1.0)

        def method(self, x):
            return toys.add(x, 2.0)

        @functools.partial(jit, static_argnums=0)
        def compiled(self, x):
            return toys.add(x, 3.0)

    m = Model()
    partial = functools.partial(toys.add, 4.0)
    assert [float(f(1.0)) for f in (jit(m), jit(m.method), m.compiled, jit(partial))] == [
        2,
        3,
        4,
        5,
    ]


def test_wrapper_looks_like_the_function():
    def f(x, y=2):
        """Doc."""
        return x

    g = jit(f)
    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Doc.", f)


def test_recursion_and_jit_of_jit(toys):
    @functools.partial(jit, static_argnums=1)
    def f(x, n):
        return x if n == 0 else toys.add(f(x, n - 1), 1.0)

    assert float(f(0.0, 5)) == 5.0
    assert float(jit(jit(lambda x: toys.add(x, 1.0)))(1.0)) == 2.0


def test_trees_none_and_namedtuples(toys):
    Pair = namedtuple("Pair", "a b")
    f = jit(lambda p, d, n: (Pair(p.b, p.a), {"k": (d["k"], n)}))
    pair, rest = f(Pair(1.0, 2.0), {"k": 3.0}, None)
    assert isinstance(pair, Pair)
    assert [float(pair.a), float(pair.b), float(rest["k"][0])] == [2.0, 1.0, 3.0]
    assert rest["k"][1] is None
    assert jit(lambda: ())() == ()


def test_arguments_that_are_not_values_are_named_by_path():
    f = jit(lambda x, y: x)
    with pytest.raises(TypeError, match=r"argument y\['a'\]\[1\] of <lambda> is 's'"):
        f(1.0, {"a": [1, "s"]})
    with pytest.raises(TypeError, match=r"argument y .*'a', '<f4'"):
        f(1.0, np.zeros(3, [("a", "f4")]))
    with pytest.raises(TypeError, match=r"argument y .*object"):
        f(1.0, np.array([None]))


def test_big_endian_arrays_are_converted(toys):
    assert values(jit(lambda x: toys.sin(x))(np.zeros(2, ">f4"))) == [0.0, 0.0]


@pytest.mark.parametrize("result", ["s", lambda: 1, object()])
def test_results_that_are_not_values_are_named_by_path(result):
    with pytest.raises(TypeError, match=r"result\['a'\]\[1\] of <lambda> at .*test_jit.py"):
        jit(lambda x: {"a": (x, result)})(1.0)


def test_closures_over_arrays_and_tracers(toys):
    c = ones()
    f = jit(lambda x: toys.add(x, c))
    assert values(f(ones())) == [2.0] * 4

    def outer(x):
        g = jit(lambda y: toys.add(x, y))
        return g(g(1.0))

    assert float(jit(outer)(2.0)) == 5.0


def test_one_function_with_other_captured_tracers_is_traced_again(toys):
    box = {}
    g = jit(lambda y: toys.add(box["x"], y))

    def f(x):
        box["x"] = x
        return g(g(1.0))

    assert [float(jit(f)(2.0)), float(jit(lambda x: f(x))(3.0))] == [5.0, 7.0]
    box["x"] = 10.0
    assert float(g(1.0)) == 11.0


def test_x64_is_part_of_the_key(toys):
    f = jit(lambda x: toys.mul(x, 2.0))
    assert f(np.float64(1)).dtype == np.float32
    with config.enable_x64(True):
        assert f(np.float64(1)).dtype == np.float64
    assert f(np.float64(1)).dtype == np.float32


def test_values_behind_jax_array(toys):
    class Wrapped:
        def __jax_array__(self):
            return np.ones(2, np.float32)

    f = jit(lambda x: toys.add(x, Wrapped()))
    assert values(f(Wrapped())) == values(f(Wrapped())) == [2.0, 2.0]


def test_nothing_outlives_the_function(toys):
    def make():
        c = ones()

        def f(x):
            return toys.add(x, c)

        g = jit(f)
        g(ones())
        g(ones())
        jit(lambda y: g(y))(ones())
        (program,) = g._jitted.table.values()
        (executable,) = program.executables.values()
        return [weakref.ref(x) for x in (f, g, c, program.closed, executable)]

    references = make()
    gc.collect()
    assert [r() for r in references] == [None] * 5


def test_eager_calls_of_a_body_do_not_keep_it(toys):
    from tans_xla.jit import jit_p

    def make():
        c = ones()
        g = jit(lambda x: toys.add(x, c))
        call, program = g._jitted.trace((ones(),), {})
        params = g._jitted.params(call, program)
        jit_p.bind(*program.consts, ones(), **params)
        jit_p.bind(*program.consts, ones(), **params)
        assert len(program.closed.runners) == 1
        return weakref.ref(program.closed)

    reference = make()
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("forget", [cache.clear_caches, None])
def test_cleared_caches_are_filled_again(toys, forget):
    traced = []

    @jit
    def f(x):
        traced.append(1)
        return toys.sin(x)

    f(1.0)
    f(1.0)
    (forget or f.clear_cache)()
    f(1.0)
    f(1.0)
    assert len(traced) == 2


def test_a_dropped_backend_is_made_again(run_python):
    program = """
        import numpy as np
        from tans_core import cache
        from tans_xla import backend, device_put, jit

        f = jit(lambda x: (x, x))
        f(np.ones(3))
        f(np.ones(3))
        backend.drop_backend()
        print([np.asarray(y).sum() for y in f(np.ones(3))], f(device_put(1.0))[0])
    """
    assert run_python(program).split() == ["[np.float32(3.0),", "np.float32(3.0)]", "1.0"]


def test_exceptions_leave_no_trace(toys, is_clean):
    @jit
    def inner(x):
        raise KeyError("boo")

    for f in (inner, jit(lambda x: inner(x)), jit(lambda x: inner(toys.sin(x)))):
        with pytest.raises(KeyError):
            f(1.0)
        is_clean()

    @jit
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted(1.0)
    is_clean()
    assert float(toys.sin(0.0)) == 0.0


def test_a_failed_trace_is_not_remembered(toys):
    fail = [True]

    @jit
    def f(x):
        if fail:
            raise ValueError("not yet")
        return toys.sin(x)

    with pytest.raises(ValueError, match="not yet"):
        f(0.0)
    fail.clear()
    assert float(f(0.0)) == 0.0


def test_disable_jit_runs_the_function_itself(toys):
    seen = []

    @jit
    def f(x):
        seen.append(type(x))
        return toys.sin(x)

    with config.disable_jit(True):
        f(1.0)
        f(1.0)
    assert seen == [float, float]


def test_no_tracing_and_no_execution(toys):
    f = jit(lambda x: toys.sin(x))
    f(1.0)
    with config.no_tracing(True):
        f(1.0)
        with pytest.raises(RuntimeError, match="no_tracing"):
            f(1)
    with config.no_execution(True), pytest.raises(RuntimeError, match="no_execution"):
        f(1.0)
    f(1.0)
