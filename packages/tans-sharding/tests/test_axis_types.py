"""`auto_axes`, `explicit_axes`, `no_collectives` and meshes of mixed axis types."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import (
    AxisType,
    NamedSharding,
    auto_axes,
    explicit_axes,
    no_collectives,
)
from tans_core.errors import ForbiddenCollectiveError, ShardingTypeError

REDUCED = P(reduced={"X"})
UNREDUCED = P(unreduced={"X"})


def arranged(shape: tuple[int, ...], *spec: Any, **states: Any) -> Any:
    values = jnp.arange(float(np.prod(shape)), dtype="float32").reshape(shape)
    return tans.reshard(values, P(*spec, **states))


def type_of(x: Any) -> str:
    return str(tans.typeof(x))


@pytest.fixture
def auto_mesh() -> Iterator[Any]:
    """The mesh X=2, Y=4 with Auto axes, set for the test."""
    with tans.set_mesh(tans.make_mesh((2, 4), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)):
        yield tans.sharding.get_mesh()


@pytest.fixture
def mixed_mesh() -> Iterator[Any]:
    """The mesh X=2 (Auto), Y=4 (Explicit), set for the test."""
    types = (AxisType.Auto, AxisType.Explicit)
    with tans.set_mesh(tans.make_mesh((2, 4), ("X", "Y"), axis_types=types)):
        yield tans.sharding.get_mesh()


def placed(mesh: Any, shape: tuple[int, ...], *spec: Any) -> Any:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return tans.device_put(values, NamedSharding(mesh, P(*spec)))


# ---- auto_axes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_operation_without_a_rule_works_on_auto_axes(mesh: Any, jit: bool) -> None:
    x = arranged((8, 4), "X", "Y")
    with pytest.raises(ShardingTypeError):
        jnp.sort(x, axis=0)
    f = auto_axes(lambda a: jnp.sort(-a, axis=0), out_sharding=P("X", "Y"))
    f = tans.jit(f) if jit else f
    assert type_of(f(x)) == "float32[8@X,4@Y]"
    np.testing.assert_array_equal(f(x), np.sort(-np.arange(32.0).reshape(8, 4), axis=0))


def test_a_mapped_dimension_over_two_axes_stays_on_both() -> None:
    f = auto_axes(lambda a: a * 2, axes="Z", out_sharding=P(None))
    types = (AxisType.Explicit,) * 3
    with tans.set_mesh(tans.make_mesh((2, 2, 2), ("X", "Y", "Z"), axis_types=types)):
        x = arranged((8, 4), ("X", "Y"))
        (call,) = tans.make_jaxpr(tans.vmap(f))(x).eqns
    types = {str(v.aval) for e in call.params["jaxpr"].jaxpr.eqns for v in e.outvars}
    assert types == {"float32[8@(X,Y),4]"}


def test_some_axes_stay_explicit(mesh: Any) -> None:
    seen: list[str] = []

    @auto_axes(axes="X", out_sharding=P("X", "Y"))
    def f(a: Any) -> Any:
        seen.append(type_of(a))
        assert tans.sharding.get_abstract_mesh().auto_axes == ("X",)
        return a * 2

    y = f(arranged((8, 4), "X", "Y"))
    assert seen == ["float32[8,4@Y]"]
    assert type_of(y) == "float32[8@X,4@Y]"
    np.testing.assert_array_equal(y, 2 * np.arange(32.0).reshape(8, 4))


def test_arguments_and_results_do_not_move(mesh: Any) -> None:
    f = auto_axes(lambda a: a * 2 + 1, out_sharding=P("X", "Y"))
    tans.sharding.expect_communication(None, f, arranged((8, 4), "X", "Y"))


def test_specs_are_a_prefix_of_the_result_and_can_be_given_at_the_call(mesh: Any) -> None:
    f = auto_axes(lambda a, *, b: {"sum": a + b, "pair": (a, b)})
    x = arranged((8,), "X")
    y = f(x, b=x, out_sharding={"sum": P("Y"), "pair": P("X")})
    assert type_of(y["sum"]) == "float32[8@Y]"
    assert [type_of(z) for z in y["pair"]] == ["float32[8@X]"] * 2


def test_eager_calls_trace_once(mesh: Any) -> None:
    calls: list[None] = []
    f = auto_axes(lambda a: (calls.append(None), a + 1)[1], out_sharding=P("X"))
    for _ in range(3):
        f(arranged((8,), "X"))
    assert len(calls) == 1
    f(arranged((8,), "X"), out_sharding=P("Y"))
    assert len(calls) == 2


def test_on_auto_axes_it_is_a_plain_call(auto_mesh: Any) -> None:
    y = auto_axes(lambda a: a + 1, out_sharding=P("X"))(placed(auto_mesh, (8,), "Y"))
    assert y.sharding.spec == P("Y")


def loss(w: Any, x: Any) -> Any:
    layer = auto_axes(lambda w, x: jnp.tanh(x @ w), out_sharding=P("X", None))
    return (layer(w, x) ** 2).sum()


def plain_loss(w: Any, x: Any) -> Any:
    return (jnp.tanh(x @ w) ** 2).sum()


def test_gradients(mesh: Any) -> None:
    w, x = arranged((4, 2)) / 100, arranged((8, 4), "X") / 10
    value, grads = tans.value_and_grad(loss, (0, 1))(w, x)
    expected, plain = tans.value_and_grad(plain_loss, (0, 1))(w, x)
    assert [type_of(g) for g in grads] == ["float32[4,2]", "float32[8@X,4]"]
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for given, wanted in zip(grads, plain, strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-5)


def test_gradient_of_a_reduced_argument_is_unreduced(mesh: Any) -> None:
    w, x = arranged((4, 2)) / 100, arranged((8, 4), "X") / 10
    grad = tans.grad(loss)(tans.reshard(w, REDUCED), x)
    assert type_of(grad) == "float32[4,2]{U:X}"
    np.testing.assert_allclose(tans.reshard(grad, P()), tans.grad(plain_loss)(w, x), rtol=1e-5)


def test_forward_and_second_derivatives(mesh: Any) -> None:
    f = auto_axes(lambda a: jnp.sin(a) * a, out_sharding=P("X"))
    x = arranged((8,), "X") / 10
    primal, tangent = tans.jvp(f, (x,), (jnp.ones_like(x),))
    host = np.arange(8, dtype=np.float32) / 10
    np.testing.assert_allclose(primal, np.sin(host) * host, rtol=1e-5)
    np.testing.assert_allclose(tangent, np.sin(host) + host * np.cos(host), rtol=1e-5)
    assert type_of(tangent) == "float32[8@X]"
    second = tans.grad(lambda a: tans.grad(lambda b: f(b).sum())(a).sum())(x)
    np.testing.assert_allclose(second, 2 * np.cos(host) - host * np.sin(host), rtol=1e-4)


def test_remat_and_loops(mesh: Any) -> None:
    body = auto_axes(lambda a: jnp.tanh(a * 1.5), out_sharding=P("X"))

    def run(x: Any) -> Any:
        step = tans.checkpoint(lambda c: body(c))
        return lax.scan(lambda c, _: (step(c), None), x, None, length=3)[0].sum()

    x = arranged((8,), "X") / 10
    given = tans.jit(tans.grad(run))(x)
    plain = tans.grad(lambda x: jnp.tanh(jnp.tanh(jnp.tanh(x * 1.5) * 1.5) * 1.5).sum())(x)
    assert type_of(given) == "float32[8@X]"
    np.testing.assert_allclose(given, plain, rtol=1e-5)


@pytest.mark.parametrize("entry", ["X", None])
def test_batching_keeps_the_mapped_entry(mesh: Any, entry: Any) -> None:
    f = auto_axes(lambda a: jnp.sort(-a), out_sharding=P("Y"))
    y = tans.vmap(f)(arranged((8, 4), entry, "Y"))
    assert type_of(y) == f"float32[{'8@X' if entry else '8'},4@Y]"
    np.testing.assert_array_equal(y, np.sort(-np.arange(32.0).reshape(8, 4), axis=1))


def test_unused_results_are_removed(mesh: Any) -> None:
    f = auto_axes(lambda a, b: (jnp.sin(a), jnp.cos(b)), out_sharding=P("X"))
    x = arranged((8,), "X")
    text = tans.jit(lambda a, b: f(a, b)[0]).lower(x, x).as_text()
    assert "sine" in text
    assert "cosine" not in text


AUTO_ERRORS = {
    "no function": (lambda x: auto_axes(3), TypeError, "expected a function"),
    "unknown axis": (
        lambda x: auto_axes(jnp.sin, axes="Q", out_sharding=P())(x), ValueError, "'Q'",
    ),
    "spec too long": (
        lambda x: auto_axes(jnp.sin, out_sharding=P("X", None))(x), ValueError, "at most 1",
    ),
    "not a spec": (lambda x: auto_axes(jnp.sin, out_sharding="X")(x), TypeError, "PartitionSpec"),
    "indivisible": (
        lambda x: auto_axes(lambda a: a[:3], out_sharding=P("X"))(x), ValueError, "3",
    ),
    "captured array": (
        lambda x: auto_axes(lambda a: a + x, out_sharding=P("X"))(x), ValueError, "context mesh",
    ),
    "unreduced argument": (
        lambda x: auto_axes(jnp.sin, out_sharding=P())(tans.reshard(x, UNREDUCED)),
        NotImplementedError,
        "reshard",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), AUTO_ERRORS.values(), ids=AUTO_ERRORS.keys())
def test_errors_of_auto_axes(mesh: Any, call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(arranged((8,), "X"))


def test_without_a_mesh() -> None:
    with pytest.raises(ValueError, match="given no mesh"):
        auto_axes(jnp.sin, out_sharding=P())(jnp.ones(3))
    with pytest.raises(ValueError, match="given no mesh"):
        explicit_axes(jnp.sin, in_sharding=P())(jnp.ones(3))


def test_manual_axes_are_refused(mesh: Any) -> None:
    f = auto_axes(lambda a: a, out_sharding=P())
    manual = mesh.abstract_mesh.update_axis_types({"X": AxisType.Manual})
    with tans.sharding.use_abstract_mesh(manual), pytest.raises(NotImplementedError, match="'X'"):
        tans.eval_shape(f, jnp.ones(4))


# ---- explicit_axes ------------------------------------------------------------------------------


def test_types_inside_are_explicit_and_outside_not(auto_mesh: Any) -> None:
    seen: list[str] = []

    @explicit_axes(in_sharding=(P("X", None), P(None, "Y")))
    def f(a: Any, b: Any) -> Any:
        y = a @ b
        seen.extend(map(type_of, (a, b, y)))
        return y

    a, b = placed(auto_mesh, (8, 4), "X", "Y"), placed(auto_mesh, (4, 8))
    y = f(a, b)
    assert seen == ["float32[8@X,4]", "float32[4,8@Y]", "float32[8@X,8@Y]"]
    assert type_of(y) == "float32[8,8]"
    assert y.sharding.is_equivalent_to(NamedSharding(auto_mesh, P("X", "Y")), 2)
    np.testing.assert_allclose(y, np.asarray(a) @ np.asarray(b))


def test_gradients_of_explicit_axes(auto_mesh: Any) -> None:
    f = explicit_axes(lambda a: (a * a).sum(0), in_sharding=P("X", "Y"))
    x = placed(auto_mesh, (8, 4), "X")
    given = tans.jit(tans.grad(lambda x: f(x).sum()))(x)
    np.testing.assert_allclose(given, 2 * np.asarray(x))


def test_conflicts_are_errors_inside_of_explicit_axes(auto_mesh: Any) -> None:
    f = explicit_axes(lambda a, b: a + b, in_sharding=(P("X"), P("Y")))
    with pytest.raises(ShardingTypeError):
        f(jnp.ones(8), jnp.ones(8))


def test_errors_of_explicit_axes(auto_mesh: Any) -> None:
    with pytest.raises(TypeError, match="'in_sharding'"):
        explicit_axes(jnp.sin)(jnp.ones(8))
    f = explicit_axes(lambda a: tans.reshard(a, UNREDUCED), in_sharding=P())
    with pytest.raises(ValueError, match="unreduced along an axis that is Auto outside"):
        f(jnp.ones(8))


# ---- meshes of mixed types ----------------------------------------------------------------------


def test_operations_leave_auto_axes_to_the_compiler(mixed_mesh: Any) -> None:
    x = placed(mixed_mesh, (8, 4), "X", "Y")
    assert type_of(x) == "float32[8,4@Y]"
    tans.sharding.expect_communication(None, lambda a: jnp.sin(a) * 2 + a, x)
    assert tans.jit(lambda a: a * 2)(x).sharding.spec == P("X", "Y")


def test_explicit_axes_that_a_type_leaves_out_are_kept_out(mixed_mesh: Any) -> None:
    x = placed(mixed_mesh, (8, 4), "X", "Y")
    y = tans.jit(lambda a: tans.reshard(a, P(None, None)))(x)
    assert type_of(y) == "float32[8,4]"
    assert "Y" not in str(y.sharding.spec)
    assert y.sharding.spec.partitions[0] == "X"
    report = tans.sharding.communication(lambda a: tans.reshard(a, P(None, None)), x)
    assert [(c.kind, c.axes) for c in report] == [("all-gather", ("Y",))]


def test_constraint_of_auto_axes_keeps_explicit_entries(mixed_mesh: Any) -> None:
    x = placed(mixed_mesh, (8, 4), None, "Y")
    y = tans.jit(lambda a: lax.with_sharding_constraint(a * 2, P("X", None)))(x)
    assert type_of(y) == "float32[8,4@Y]"
    assert y.sharding.spec == P("X", "Y")
    np.testing.assert_array_equal(y, 2 * np.asarray(x))
    with pytest.raises(ValueError, match="'Y'"):
        lax.with_sharding_constraint(x, P("Y", None))


def test_reductions_on_a_mixed_mesh(mixed_mesh: Any) -> None:
    x = placed(mixed_mesh, (8, 4), "X", "Y")
    np.testing.assert_allclose(x.sum(0), np.asarray(x).sum(0))
    w = placed(mixed_mesh, (4, 8), "Y")
    dot = tans.jit(lambda a, b: jnp.matmul(a, b, out_sharding=P()))
    np.testing.assert_allclose(dot(x, w), np.asarray(x) @ np.asarray(w))


def test_unreduced_along_the_explicit_axis_of_a_mixed_mesh(mixed_mesh: Any) -> None:
    x, w = placed(mixed_mesh, (8, 4), "X", "Y"), placed(mixed_mesh, (4, 8), "Y")

    def f(a: Any, b: Any) -> Any:
        u = jnp.matmul(a, b, out_sharding=P(unreduced={"Y"}))
        return tans.reshard(u + u, P())

    np.testing.assert_allclose(tans.jit(f)(x, w), 2 * np.asarray(x) @ np.asarray(w))
    tans.sharding.expect_communication("all-reduce over Y", f, x, w)


def test_constraint_leaves_unconstrained_dimensions(auto_mesh: Any) -> None:
    x = placed(auto_mesh, (8, 4), "X", "Y")
    y = tans.jit(lambda a: lax.with_sharding_constraint(a * 2, P(P.UNCONSTRAINED, None)))(x)
    assert y.sharding.spec == P("X")


# ---- no_collectives -----------------------------------------------------------------------------

FORBIDDEN = {
    "sum": lambda x: x.sum(0),
    "gather": lambda x: tans.reshard(x, P()),
    "move": lambda x: tans.reshard(x, P(None, "X")),
    "one-sided contraction": lambda x: x.T @ jnp.ones((8, 3)),
    "sum of addends": lambda x: tans.reshard(
        lax.reduce_sum(x, (0,), out_sharding=P(None, unreduced={"X"})), P()
    ),
    "inside of jit": lambda x: tans.jit(lambda a: a.sum(0))(x),
    "inside of auto_axes": lambda x: auto_axes(lambda a: a, out_sharding=P())(x),
}


@pytest.mark.parametrize("program", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_communication_is_refused(mesh: Any, program: Any) -> None:
    x = arranged((8, 4), "X")
    program(x)  # also when it is compiled and cached already
    with (
        no_collectives({"X"}),
        pytest.raises(ForbiddenCollectiveError, match="forbidden by `no_collectives`"),
    ):
        program(x)
    program(x)


ALLOWED = {
    "elementwise": (lambda x: jnp.sin(x) * 2, lambda x: np.sin(x) * 2),
    "transpose": (lambda x: x.T, lambda x: x.T),
    "other axis": (lambda x: tans.reshard(x, P("X", "Y")).sum(1), lambda x: x.sum(1)),
    "become unreduced": (lambda x: tans.reshard(x, UNREDUCED), lambda x: x),
    "matmul": (lambda x: x @ jnp.ones((4, 3)), lambda x: x @ np.ones((4, 3))),
}


@pytest.mark.parametrize(("program", "oracle"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_stays_local_is_allowed(mesh: Any, program: Any, oracle: Any) -> None:
    x = arranged((8, 4), "X")
    with no_collectives({"X"}):
        found = program(x)
    np.testing.assert_allclose(tans.reshard(found, P()), oracle(np.asarray(x)), rtol=1e-6)


def test_contexts_add_up_and_end(mesh: Any) -> None:
    x = arranged((8, 4), "X", "Y")
    with no_collectives({"X"}):
        with no_collectives({"Y"}):
            for axis in (0, 1):
                with pytest.raises(ForbiddenCollectiveError):
                    x.sum(axis)
        x.sum(1)
    x.sum()


def test_argument_of_no_collectives() -> None:
    with pytest.raises(TypeError, match="expected a set"):
        no_collectives("X")


MANUAL = {
    "psum": (lambda v: lax.psum(v, "X"), P(None, "Y")),
    "ppermute": (lambda v: lax.ppermute(v, "X", [(0, 1)]), P("X", "Y")),
    "all_gather": (lambda v: lax.all_gather(v, "X"), P(None, "X", "Y")),
}


@pytest.mark.parametrize("name", MANUAL)
def test_collectives_over_manual_axes_are_refused(mesh: Any, name: str) -> None:
    body, out_specs = MANUAL[name]
    with no_collectives({"X"}), pytest.raises(ForbiddenCollectiveError, match="communicates"):
        tans.shard_map(body, out_specs=out_specs)(arranged((8, 4), "X", "Y"))


def test_collectives_over_other_manual_axes_are_allowed(mesh: Any) -> None:
    x = arranged((8, 4), "X", "Y")
    with no_collectives({"Y"}):
        found = tans.shard_map(lambda v: lax.psum(v, "X"), out_specs=P(None, "Y"))(x)
    np.testing.assert_array_equal(found, np.asarray(x)[:4] + np.asarray(x)[4:])


def test_auto_axes_inside_of_a_manual_computation(mesh: Any) -> None:
    def body(v: Any) -> Any:
        assert type_of(v) == "float32[4,4@Y]{V:X}"
        return auto_axes(lambda a: jnp.sort(-a), axes="Y", out_sharding=P(None, "Y"))(v)

    f = tans.shard_map(body, out_specs=P("X"), axis_names={"X"})
    x = arranged((8, 4), "X", "Y")
    np.testing.assert_array_equal(f(x), np.sort(-np.arange(32.0).reshape(8, 4)))
    grad = tans.grad(lambda x: (f(x) ** 2).sum())(x)
    assert type_of(grad) == "float32[8@X,4@Y]"
    np.testing.assert_allclose(grad, 2 * np.arange(32.0).reshape(8, 4))
    with pytest.raises(NotImplementedError, match="'X'"):
        tans.shard_map(auto_axes(jnp.sin, out_sharding=P()), out_specs=P("X", "Y"))(x)
