"""vmap in explicit mode: the mapped dimension keeps its mesh axes, outside the function's types."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import AxisType, NamedSharding
from tans_core.sharding import DuplicateSpecError

VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)
WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


def rows(*spec: Any) -> Any:
    return tans.reshard(VALUES, P(*spec))


def test_types_inside_lack_the_mapped_axis(mesh: Any) -> None:
    seen = []
    tans.vmap(lambda x: seen.append(str(tans.typeof(x))) or x)(rows("X", "Y"))
    assert seen == ["float32[4@Y]"]


def test_unmapped_operands_meet_mapped_ones(mesh: Any) -> None:
    out = tans.vmap(lambda x, w: x @ w, (0, None))(rows("X"), jnp.asarray(WEIGHTS))
    assert str(tans.typeof(out)) == "float32[8@X,3]"
    np.testing.assert_allclose(out, VALUES @ WEIGHTS)


def test_operations_that_need_equal_shardings(mesh: Any) -> None:
    out = tans.vmap(lambda x: lax.concatenate([x, jnp.ones(4)], 0))(rows("X"))
    assert str(tans.typeof(out)) == "float32[8@X,8]"
    picked = tans.vmap(lambda x: jnp.where(x > 3, x, 0.0))(rows("X", "Y"))
    assert str(tans.typeof(picked)) == "float32[8@X,4@Y]"


def test_loops_over_mapped_carries(mesh: Any) -> None:
    def fun(x: Any) -> Any:
        return lax.scan(lambda c, _: (c * 2.0, c.sum()), x, None, length=3)

    carry, sums = tans.vmap(fun)(rows("X"))
    assert str(tans.typeof(carry)) == "float32[8@X,4]"
    assert str(tans.typeof(sums)) == "float32[8@X,3]"
    np.testing.assert_allclose(carry, VALUES * 8)


def test_specs_inside_refer_to_one_element(mesh: Any) -> None:
    out = tans.vmap(lambda x: tans.reshard(x, P("Y")))(rows("X"))
    assert str(tans.typeof(out)) == "float32[8@X,4@Y]"
    total = tans.vmap(lambda x: lax.reduce_sum(x, (0,), out_sharding=P()))(rows("X", "Y"))
    assert str(tans.typeof(total)) == "float32[8@X]"
    reshaped = tans.vmap(lambda x: jnp.reshape(x, (2, 2), out_sharding=P()))(rows("X"))
    assert str(tans.typeof(reshaped)) == "float32[8@X,2,2]"


def test_products_make_addends_inside(mesh: Any) -> None:
    w = tans.reshard(WEIGHTS, P("Y"))
    fun = tans.vmap(lambda x, w: jnp.dot(x, w, out_sharding=P(unreduced={"Y"})), (0, None))
    out = fun(rows("X", "Y"), w)
    assert str(tans.typeof(out)) == "float32[8@X,3]{U:Y}"
    np.testing.assert_allclose(tans.reshard(out, P()), VALUES @ WEIGHTS)


def test_naming_the_mapped_axis_inside_is_refused(mesh: Any) -> None:
    with pytest.raises(DuplicateSpecError, match="without the mapped axis"):
        tans.vmap(lambda x: tans.reshard(x, P("X")))(rows("X"))


def test_spmd_axis_name_agrees_with_the_type(mesh: Any) -> None:
    tans.vmap(jnp.sin, spmd_axis_name="X")(rows("X"))
    with pytest.raises(ValueError, match="spmd_axis_name"):
        tans.vmap(jnp.sin, spmd_axis_name="Y")(rows("X"))


def test_gradient_under_vmap(mesh: Any) -> None:
    out = tans.vmap(tans.grad(lambda x: (x**2).sum()))(rows("X", "Y"))
    assert str(tans.typeof(out)) == "float32[8@X,4@Y]"
    np.testing.assert_allclose(out, 2 * VALUES)


def test_jacobians_carry_the_shardings_of_both_sides(mesh: Any) -> None:
    x = rows("X")
    assert str(tans.typeof(tans.jacrev(lambda x: x.sum(1))(x))) == "float32[8,8@X,4]"
    assert str(tans.typeof(tans.jacfwd(lambda x: x.sum(1))(x))) == "float32[8@X,8,4]"


def test_shardings_of_a_mapped_jit_hold_for_what_is_not_mapped() -> None:
    auto = tans.make_mesh((2, 4), ("X", "Y"), (AxisType.Auto,) * 2)
    place = NamedSharding(auto, P("X"))
    f = tans.jit(lambda x, w: (x + w, 2 * w), in_shardings=place, out_shardings=place)
    mapped = tans.vmap(f, (0, None), (0, None))
    x, w = np.ones((3, 8), np.float32), np.arange(8, dtype=np.float32)
    (equation,) = tans.make_jaxpr(mapped)(x, w).eqns
    assert equation.params["in_shardings"] == (None, place)
    assert equation.params["out_shardings"] == (None, place)
    total, twice = mapped(x, w)
    np.testing.assert_array_equal(total, x + w)
    np.testing.assert_array_equal(twice, 2 * w)


@pytest.mark.parametrize("name", ["X", "Y"])
def test_constraints_inside_of_a_mapped_shard_map(name: str) -> None:
    mesh = tans.make_mesh((2, 4), ("X", "Y"), axis_types=(AxisType.Auto, AxisType.Auto))
    x = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    with tans.set_mesh(mesh):
        part = tans.shard_map(
            lambda v: lax.with_sharding_constraint(v * 2, P(None, None)),
            in_specs=P(), out_specs=P(), axis_names={"X"},
        )  # fmt: skip
        mapped = tans.vmap(part, spmd_axis_name=name)
        (outer,) = tans.make_jaxpr(mapped)(x).jaxpr.eqns
        np.testing.assert_array_equal(tans.jit(mapped)(x), 2 * x)
    inner = outer.params["jaxpr"].eqns[-1]
    # An axis that the shard_map takes is used up by it; the other one is used inside.
    taken = name == "X"
    assert outer.params["in_specs"] == ((P("X"),) if taken else (P(None),))
    assert inner.params["sharding"].spec == P(None if taken else "Y", None, None)
    assert inner.invars[0].aval.shape == (2 if taken else 4, 4, 4)
