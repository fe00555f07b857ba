"""User types: the vectors T1 to T31 of the specification, on the worked examples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from named import Named, add, name, unname
from pairs import Pair, PairPspec, PairSpec, PairType, first, get, pair, second, swap
from quantised import Quantised, Rows, RowSpec, dequantise, quantise

import tans as jax
import tans.lax as lax
import tans.numpy as jnp
from tans.experimental import hijax as hj
from tans.sharding import AxisType

MATRIX = jnp.array([[1.0, -2.0, 4.0]])
STACK = jnp.arange(1.0, 25.0).reshape(4, 2, 3)


def text_of(x):
    return jax.typeof(x).str_short(True)


def squared(x):
    return (dequantise(quantise(x)) ** 2).sum()


# ---- rows of int8 with scales -------------------------------------------------------------------


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_quantising(under):  # T1
    q = under(quantise)(MATRIX)
    np.testing.assert_array_equal(q.payload, [[32, -64, 127]])
    np.testing.assert_allclose(q.scale, [0.03149606], rtol=1e-6)
    np.testing.assert_allclose(under(dequantise)(q), [[1.007874, -2.015748, 4]], rtol=1e-6)


def test_jaxpr_of_user_types():  # T2
    text = str(jax.make_jaxpr(lambda x: dequantise(quantise(x)))(MATRIX))
    assert "b:rq[1,3] = ToQuantised a" in text
    assert "c:f32[1,3] = FromQuantised b" in text


def test_gradient_flows_to_a_float_tangent():  # T3
    wanted = [[2.015748, -4.031496, 8]]
    np.testing.assert_allclose(jax.grad(squared)(MATRIX), wanted, rtol=1e-6)
    found = jax.grad(lambda q: (dequantise(q) ** 2).sum())(quantise(MATRIX))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == np.float32


def test_vmap_to_a_user_type():  # T4
    q = jax.vmap(quantise, out_axes=Rows())(STACK)
    assert text_of(q) == "rq[4,2,3]"
    assert (q.payload.shape, q.scale.shape) == ((4, 2, 3), (4, 2))


def test_vmap_of_a_user_type():  # T5
    found = jax.vmap(dequantise, in_axes=Rows(), axis_size=4)(quantise(STACK))
    assert 0.07 < jnp.abs(found - STACK).max() < 0.0788


def test_vmap_needs_spec_and_size():  # T6
    q = quantise(STACK)
    with pytest.raises(ValueError, match="axis_size=n"):
        jax.vmap(dequantise, in_axes=Rows())(q)
    with pytest.raises(ValueError, match="a MappingSpec"):
        jax.vmap(dequantise)(q)
    with pytest.raises(ValueError, match=r"out_axes 0 .* mapped along Rows\(\)"):
        jax.vmap(quantise)(STACK)


ROW_BLOCK = [[1.984252, 4.015748, 6], [8.031496, 10.015748, 12]]


def test_vmap_of_grad():  # T7
    np.testing.assert_allclose(jax.vmap(jax.grad(squared))(STACK)[0], ROW_BLOCK, rtol=1e-6)


def test_scan_over_stacked_values():  # T8
    def doubled(carry, q):
        return carry, quantise(2 * dequantise(q))

    ys = lax.scan(doubled, 0.0, quantise(STACK), length=4)[1]
    assert ys.payload.shape == (4, 2, 3)
    np.testing.assert_allclose(jax.grad(scanned)(STACK)[0], ROW_BLOCK, rtol=1e-6)
    with pytest.raises(ValueError, match=r"number of steps.*length=n"):
        lax.scan(doubled, 0.0, quantise(STACK))


def scanned_values(q):
    return lax.scan(lambda c, q: (c + (dequantise(q) ** 2).sum(), None), 0.0, q, length=4)[0]


def scanned(x):
    return scanned_values(quantise(x))


def test_gradient_of_stacked_values():  # T9
    assert jax.typeof(jax.grad(scanned_values)(quantise(STACK))).str_short() == "f32[4,2,3]"


@pytest.fixture
def mesh():
    mesh = jax.make_mesh((4,), ("i",), devices=jax.devices()[:4])
    with jax.set_mesh(mesh):
        yield mesh


def test_explicit_sharding(mesh):  # T10
    r = jax.reshard(jnp.arange(24.0).reshape(8, 3) + 1, jax.P("i"))
    q = quantise(r)
    assert text_of(q) == "rq[8@i,3]"
    assert text_of(dequantise(q)) == "f32[8@i,3]"
    assert q.scale.sharding.spec == jax.P("i")


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_shard_map(mesh, under):  # T11; without jit too
    r = jax.reshard(jnp.arange(24.0).reshape(8, 3) + 1, jax.P("i"))
    rows, specs = jax.P("i"), RowSpec(jax.P("i"))
    q = under(jax.shard_map(quantise, in_specs=rows, out_specs=specs))(r)
    assert text_of(q) == "rq[8@i,3]"
    back = under(jax.shard_map(dequantise, in_specs=specs, out_specs=rows))(q)
    assert jnp.abs(back - r).max() < 0.0788


def test_array_specs_on_user_types(mesh):
    with pytest.raises(TypeError, match="a HiPspec for a value of a user type"):
        jax.shard_map(quantise, in_specs=jax.P(), out_specs=jax.P())(MATRIX)


def test_values_are_opaque_while_tracing():  # T12
    q = quantise(MATRIX)
    with pytest.raises(AttributeError, match="no attribute 'payload'"):
        jax.jit(lambda q: q.payload)(q)
    with pytest.raises(AttributeError, match="'QuantisedType' object has no attribute '_add'"):
        jax.jit(lambda q: q + q)(q)
    with pytest.raises(TypeError, match=r"rq\[1,3\].*no dtype.*expected an array"):
        jax.jit(jnp.sin)(q)
    with pytest.raises(TypeError, match="Quantised was made of traced arrays"):
        jax.jit(lambda x: Quantised(x.astype(jnp.int8), x[..., 0]))(MATRIX)


# ---- pairs --------------------------------------------------------------------------------------

A3 = jnp.arange(3.0)
PAIR = Pair(A3, jnp.float32(2))


def arrays_of(p):
    return np.asarray(p.first), np.asarray(p.second)


def assert_pair(p, a, b):
    assert isinstance(p, Pair)
    np.testing.assert_allclose(p.first, a)
    np.testing.assert_allclose(p.second, b)


def test_swap():  # T13
    text = str(jax.make_jaxpr(swap)(PAIR))
    assert "a:Pair<f32[3],f32[]>" in text
    assert text.count("= Get[i=") == 2
    assert text.count("= Make ") == 1
    assert_pair(jax.jit(swap)(PAIR), 2, A3)
    assert jax.eval_shape(swap, PAIR) == PairType(jax.typeof(jnp.float32(0)), jax.typeof(A3))


def test_compiled_stages():
    compiled = jax.jit(swap).lower(PAIR).compile()
    assert_pair(compiled(PAIR), 2, A3)


def test_gradient_is_a_pair():  # T14
    assert_pair(jax.grad(lambda p: (first(p) * second(p)).sum())(PAIR), [2, 2, 2], 3)


def test_tangent_is_a_pair():  # T15
    out, tangent = jax.jvp(swap, (PAIR,), (Pair(A3 * 10, jnp.float32(7)),))
    assert_pair(out, 2, A3)
    assert_pair(tangent, 7, A3 * 10)


def test_component_wise_mapping():  # T16
    mapped = jax.vmap(swap, in_axes=PairSpec(0, None), out_axes=PairSpec(None, 0), axis_size=3)(
        PAIR
    )
    assert text_of(mapped) == "Pair<f32[],f32[3]>"
    assert_pair(mapped, 2, A3)


def test_scan_over_pairs():  # T17
    xs = Pair(jnp.arange(6.0).reshape(3, 2), A3)
    total, ys = lax.scan(lambda c, p: (c + first(p).sum() + second(p), swap(p)), 5.0, xs, length=3)
    assert total == 23
    assert_pair(ys, [0, 1, 2], [[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_carried_pair(under):  # T18
    def f(w):
        def step(c, x):
            return pair(first(c) * w, second(c) + w * x), None

        init = pair(jnp.float32(3), jnp.float32(0))
        end, _ = lax.scan(step, init, jnp.array([1.0, 2.0]))
        return first(end) + second(end)

    assert under(jax.grad(f))(3.0) == 21


def test_while_loop():  # T19
    end = lax.while_loop(
        lambda p: second(p) < 10, lambda p: pair(first(p) + 1, second(p) * 2), PAIR
    )
    assert_pair(end, [3, 4, 5], 16)


def test_cond():  # T20
    assert_pair(lax.cond(True, swap, lambda p: pair(second(p), first(p)), PAIR), 2, A3)

    def product(x):
        p = pair(x, x)
        return first(p) * second(p)

    assert jax.grad(lambda x: lax.cond(x > 0, product, lambda x: x, x))(3.0) == 6


def test_nested_pairs():  # T21
    nested = Pair(PAIR, A3)
    assert text_of(nested) == "Pair<Pair<f32[3],f32[]>,f32[3]>"
    assert_pair(jax.jit(swap)(jax.jit(swap)(nested)).first, A3, 2)


def test_second_order():  # T22
    def cube(x):
        p = swap(pair(x, x))
        return first(p) * second(p) ** 2

    assert jax.grad(jax.grad(cube))(2.0) == 12
    assert jax.hessian(cube)(2.0) == 12


def test_shard_map_of_pairs():  # T23
    mesh = jax.make_mesh((4,), ("i",), (AxisType.Auto,), devices=jax.devices()[:4])
    rows, specs = jax.P("i"), PairPspec(jax.P("i"), jax.P("i"))
    make = jax.shard_map(lambda x: pair(2 * x, x + 1), mesh=mesh, in_specs=rows, out_specs=specs)
    use = jax.shard_map(lambda p: first(p) * second(p), mesh=mesh, in_specs=specs, out_specs=rows)
    found = jax.jit(jax.grad(lambda x: use(make(x)).sum()))(jnp.arange(8.0))
    np.testing.assert_array_equal(found, [2, 6, 10, 14, 18, 22, 26, 30])


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_refs_hold_user_types(under):  # T24
    def f():
        ref = jax.new_ref(pair(jnp.float32(3), jnp.float32(3)))
        p = ref[...]
        ref[...] = pair(first(p) + 1, second(p) * 2)
        return jax.freeze(ref)

    assert_pair(under(f)(), 4, 6)


def test_refs_of_user_types_have_no_parts():
    nested = jax.new_ref(PAIR)
    assert jax.typeof(nested).str_short(True) == "Ref{Pair<f32[3],f32[]>}"
    with pytest.raises(TypeError, match=r"given a value of type Pair<float32\[\],float32\[\]>"):
        nested[...] = Pair(jnp.float32(1), jnp.float32(1))
    assert_pair(nested[...], A3, 2)


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_checkpoint(under):  # T25: the classic flag does what the new one does
    def f(x):
        p = swap(pair(x, x))
        return first(p) * second(p)

    assert under(jax.grad(jax.checkpoint(f)))(3.0) == 6


@dataclass(frozen=True)
class Box:
    x: Any


@dataclass(frozen=True)
class BoxType(hj.HiType):
    t: Any

    def lo_ty(self):
        return [self.t]

    def lower_val(self, value):
        return [value.x]

    def raise_val(self, x):
        return Box(x)

    def to_tangent_aval(self):
        return self


hj.register_hitype(Box, lambda v: BoxType(jax.typeof(v.x)))


class Wrap(hj.HiPrim):
    def __init__(self, t):
        self.in_avals, self.out_aval, self.params = (t,), BoxType(t), {}
        super().__init__()

    def expand(self, x):
        return Box(x)


def test_weak_types_count():  # T26
    weak = Wrap(jax.typeof(1.0))
    assert isinstance(weak(1.0), Box)
    with pytest.raises(TypeError, match=r"Wrap\.expand.*strip_weak_type"):
        weak(jnp.float32(1))


def test_custom_vjp():
    """Differentiable arguments of user types, which the reference takes under a flag only."""

    @jax.custom_vjp
    def product(p):
        return first(p) * second(p)

    def bwd(p, g):
        return (pair(g * second(p), 10 * g * first(p)),)

    product.defvjp(lambda p: (product(p), p), bwd)
    p = Pair(jnp.float32(2), jnp.float32(3))
    assert_pair(jax.grad(product)(p), 3, 20)
    assert_pair(jax.jit(jax.grad(product))(p), 3, 20)


def test_values_are_leaves():
    assert jax.tree.leaves(PAIR) == [PAIR]
    _, f_vjp = jax.vjp(lambda p: first(p) * second(p), Pair(jnp.float32(2), jnp.float32(3)))
    assert_pair(f_vjp(1.0)[0], 3, 2)


# ---- named axes ---------------------------------------------------------------------------------

BF = jnp.arange(6.0).reshape(2, 3)


def test_text_of_a_named_type():  # T27
    assert text_of(name(BF, "b", "f")) == "named[b:2,f:3]"


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_mismatched_names(under):  # T28
    with pytest.raises(TypeError, match=r"\('b', 'f'\) and \('b', 'g'\)"):
        under(lambda x: add(name(x, "b", "f"), name(x, "b", "g")))(BF)


def test_gradient_through_names():  # T29
    found = jax.grad(lambda x: unname(add(name(x, "b"), name(2 * x, "b"))).sum())(A3)
    np.testing.assert_array_equal(found, [3, 3, 3])


def test_gradient_of_a_named_array():  # T30
    n = name(A3, "b")
    found = jax.grad(lambda n: unname(add(n, n)).sum())(n)
    assert isinstance(found, Named)
    assert jax.typeof(found) == jax.typeof(n)
    np.testing.assert_array_equal(found.array, [2, 2, 2])


def test_operators_methods_and_properties():  # T31
    n = name(BF, "b", "f")
    np.testing.assert_array_equal(jax.jit(lambda n: n + n)(n).array, 2 * BF)
    assert "= Add a a" in str(jax.make_jaxpr(lambda n: n + n)(n))
    assert jax.jit(lambda n: unname(n) * n.size_of("f"))(n)[1, 2] == 15
    seen = []
    jax.make_jaxpr(lambda n: (seen.append(n.axes), unname(n))[1])(n)
    assert seen == [("b", "f")]


# ---- missing methods and wrong ones -------------------------------------------------------------


@dataclass(frozen=True)
class NoMethods(hj.HiType):
    pass


@pytest.mark.parametrize(
    ("use", "method"),
    [
        (lambda t: t.lo_types(), "lo_ty"),
        (lambda t: t.lower_val(None), "lower_val"),
        (lambda t: t.raise_val(), "raise_val"),
        (lambda t: t.to_tangent(), "to_tangent_aval"),
        (lambda t: t.to_cotangent(), "to_tangent_aval"),
        (lambda t: t.vspace_zero(), "vspace_zero"),
        (lambda t: t.vspace_add(None, None), "vspace_add"),
        (lambda t: t.dec_rank(None, None), "dec_rank"),
        (lambda t: t.inc_rank(1, None), "inc_rank"),
        (lambda t: t.leading_axis_spec(), "leading_axis_spec"),
        (lambda t: t.shard(None, None, True, None), "shard"),
        (lambda t: t.unshard(None, True, None), "unshard"),
        (lambda t: t.nospec(None, True, None), "nospec"),
        (lambda t: t.reshard(None), "reshard"),
    ],
)
def test_missing_methods_are_named(use, method):
    with pytest.raises(NotImplementedError, match=f"NoMethods.*`{method}`"):
        use(NoMethods())


class NoEquality(hj.HiType):
    pass


def test_types_compare():
    with pytest.raises(NotImplementedError, match=r"NoEquality.*`__eq__`"):
        assert NoEquality() == NoEquality()

    class Value:
        pass

    hj.register_hitype(Value, lambda v: NoEquality())
    with pytest.raises(NotImplementedError, match=r"NoEquality.*`__hash__`"):
        jax.typeof(Value())
    with pytest.raises(ValueError, match="Value is registered already"):
        hj.register_hitype(Value, lambda v: NoEquality())
    with pytest.raises(TypeError, match="expected a class"):
        hj.register_hitype(Value(), lambda v: NoEquality())


def test_type_functions_return_types():
    class Value:
        pass

    hj.register_hitype(Value, lambda v: 3)
    with pytest.raises(TypeError, match="returned 3 of type int, expected a HiType"):
        jax.typeof(Value())


def test_lower_val_agrees_with_lo_ty():
    @dataclass(frozen=True)
    class Value:
        x: Any

    @dataclass(frozen=True)
    class Two(hj.HiType):
        def lo_ty(self):
            return [jax.typeof(1.0), jax.typeof(1.0)]

        def lower_val(self, value):
            return [value.x]

    hj.register_hitype(Value, lambda v: Two())
    with pytest.raises(TypeError, match=r"Two\.lower_val.*\(float32\[\]\).*Two\.lo_ty"):
        jax.jit(lambda v: 1.0)(Value(jnp.float32(1)))


def test_component_types():
    t = jax.typeof(jnp.ones((2, 3)))
    assert t.dec_rank(2, 0).shape == (3,)
    assert t.dec_rank(None, None) is t
    assert t.inc_rank(4, 1).shape == (2, 4, 3)
    assert t.leading_axis_spec() == 0
    assert t.lo_ty() == [t]
    assert t.raise_val(*t.lower_val(5)) == 5
    assert get(PAIR, 1) == 2


# ---- what the reference does not do -------------------------------------------------------------


def test_device_put():
    device = jax.devices()[1]
    moved = jax.device_put(PAIR, device)
    assert_pair(moved, A3, 2)
    assert moved.first.devices() == {device}
    assert_pair(jax.jit(jax.device_put)(PAIR), A3, 2)


def test_shardings_of_jit():
    device = jax.devices()[2]
    place = jax.sharding.SingleDeviceSharding(device)
    moved = jax.jit(swap, in_shardings=place, out_shardings=place)(PAIR)
    assert_pair(moved, 2, A3)
    assert moved.second.devices() == {device}


def test_donation():
    given = Pair(jnp.arange(3.0), jnp.float32(2))
    assert_pair(jax.jit(swap, donate_argnums=0)(given), 2, A3)
    assert given.first.is_deleted()


def test_vmap_of_loops_over_pairs():
    def carried(x):
        def step(c, _):
            return pair(first(c) + second(c), second(c)), None

        return first(lax.scan(step, pair(x, 2 * x), None, length=3)[0])

    np.testing.assert_array_equal(jax.vmap(carried)(A3), 7 * A3)

    def constant(x):
        p = pair(x, 2 * x)
        return lax.scan(lambda c, _: (c + second(p), None), 0.0, None, length=3)[0]

    np.testing.assert_array_equal(jax.vmap(constant)(A3), 6 * A3)


def test_captured_values():
    assert jax.jit(lambda x: x * second(PAIR))(2.0) == 4

    def f(x):
        return lax.scan(lambda c, _: (c * second(PAIR), None), x, None, length=2)[0]

    assert jax.grad(f)(2.0) == 4


def test_fences_and_stopped_gradients():
    assert_pair(jax.jit(lax.optimization_barrier)(PAIR), A3, 2)
    assert jax.grad(lambda x: first(lax.stop_gradient(pair(x, x))))(2.0) == 0
    named = jax.ad_checkpoint.checkpoint_name(PAIR, "saved")
    assert_pair(named, A3, 2)


def test_without_jit():
    xs = Pair(jnp.ones((3, 2)), A3)
    with jax.disable_jit():
        assert lax.scan(lambda c, p: (c + second(p), None), 0.0, xs, length=3)[0] == 3


def test_linear_transpose_and_jacobian():
    (found,) = jax.linear_transpose(swap, PAIR)(swap(PAIR))
    assert_pair(found, A3, 2)
    np.testing.assert_array_equal(jax.jacrev(lambda x: first(pair(2 * x, x)))(A3), 2 * np.eye(3))


def test_wrong_tangents_and_cotangents():
    wrong = Pair(jnp.ones(2), jnp.float32(1))
    with pytest.raises(TypeError, match=r"tangent of type Pair<float32\[2\],float32\[\]>"):
        jax.jvp(swap, (PAIR,), (wrong,))
    with pytest.raises(ValueError, match=r"cotangent of type Pair<float32\[3\],float32\[\]>"):
        jax.vjp(swap, PAIR)[1](PAIR)


@pytest.mark.parametrize(
    "use",
    [
        lambda p: jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), np.float32), p),
        lambda p: jax.debug.print("{}", p),
        lambda p: lax.add_p.bind(p, p),
    ],
)
def test_operations_on_arrays_refuse_user_types(use):
    with pytest.raises(TypeError, match=r"Pair<f.*expected a"):
        jax.jit(use)(PAIR)
