"""The mesh in context, and programs that depend on it."""

import threading
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P
from tans.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    get_abstract_mesh,
    get_mesh,
    use_abstract_mesh,
)
from tans_core import Primitive, rules
from tans_core.errors import ShardingTypeError

VALUES = np.arange(8, dtype=np.float32)


def test_mesh_is_restored_after_the_block(mesh: Mesh) -> None:
    inner = tans.make_mesh((8,), ("Z",))
    with tans.set_mesh(inner):
        assert get_mesh() is inner
    assert get_mesh() is mesh


def test_none_clears_the_context(mesh: Mesh) -> None:
    tans.set_mesh(None)
    assert get_abstract_mesh().empty
    assert get_mesh().empty


def test_other_threads_have_their_own_context(mesh: Mesh) -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(get_mesh().empty))
    thread.start()
    thread.join()
    assert seen == [True]


@pytest.mark.parametrize("wrong", [AbstractMesh((2,), ("X",)), "X", 3])
def test_set_mesh_takes_meshes_only(wrong: Any) -> None:
    with pytest.raises(ValueError, match="expected a Mesh or None"):
        tans.set_mesh(wrong)


def test_manual_axes_are_not_for_the_context() -> None:
    manual = Mesh(np.array(tans.devices()[:2]), ("X",), (AxisType.Manual,))
    with pytest.raises(ValueError, match="Manual"):
        tans.set_mesh(manual)


def test_devices_are_unknown_while_tracing(mesh: Mesh) -> None:
    with pytest.raises(ValueError, match="get_abstract_mesh"):
        tans.jit(lambda x: (get_mesh(), x)[1])(VALUES)
    assert tans.eval_shape(lambda x: (get_abstract_mesh(), x)[1], VALUES).shape == (8,)


def test_tracing_for_a_mesh_without_devices() -> None:
    with use_abstract_mesh(AbstractMesh((16,), ("X",))):
        jaxpr = tans.make_jaxpr(lambda: tans.reshard(jnp.zeros(32), P("X")))()
    assert str(jaxpr.out_avals[0]) == "float32[32@X]"


def test_abstract_mesh_has_the_size_of_the_context(mesh: Mesh) -> None:
    with pytest.raises(ValueError, match="size 8"):
        use_abstract_mesh(AbstractMesh((2,), ("X",)))
    with pytest.raises(ValueError, match="AbstractMesh"):
        use_abstract_mesh(mesh)


def test_mesh_in_context_is_part_of_the_jit_key() -> None:
    traced = []

    @tans.jit
    def fun(x: Any) -> Any:
        traced.append(get_abstract_mesh().axis_names)
        return x + 1

    for mesh in (tans.make_mesh((2,), ("X",)), tans.make_mesh((2,), ("Y",))):
        for _ in range(2):
            with tans.set_mesh(mesh):
                fun(VALUES)
    assert traced == [("X",), ("Y",)]


def test_new_arrays_are_replicated_over_the_mesh(mesh: Mesh) -> None:
    x = jnp.zeros(4)
    assert x.sharding.mesh is mesh
    assert tans.typeof(x).sharding.spec == P(None)
    with tans.set_mesh(tans.make_mesh((4,), ("X",), devices=tans.devices()[4:])):
        assert [d.id for d in jnp.zeros(4).sharding.mesh.devices.flat] == [4, 5, 6, 7]


def test_operations_need_no_context() -> None:
    other = tans.make_mesh((2,), ("X",))
    x = tans.device_put(VALUES, NamedSharding(other, P("X")))
    assert str(tans.typeof(x * 2.0)) == "float32[8@X]"
    assert (x * 2.0).sharding == NamedSharding(other, P("X"))


def test_operands_of_different_meshes() -> None:
    x, y = (
        tans.device_put(VALUES, NamedSharding(tans.make_mesh((2,), (name,)), P(name)))
        for name in "XY"
    )
    with pytest.raises(ValueError, match="one mesh"):
        x + y


def test_auto_axes_do_not_show_in_types() -> None:
    mesh = tans.make_mesh((2, 4), ("X", "Y"), axis_types=(AxisType.Auto,) * 2)
    with tans.set_mesh(mesh):
        x = tans.device_put(np.ones((8, 4), np.float32), P("X", "Y"))
        assert str(tans.typeof(x)) == "float32[8,4]"
        y = tans.jit(lambda a: tans.lax.with_sharding_constraint(a * 2, P(None, "Y")))(x)
        assert y.sharding.spec == P(None, "Y")
        with pytest.raises(ValueError, match="Auto"):
            tans.reshard(x, P("X"))


def test_constraint_is_an_assertion_on_explicit_axes(mesh: Mesh) -> None:
    x = tans.reshard(VALUES, P("X"))
    assert tans.lax.with_sharding_constraint(x, P("X")) is x
    with pytest.raises(AssertionError, match="acts as an assert"):
        tans.lax.with_sharding_constraint(x, P())


def test_result_asked_for_changes_the_type(mesh: Mesh) -> None:
    x = tans.reshard(np.ones((8, 8), np.float32), P("X"))
    y = tans.jit(lambda a: a * 2, out_shardings=NamedSharding(mesh, P(None, "Y")))(x)
    assert str(tans.typeof(y)) == "float32[8,8@Y]"


def test_specs_for_jit_refer_to_the_context(mesh: Mesh) -> None:
    y = tans.jit(lambda a: a * 2, in_shardings=P("X"), out_shardings=P("Y"))(np.ones(8, np.float32))
    assert str(tans.typeof(y)) == "float32[8@Y]"


def test_lowering_ahead_of_time_takes_types_with_shardings(mesh: Mesh) -> None:
    spec = NamedSharding(mesh, P("X"))
    struct = tans.ShapeDtypeStruct((8,), np.float32, sharding=spec)
    compiled = tans.jit(lambda a: a * 2).lower(struct).compile()
    y = compiled(tans.reshard(VALUES, P("X")))
    assert str(tans.typeof(y)) == "float32[8@X]"


def test_primitive_without_a_rule_is_refused(mesh: Mesh) -> None:
    mystery_p = Primitive("mystery")
    rules.types.register(mystery_p, lambda x: x)
    try:
        with pytest.raises(ShardingTypeError, match="mystery has none"):
            tans.make_jaxpr(mystery_p.bind)(tans.reshard(VALUES, P("X")))
    finally:
        del rules.types[mystery_p]


@pytest.mark.parametrize(
    ("sizes", "names", "error"),
    [((16,), ("X",), ValueError), ((2, 2), ("X",), ValueError), ((2,), (None,), ValueError)],
)
def test_wrong_meshes_are_refused(sizes: Any, names: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        tans.make_mesh(sizes, names)


def test_sharding_of_a_single_device() -> None:
    device = tans.devices()[1]
    sharding = tans.sharding.make_single_device_sharding(device)
    assert tans.device_put(1.0, device).sharding == sharding
    other = tans.sharding.make_single_device_sharding(device, memory_kind="pinned_host")
    assert other.memory_kind == "pinned_host"
    assert other != sharding
