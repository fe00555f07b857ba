"""`jit` over several devices: requested shardings, placement by arguments, and conflicts."""

import numpy as np
import pytest

from tans_core import config_module as config
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec as P
from tans_core.sharding import IndivisibleError, named_sharding, single_device_sharding
from tans_xla import device_put, devices, jit

X = np.arange(64, dtype=np.float32).reshape(8, 8)


@pytest.fixture
def auto_mesh():
    return Mesh(np.array(devices()).reshape(2, 4), ("x", "y"))


@pytest.fixture
def over(auto_mesh):
    return lambda *axes: named_sharding(auto_mesh, P(*axes))


def test_in_and_out_shardings(toys, over):
    options = {"in_shardings": (over("x"), over(None, "y")), "out_shardings": over("x", "y")}
    f = jit(lambda x, y: toys.add(x, y), **options)
    for _ in range(2):
        y = f(X, X)
        assert y.sharding == over("x", "y")
        np.testing.assert_array_equal(y, 2 * X)


def test_a_none_entry_follows_the_argument(toys, over):
    f = jit(lambda x, y: toys.sin(y), in_shardings=(over("x"), None))
    text = f.lower(X, device_put(X, over("y"))).as_text()
    assert text.count('[{"y"}, {}]') == 1
    np.testing.assert_allclose(f(X, device_put(X, over("y"))), np.sin(X), rtol=1e-5, atol=1e-6)


def test_prefixes_of_trees(over):
    f = jit(
        lambda d, z: (d["a"], {"k": [z, z]}),
        in_shardings=({"a": over("x"), "b": over("y")}, over()),
        out_shardings=(None, over("y")),
    )
    first, rest = f({"a": X, "b": [X, X]}, X)
    assert first.sharding.spec == P("x")
    assert {z.sharding for z in rest["k"]} == {over("y")}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"in_shardings": lambda s: (s("x"),)}, "in_shardings.*length 1.*length 2"),
        ({"in_shardings": lambda s: (None, {"c": s("x")})}, r"in_shardings.*\[1\]"),
        ({"out_shardings": lambda s: (s("x"),)}, "out_shardings.*length 1.*length 2"),
    ],
)
def test_prefixes_that_do_not_fit_name_the_option(over, options, text):
    f = jit(lambda x, y: (x, y), **{k: make(over) for k, make in options.items()})
    with pytest.raises(ValueError, match=f"<lambda>: {text}"):
        f(X, X)


def test_shardings_that_do_not_fit_the_shape_name_the_value(over):
    with pytest.raises(IndivisibleError, match=r"argument x of type f32\[3\].*not divisible by 2"):
        jit(lambda x: x, in_shardings=(over("x"),))(X[0, :3])
    with pytest.raises(IndivisibleError, match=r"result 0 of type f32\[3\]"):
        jit(lambda x: x, out_shardings=over("x"))(X[0, :3])
    with pytest.raises(ValueError, match=r"argument x of type f32\[8\].*spec of 2 entries"):
        jit(lambda x: x, in_shardings=(over("x", "y"),))(X[0])


def test_what_is_no_sharding(over, auto_mesh):
    with pytest.raises(RuntimeError, match="without a mesh"):
        jit(lambda x: x, in_shardings=P("x"))(X)
    with pytest.raises(ValueError, match="mesh is abstract"):
        jit(lambda x: x, out_shardings=named_sharding(auto_mesh.abstract_mesh, P("x")))
    with pytest.raises(ValueError, match="keyword arguments d"):
        jit(lambda d: d, in_shardings=(over("x"),))(d=X)


def test_a_committed_argument_with_another_sharding_is_refused(toys, over):
    f = jit(lambda x: toys.sin(x), in_shardings=(over("x"),))
    f(X)
    for other in (over("y"), single_device_sharding(devices()[3])):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"argument x is committed to .*expected"):
                f(device_put(X, other))
    # Uncommitted arrays move, and a sharding that places alike is the same.
    for fits in (device_put(X), device_put(X, over("x", None)), X):
        np.testing.assert_allclose(f(fits), np.sin(X), rtol=1e-5, atol=1e-6)


def test_uncommitted_arguments_follow_committed_ones(toys, over):
    f = jit(lambda x, y: toys.add(x, y))
    there = device_put(X, devices()[3])
    spread = device_put(X, over("x"))
    for _ in range(2):
        y = f(device_put(X), there)
        assert y.devices() == {devices()[3]}
        assert y.committed
        np.testing.assert_array_equal(f(device_put(X), spread), 2 * X)
        np.testing.assert_array_equal(f(X, spread), 2 * X)
    assert not f(X, X).committed


def test_conflicts_list_the_values(toys, over):
    one, two = device_put(X, devices()[1]), device_put(X, devices()[2])
    with pytest.raises(
        ValueError, match=r"(?s)argument a\['q'\]: \['cpu:1'\].*argument b: .*cpu:2"
    ):
        jit(lambda a, b: toys.add(a["q"], b))({"q": one}, two)
    with pytest.raises(ValueError, match=r"(?s)a captured constant: .*cpu:1.*argument b"):
        jit(lambda b: toys.add(one, b))(two)
    f = jit(lambda a, b: toys.add(a, b))
    f(one, one)
    with pytest.raises(ValueError, match="different devices"):
        f(one, two)


def test_meshes_in_another_device_order_conflict(toys, over):
    reverse = Mesh(np.array(devices()[::-1]).reshape(2, 4), ("x", "y"))
    other = named_sharding(reverse, P("x"))

    def g(x):
        return toys.sin(x)

    first, second = jit(g, in_shardings=over("x")), jit(g, in_shardings=other)
    with pytest.raises(ValueError, match="in_shardings of g"):
        jit(lambda x: toys.add(first(x), second(x)))(X)


def test_shardings_of_a_nested_jit_are_constraints(toys, over):
    g = jit(lambda x: toys.sin(x), in_shardings=over("x"), out_shardings=over(None, "y"))
    f = jit(lambda x: g(x))
    assert f.lower(X).as_text().count("sdy.sharding_constraint") == 2
    y = f(X)
    assert y.sharding == over(None, "y")
    np.testing.assert_allclose(y, np.sin(X), rtol=1e-5, atol=1e-6)


def test_donated_shards(toys, over):
    f = jit(lambda x: toys.sin(x), donate_argnums=0, out_shardings=over("x"))
    for _ in range(2):
        x = device_put(X, over("x"))
        f(x)
        assert x.is_deleted()


def test_device_and_backend_options(toys):
    assert jit(lambda x: toys.sin(x), device=devices()[2])(1.0).devices() == {devices()[2]}
    assert jit(lambda x: toys.sin(x), backend="cpu")(1.0).devices() == {devices()[0]}


def test_default_device_is_part_of_the_key(toys):
    f = jit(lambda x: toys.sin(x))
    f(1.0)
    with config.default_device(devices()[5]):
        assert f(1.0).devices() == toys.sin(1.0).devices() == {devices()[5]}
    assert f(1.0).devices() == {devices()[0]}


def test_a_hit_over_a_mesh_runs_no_python(toys, over, count_calls):
    f = jit(lambda x: toys.sin(x), in_shardings=(over("x"),))
    x = device_put(X, over("x"))
    f(x)
    assert count_calls(f, x) == []


@pytest.mark.parametrize("spec", [("x", None), ("x",), (None, None), (None, "y"), ()])
def test_specs_that_the_compiler_chose_are_written_as_those_of_the_argument(toys, over, spec):
    x = device_put(X, over(*spec))
    double = jit(lambda x: (x, toys.add(x, x)))
    for out in double(x):
        assert out.sharding == x.sharding
    double(double(x)[1])
    assert double._cache_size() == 1
    both = jit(lambda a, b: (toys.add(a, a), toys.add(b, b)))
    first, second = both(device_put(X, over("x")), x)
    assert first.sharding == over("x")
    assert second.sharding == (over("x") if spec[:1] == ("x",) else x.sharding)
