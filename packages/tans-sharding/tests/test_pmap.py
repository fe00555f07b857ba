"""pmap: a mapped axis with one element per device."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import AxisType, NamedSharding

X = np.arange(4.0, dtype=np.float32)
ROWS = np.arange(8.0, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize("shape", [(1,), (8,), (4, 0), (3, 2, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64])
def test_elements_on_devices(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    y = tans.pmap(lambda v: v)(x)
    np.testing.assert_array_equal(y, x)
    assert y.dtype == dtype
    assert len(y.sharding.device_set) == shape[0]
    if shape[0] > 1:
        assert isinstance(y.sharding, NamedSharding)
        assert y.sharding.mesh.axis_types == (AxisType.Auto,)


@pytest.mark.parametrize(
    ("in_axes", "out_axes", "oracle"),
    [
        (0, 0, lambda x: 2 * x),
        (1, 0, lambda x: 2 * x.T),
        (-1, 1, lambda x: 2 * x),
        (0, 1, lambda x: 2 * x.T),
        (0, -1, lambda x: 2 * x.T),
        (1, None, lambda x: 2 * x[:, 0]),
    ],
)
def test_axes(in_axes: int, out_axes: Any, oracle: Callable[[Any], Any]) -> None:
    out = tans.pmap(lambda v: v * 2, in_axes=in_axes, out_axes=out_axes)(ROWS)
    np.testing.assert_array_equal(out, oracle(ROWS))


def test_trees_keywords_and_static_arguments() -> None:
    fun = tans.pmap(lambda d, b: d["a"] + d["b"] + b, in_axes=({"a": 0, "b": None}, None))
    np.testing.assert_array_equal(fun({"a": X, "b": 1.0}, 2.0), X + 3)
    np.testing.assert_array_equal(tans.pmap(lambda v, b: v + b)(X, b=X), 2 * X)
    fun = tans.pmap(lambda n, v: v * n, static_broadcasted_argnums=0)
    np.testing.assert_array_equal(fun(3, X), 3 * X)
    out = tans.pmap(lambda v: (v, {"s": v * 2}), out_axes=(0, None))(X)
    np.testing.assert_array_equal(out[0], X)
    assert float(out[1]["s"]) == 0
    draw = tans.pmap(lambda key: tans.random.normal(key, (2,)))
    keys = tans.random.split(tans.random.key(0), 4)
    want = tans.vmap(lambda key: tans.random.normal(key, (2,)))(keys)
    np.testing.assert_array_equal(draw(keys), want)


COLLECTIVES: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("psum", lambda v: lax.psum(v, "i"), np.full(4, 6)),
    ("pmean", lambda v: lax.pmean(v, "i"), np.full(4, 1.5)),
    ("pmax", lambda v: lax.pmax(v, "i"), np.full(4, 3)),
    ("groups", lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1], [2, 3]]), [1, 1, 5, 5]),
    ("index", lambda v: v * 0 + lax.axis_index("i"), [0, 1, 2, 3]),
    ("size", lambda v: v * 0 + lax.axis_size("i"), np.full(4, 4)),
    ("permute", lambda v: lax.ppermute(v, "i", [(0, 1), (1, 2)]), [0, 0, 1, 0]),
    ("gather", lambda v: lax.all_gather(v, "i"), np.tile(X, (4, 1))),
    ("scan", lambda v: lax.scan(lambda c, _: (lax.psum(c, "i"), None), v, None, length=2)[0],
     np.full(4, 24)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fun", "want"), [c[1:] for c in COLLECTIVES], ids=[c[0] for c in COLLECTIVES]
)
def test_collectives(fun: Any, want: Any) -> None:
    for run in (lambda f: f, tans.jit):
        np.testing.assert_array_equal(run(tans.pmap(fun, axis_name="i"))(X), want)


def test_derivatives() -> None:
    inside = tans.pmap(tans.grad(lambda w: lax.psum(w**2, "i")), axis_name="i")
    np.testing.assert_array_equal(inside(X), 8 * X)
    normed = tans.pmap(lambda v: v * lax.psum(v**2, "i"), axis_name="i")
    plain = lambda v: (v * (v**2).sum()).sum()  # noqa: E731
    np.testing.assert_allclose(tans.grad(lambda v: normed(v).sum())(X), tans.grad(plain)(X))
    shared = tans.pmap(lambda v, w: jnp.sin(w * v), in_axes=(0, None))
    got = tans.grad(lambda w: shared(X, w).sum())(np.float32(2))
    np.testing.assert_allclose(got, (X * np.cos(2 * X)).sum(), rtol=1e-5)


def test_with_other_transformations() -> None:
    double = tans.pmap(lambda v: v * 2)
    np.testing.assert_array_equal(
        tans.vmap(double)(np.ones((3, 4), np.float32)), np.full((3, 4), 2)
    )
    np.testing.assert_array_equal(tans.pmap(tans.vmap(lambda v: v * 2))(ROWS), 2 * ROWS)
    np.testing.assert_array_equal(double(double(X)), 4 * X)
    np.testing.assert_array_equal(double(tans.device_put(X, tans.devices()[5])), 2 * X)
    assert double.lower(X).compile() is not None
    types: list[str] = []
    tans.pmap(lambda v: types.append(str(tans.typeof(v))) or v)(ROWS)
    assert types == ["float32[2]"]


def test_programs_are_kept() -> None:
    calls: list[int] = []
    fun = tans.pmap(lambda v: calls.append(1) or v)
    for _ in range(3):
        fun(X)
    assert calls == [1]


def test_devices_and_donation() -> None:
    chosen = tans.devices()[:3:-1]
    y = tans.pmap(lambda v: v + 1, devices=chosen)(X)
    assert [d.id for d in y.sharding.mesh.devices] == [d.id for d in chosen]
    np.testing.assert_array_equal(y, X + 1)
    x = tans.pmap(lambda v: v)(X)
    tans.pmap(lambda v: v + 1, donate_argnums=0)(x)
    assert x.is_deleted()


ERRORS: list[tuple[str, type[Exception], str, dict[str, Any], tuple[Any, ...]]] = [
    ("nothing mapped", ValueError, "at least one argument with a mapped", {"in_axes": None}, (X,)),
    ("too many", ValueError, "one element per device", {}, (np.ones(9),)),
    ("size", ValueError, "axis_size=3", {"axis_size": 3}, (X,)),
    ("scalar", ValueError, "an axis that it has", {}, (3.0,)),
    ("not an array", ValueError, "static_broadcasted_argnums", {}, ("text",)),
    ("list", ValueError, "in_axes", {"in_axes": [0]}, (X,)),
    ("string", TypeError, "in_axes", {"in_axes": "a"}, (X,)),
    ("leaf", TypeError, "ints and None", {"in_axes": ("a",)}, (X,)),
    ("length", ValueError, "one entry per positional", {"in_axes": (0, 0)}, (X,)),
    ("out tree", ValueError, "out_axes", {"out_axes": (0, 0)}, (X,)),
    ("out of range", ValueError, "out_axes", {"out_axes": 3}, (X,)),
    ("no devices", ValueError, "at least one device", {"devices": []}, (X,)),
    ("hash", ValueError, "no hash", {"static_broadcasted_argnums": 0}, ([1], X)),
    ("position", ValueError, "by position", {"static_broadcasted_argnums": 1}, (X,)),
]


@pytest.mark.parametrize(
    ("error", "text", "options", "args"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS]
)
def test_errors(error: Any, text: str, options: Any, args: Any) -> None:
    with pytest.raises(error, match=text):
        tans.pmap(lambda *xs: xs[-1], **options)(*args)


def test_sizes_that_differ() -> None:
    with pytest.raises(ValueError, match="sizes"):
        tans.pmap(lambda a, b: a)(X, np.ones(3))


def test_without_a_function_the_error_names_the_fix() -> None:
    with pytest.raises(TypeError, match=r"functools\.partial\(pmap, axis_name='i'\)"):

        @tans.pmap(axis_name="i")
        def double(v: Any) -> Any:
            return v * 2

    @functools.partial(tans.pmap, axis_name="i")
    def triple(v: Any) -> Any:
        """Triple."""
        return v * 3

    assert triple.__doc__ == "Triple."
    np.testing.assert_array_equal(triple(X), 3 * X)
    with pytest.raises(TypeError, match="the function to map"):
        tans.pmap(3)


def test_meshes_in_context(mesh: Any) -> None:
    with pytest.raises(ValueError, match="should match the mesh"):
        tans.pmap(lambda v: v)(X)
    tans.set_mesh(None)
    with pytest.raises(ValueError, match="should match the mesh"):
        tans.pmap(tans.pmap(lambda v: v))(ROWS)
    same = tans.make_mesh((4,), ("i",), (AxisType.Auto,))
    with tans.set_mesh(same):
        out = tans.pmap(lambda v: lax.psum(v, "i"), axis_name="i")(X)
    assert out.sharding.spec == P("i")


def test_no_elements() -> None:
    with pytest.raises(ValueError, match=r"pmap: given mapped axes of size 0; expected one"):
        tans.pmap(lambda v: v)(np.ones((0, 2)))
