"""Structured residuals: the vectors R1 to R14 of the specification.

The reference compiles many NumPy functions as calls of their own, each of which adds an empty list
to its result; here such calls don't exist, and neither do their lists.
"""

import numpy as np
import pytest

import tans as jax
import tans.lax as lax
import tans.numpy as jnp
from tans.experimental import hijax as hj
from tans.sharding import AxisType


class NamedPower(hj.HiPrim):
    """x ** p, which saves x under a name."""

    def __init__(self, t, p, name):
        self.in_avals, self.out_aval, self.params = (t,), t, {"p": p, "name": name}
        super().__init__()

    def expand(self, x):
        return x**self.p

    def vjp_fwd(self, nzs_in, x):
        return self(x), None, True, {self.name: x}

    def vjp_bwd(self, res, sres, ct, accum):
        accum.accum(ct * self.p * sres[self.name] ** (self.p - 1))

    def lin(self, nzs_in, x):
        return self(x), None, True, {self.name: x}

    def linearized(self, res, sres, t):
        return t * self.p * sres[self.name] ** (self.p - 1)

    def batch(self, axis_data, args, dims):
        return NamedPower(jax.typeof(args[0]), self.p, self.name)(*args), dims[0]


def sq(x, name):
    return NamedPower(jax.typeof(x), 2, name)(x)


def cube(x, name):
    return NamedPower(jax.typeof(x), 3, name)(x)


def saved_by(f, x):
    """Return the structured residuals and the gradient of the sum of ``f(x)``."""
    out, f_vjp = jax.vjp(f, x)
    return f_vjp.structured_residuals, f_vjp(jnp.ones_like(out))[0]


def test_entries_in_order():  # R1
    _, f_vjp = jax.vjp(lambda x: sq(x, "a") + cube(x, "b"), 3.0)
    assert f_vjp.structured_residuals == [{"a": 3}, {"b": 3}]
    assert jax.tree.leaves(f_vjp.args_res) == []
    assert f_vjp.opaque_residuals == []
    assert f_vjp(1.0) == (33,)
    a, b = jax.tree.leaves(f_vjp.structured_residuals)
    assert a is b
    assert f_vjp.nbytes == 4


def test_scan_stacks():  # R2
    def f(xs):
        return lax.scan(lambda c, x: (c + sq(x, "s"), None), 0.0, xs)[0]

    found, gradient = saved_by(f, jnp.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found[0][0]["s"], [1, 2, 3])
    np.testing.assert_array_equal(gradient, [2, 4, 6])


def test_scan_stacks_carries():  # R3
    def f(c):
        return lax.scan(lambda c, x: (sq(c, "s") * x, None), c, jnp.ones(3))[0]

    found, gradient = saved_by(f, 2.0)
    np.testing.assert_array_equal(found[0][0]["s"], [2, 4, 16])
    assert gradient == 1024


def test_scan_repeats_constants():
    def f(w):
        return lax.scan(lambda c, x: (c + sq(w, "s") * x, None), 0.0, jnp.arange(1.0, 4))[0]

    found, gradient = saved_by(f, 2.0)
    np.testing.assert_array_equal(found[0][0]["s"], [2, 2, 2])
    assert gradient == 24


def test_cond_tags():  # R4
    def f(x):
        return lax.cond(x > 0, lambda x: sq(x, "p"), lambda x: cube(x, "n"), x)

    (found,), gradient = saved_by(f, 3.0)
    assert found.index == 1
    assert found.branches == [[{"n": 0}], [{"p": 3}]]
    assert gradient == 6


def test_cond_with_one_branch_that_saves():  # R5
    def f(x):
        return lax.cond(x > 0, lambda x: sq(x, "p"), lambda x: 2 * x, x)

    (found,), gradient = saved_by(f, -3.0)
    assert found.index == 0
    assert found.branches == [[], [{"p": 0}]]
    assert gradient == 2


def test_cond_inside_scan():
    def f(xs):
        def step(c, x):
            return c + lax.cond(x > 0, lambda x: sq(x, "p"), lambda x: cube(x, "n"), x), None

        return lax.scan(step, 0.0, xs)[0]

    found, gradient = saved_by(f, jnp.array([1.0, -2.0, 3.0]))
    tagged = found[0][0]
    np.testing.assert_array_equal(tagged.index, [1, 0, 1])
    np.testing.assert_array_equal(tagged.branches[0][0]["n"], [0, -2, 0])
    np.testing.assert_array_equal(tagged.branches[1][0]["p"], [1, 0, 3])
    np.testing.assert_array_equal(gradient, [2, 12, 6])


@pytest.fixture
def over_devices():
    mesh = jax.make_mesh((4,), ("i",), (AxisType.Auto,), devices=jax.devices()[:4])
    rows = jax.P("i")
    return lambda f: jax.shard_map(f, mesh=mesh, in_specs=rows, out_specs=rows)


def test_shard_map_lines_up_parts(over_devices):  # R6
    found, gradient = saved_by(over_devices(lambda x: sq(x, "sm")), jnp.arange(8.0))
    np.testing.assert_array_equal(found[0][0]["sm"], jnp.arange(8.0))
    np.testing.assert_array_equal(gradient, 2 * jnp.arange(8.0))


def test_shard_map_lines_up_scalars(over_devices):  # R7
    f = over_devices(lambda x: sq(x.sum(), "sm") * x)
    _, f_vjp = jax.vjp(f, jnp.arange(8.0))
    found = f_vjp.structured_residuals
    np.testing.assert_array_equal(found[0][0]["sm"], [1, 5, 9, 13])
    exchanged = f_vjp.replace(structured_residuals=jax.tree.map(jnp.zeros_like, found))
    np.testing.assert_array_equal(exchanged(jnp.ones(8))[0], np.repeat([1.0, 25, 81, 169], 2))


def test_jit():  # R8
    assert saved_by(jax.jit(lambda x: sq(x, "j") * 2), 3.0) == ([[{"j": 3}]], 12)


def test_returned_from_a_compiled_forward():  # R9
    f_vjp = jax.jit(lambda x: jax.vjp(lambda x: sq(x, "j") * 2, x)[1])(3.0)
    assert f_vjp.structured_residuals == [{"j": 3}]
    assert f_vjp(1.0) == (12,)


def test_fori_loop():  # R10
    found, _ = saved_by(lambda x: lax.fori_loop(0, 3, lambda i, x: sq(x, "f"), x), 1.1)
    np.testing.assert_allclose(found[0][0]["f"], [1.1, 1.21, 1.4641001], rtol=1e-6)


def test_map():  # R11
    found, _ = saved_by(lambda xs: lax.map(lambda x: sq(x, "m"), xs), jnp.arange(3.0))
    np.testing.assert_array_equal(found[0][0]["m"], [0, 1, 2])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sq(x, "a"),
        jax.jit(lambda x: sq(x, "a")),
        lambda x: lax.cond(x > 0, lambda x: sq(x, "a"), lambda x: x, x),
        lambda x: lax.scan(lambda c, _: (sq(c, "a"), None), x, None, length=1)[0],
    ],
)
def test_edit_and_apply_again(f):  # R12
    _, f_vjp = jax.vjp(f, 3.0)
    edited = jax.tree.map(
        lambda x: x * 10 if jnp.issubdtype(x.dtype, jnp.floating) else x,
        f_vjp.structured_residuals,
    )
    assert f_vjp(1.0) == (6,)
    assert f_vjp.replace(structured_residuals=edited)(1.0) == (60,)


def test_an_edit_changes_nothing_else():
    """Another reader of the same value keeps it."""
    _, f_vjp = jax.vjp(lambda x: sq(x, "a") + jnp.sin(x), 0.0)
    assert f_vjp.replace(structured_residuals=[{"a": jnp.float32(5)}])(1.0) == (11,)


def test_wrong_edits():
    _, f_vjp = jax.vjp(lambda x: sq(x, "a"), 3.0)
    with pytest.raises(ValueError, match="structured_residuals with the structure"):
        f_vjp.replace(structured_residuals=[])(1.0)
    with pytest.raises(ValueError, match=r"leaf 0, which is float32\[2\]"):
        f_vjp.replace(structured_residuals=[{"a": jnp.ones(2)}])(1.0)


def test_checkpoint_saves_none():  # R13
    assert saved_by(jax.checkpoint(lambda x: sq(x, "a")), 3.0) == ([], 6)


def test_linearize():  # R14
    assert jax.linearize(lambda x: sq(x, "a"), 3.0)[1](1.0) == 6


def test_bwd_must_take_them():
    class NoBackward(NamedPower):
        vjp_bwd = hj.HiPrim.vjp_bwd

    with pytest.raises(TypeError, match=r"NoBackward\.vjp_fwd.*vjp_bwd\(res, sres, ct"):
        jax.grad(lambda x: NoBackward(jax.typeof(x), 2, "a")(x))(3.0)


def test_vmap():
    xs = jnp.arange(3.0)
    found, _ = saved_by(jax.vmap(lambda x: sq(x, "a")), xs)
    np.testing.assert_array_equal(found[0]["a"], xs)
    mapped = jax.vmap(lambda x: jax.vjp(lambda x: sq(x, "a"), x)[1].structured_residuals)(xs)
    np.testing.assert_array_equal(mapped[0]["a"], xs)
