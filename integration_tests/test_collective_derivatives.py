"""Derivatives of the operations over manual axes, to second order.

Each program maps the parts of a vector over four devices. The tangents are central differences in
float64, the two modes agree by their inner product, and both orders of nesting agree.
"""

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import lax
from tans.sharding import PartitionSpec as P

H = 1e-5


# name: the states of the axes are checked or not, and the program of one part.
PROGRAMS = {
    "psum": (False, lambda v: lax.psum(v * v, "X") * v),
    "psum_invariant": (True, lambda v: lax.psum(v * v, "X") * v),
    "ppermute": (True, lambda v: lax.ppermute(v * v, "X", [(0, 1), (1, 3)]) * v),
    "all_gather": (True, lambda v: lax.all_gather(v * v, "X").sum(0) * v),
    "all_gather_invariant": (True, lambda v: lax.all_gather(v * v, "X", to="invarying").sum(0) * v),
    "all_gather_reduced": (
        True,
        lambda v: lax.pcast(lax.all_gather(v * v, "X", to="reduced"), "X", to="varying").sum(0) * v,
    ),
    "all_to_all": (True, lambda v: lax.all_to_all(v * v, "X", 0, 0, tiled=True) * v),
    "reduce_scatter": (True, lambda v: lax.psum_scatter(v * v, "X", tiled=True)[0] * v),
    "pvary": (True, lambda v: lax.pcast(lax.psum(v, "X") ** 2, "X", to="varying") * v),
    "preduced reduced_vary_cast": (
        True,
        lambda v: (
            lax.pcast(lax.pcast(lax.psum(v, "X") ** 2, "X", to="reduced"), "X", to="varying") * v
        ),
    ),
    "vary_unreduced_cast unreduced_psum": (
        True,
        lambda v: lax.psum(lax.pcast(v * v, "X", to="unreduced"), "X") * v,
    ),
    "unreduced_reduce_scatter": (
        True,
        lambda v: lax.psum_scatter(lax.pcast(v * v, "X", to="unreduced"), "X", tiled=True)[0] * v,
    ),
}


@pytest.fixture(autouse=True)
def _mesh():
    with tans.enable_x64(True), tans.set_mesh(tans.make_mesh((4,), ("X",))):
        yield


def _mapped(name):
    checked, body = PROGRAMS[name]
    return tans.shard_map(body, in_specs=P("X"), out_specs=P("X"), check_vma=checked)


def _vectors(count=3):
    rng = np.random.default_rng(0)
    return [tans.reshard(jnp.asarray(rng.uniform(0.2, 1, 16)), P("X")) for _ in range(count)]


def _primitives_of(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from _primitives_of(inner)


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_and_second_derivatives(name):
    f = _mapped(name)
    x, t, ct = _vectors()
    used = set(_primitives_of(tans.make_jaxpr(lambda x, t: tans.jvp(f, (x,), (t,)))(x, t).jaxpr))
    assert used >= set(name.split())
    _, along = tans.jvp(f, (x,), (t,))
    difference = (f(x + H * t) - f(x - H * t)) / (2 * H)
    np.testing.assert_allclose(along, difference, rtol=1e-7, atol=1e-8)

    pull = lambda x: tans.vjp(f, x)[1](ct)[0]  # noqa: E731
    assert np.vdot(pull(x), t) == pytest.approx(np.vdot(ct, along), rel=1e-12)
    second = tans.jvp(pull, (x,), (t,))[1]
    difference = (pull(x + H * t) - pull(x - H * t)) / (2 * H)
    np.testing.assert_allclose(second, difference, rtol=1e-6, atol=1e-7)
    across = tans.vjp(lambda x: tans.jvp(f, (x,), (t,))[1], x)[1](ct)[0]
    np.testing.assert_allclose(across, second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_and_mapped_gradients(name):
    f = _mapped(name)
    x, other, ct = _vectors()
    pull = lambda x: tans.vjp(f, x)[1](ct)[0]  # noqa: E731
    np.testing.assert_allclose(tans.jit(pull)(x), pull(x), rtol=1e-12)
    both = tans.vmap(pull)(jnp.stack([x, other]))
    np.testing.assert_allclose(both, np.stack([pull(x), pull(other)]), rtol=1e-12)


@pytest.mark.parametrize(("fold", "best"), [(lax.pmax, 7.0), (lax.pmin, -2.0)])
def test_the_slope_of_an_extremum_is_the_mean_over_the_places_that_attain_it(fold, best):
    x = jnp.array([best, 1.0, best, 3.0])
    tangents = jnp.array([2.0, 30.0, 6.0, 50.0])

    def slope(v, t):
        return tans.jvp(lambda v: fold(v, "i"), (v,), (t,))

    values, slopes = tans.vmap(slope, axis_name="i")(x, tangents)
    assert values.tolist() == [best] * 4
    assert slopes.tolist() == [4.0] * 4

    def loss(v):
        return tans.vmap(lambda v: fold(v, "i"), axis_name="i", out_axes=None)(v)

    assert tans.grad(loss)(x).tolist() == [0.5, 0, 0.5, 0]
