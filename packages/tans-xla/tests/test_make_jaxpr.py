"""`make_jaxpr` and `eval_shape`: programs and types without running anything."""

import numpy as np
import pytest

from tans_core.axis_env import axis_size
from tans_xla import ShapeDtypeStruct, device_put, eval_shape, jit, make_jaxpr, named_call

X = np.ones(3, np.float32)


def test_literals_inputs_and_names(toys):
    jaxpr = make_jaxpr(lambda x, *, z: toys.mul(toys.sin(x), toys.add(z, 1.0)))(X, z=2.0)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[3] b:f32[]. let\n"
        "    c:f32[3] = sin a\n"
        "    d:f32[] = add b 1.0:f32[]\n"
        "    e:f32[3] = mul c d\n"
        "  in (e,) }"
    )


def test_nested_calls_and_captured_constants(toys):
    c = device_put(X)

    @jit
    def g(x):
        return toys.add(x, c)

    jaxpr = make_jaxpr(lambda x: g(toys.sin(x)))(X)
    assert str(jaxpr) == (
        "{ lambda a:f32[3]; b:f32[3]. let\n"
        "    c:f32[3] = sin b\n"
        "    d:f32[3] = jit[\n"
        "      name=g\n"
        "      jaxpr={ lambda ; e:f32[3] f:f32[3]. let g:f32[3] = add f e in (g,) }\n"
        "    ] a c\n"
        "  in (d,) }"
    )
    assert jaxpr.consts[0] is c


def test_static_arguments_and_return_shape(toys):
    f = make_jaxpr(lambda x, n: (toys.mul(x, float(n)), {}), static_argnums=1, return_shape=True)
    jaxpr, shape = f(X, 3)
    assert "mul a 3.0:f32[]" in str(jaxpr)
    assert shape == (ShapeDtypeStruct((3,), np.float32), {})


def test_axis_env(toys):
    sizes = []
    make_jaxpr(lambda x: sizes.append(axis_size("i")) or x, axis_env=[("i", 5)])(1.0)
    assert sizes == [5]


def test_results_may_be_inputs_and_constants():
    assert (
        str(make_jaxpr(lambda x: (x, 1.0))(2.0)) == "{ lambda ; a:f32[]. let  in (a, 1.0:f32[]) }"
    )


def test_eval_shape_of_trees_structs_and_weak_scalars(toys):
    f = lambda x, y: {"a": toys.add(x, y), "b": [y]}  # noqa: E731
    struct = ShapeDtypeStruct((3,), np.float32)
    weak = ShapeDtypeStruct((), np.float32, weak_type=True)
    assert eval_shape(f, struct, 1.0) == {"a": struct, "b": [weak]}
    assert jit(f).eval_shape(struct, 1.0) == {"a": struct, "b": [weak]}


def test_type_errors_come_from_the_rule(toys):
    with pytest.raises(TypeError, match=r"f32\[3\] and i32\[3\]"):
        make_jaxpr(lambda x: toys.add(x, np.arange(3)))(X)


def test_nothing_starts_a_backend(run_python):
    program = """
        import numpy as np
        from tans_xla import backend, eval_shape, make_jaxpr
        c = np.ones(300)
        print(len(make_jaxpr(lambda x: (x, c))(1.0).consts), eval_shape(lambda x: x, 1.0).shape)
        print(backend.is_started())
    """
    assert run_python(program).split() == ["1", "()", "False"]


@pytest.mark.parametrize("look", [make_jaxpr, eval_shape, named_call])
def test_what_is_not_callable(look):
    name = look.__name__
    with pytest.raises(TypeError, match=f"{name}: given 3 of type int; expected a function"):
        look(3)
