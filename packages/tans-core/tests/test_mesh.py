import pickle

import numpy as np
import pytest

from tans_core._jaxlib import NamedSharding
from tans_core.mesh import EMPTY_ABSTRACT_MESH, EMPTY_MESH, AbstractMesh, AxisType, Mesh
from tans_core.partition_spec import P
from tans_core.sharding import (
    DuplicateSpecError,
    abstract_sharding,
    empty_sharding,
    named_sharding,
)


class FakeDevice:
    def __init__(self, number):
        self.id = number


DEVICES = np.array([FakeDevice(i) for i in range(8)])
EXPLICIT = (AxisType.Explicit, AxisType.Explicit)


def grid(*shape):
    return DEVICES[: int(np.prod(shape))].reshape(shape)


def test_meshes_are_interned():
    assert Mesh(grid(2, 4), ("x", "y")) is Mesh(grid(2, 4), ("x", "y"))
    assert Mesh(grid(2, 4), ("x", "y")) is not Mesh(grid(2, 4), ("x", "y"), EXPLICIT)
    assert AbstractMesh((2, 4), ("x", "y")) is AbstractMesh((2, 4), ["x", "y"], EXPLICIT)
    assert Mesh(grid(2, 4), ("x", "y"), EXPLICIT).abstract_mesh is AbstractMesh((2, 4), ("x", "y"))


def test_default_axis_types_differ():
    assert Mesh(grid(2), "x").axis_types == (AxisType.Auto,)
    assert AbstractMesh((2,), "x").axis_types == (AxisType.Explicit,)


def test_printed_forms():
    mesh = Mesh(grid(2, 4), ("X", "Y"), EXPLICIT)
    assert repr(mesh) == (
        "Mesh(axis_sizes=(2, 4), axis_names=('X', 'Y'), axis_types=(Explicit, Explicit))"
    )
    assert str(mesh) == "Mesh('X': 2, 'Y': 4, axis_types=(Explicit, Explicit))"
    assert repr(mesh.abstract_mesh) == (
        "AbstractMesh('X': 2, 'Y': 4, axis_types=(Explicit, Explicit))"
    )
    assert repr(EMPTY_MESH) == "Mesh(axis_sizes=(), axis_names=())"
    assert repr(EMPTY_ABSTRACT_MESH) == "AbstractMesh((), axis_types=())"
    assert str(Mesh(grid(8), "x")) == "Mesh('x': 8, axis_types=(Auto,))"
    assert repr(AxisType.Auto) == "Auto"


def test_attributes():
    mesh = Mesh(grid(2, 4), ("x", "y"), (AxisType.Auto, AxisType.Manual))
    assert list(mesh.shape.items()) == [("x", 2), ("y", 4)]
    assert mesh.size == 8
    assert not mesh.empty
    assert (mesh.auto_axes, mesh.explicit_axes, mesh.manual_axes) == (("x",), (), ("y",))
    assert not mesh.are_all_axes_auto
    np.testing.assert_array_equal(mesh.device_ids, np.arange(8).reshape(2, 4))
    assert EMPTY_MESH.size == 0
    assert EMPTY_MESH.empty
    assert not EMPTY_MESH.are_all_axes_auto


def test_updates_return_new_meshes():
    mesh = Mesh(grid(2, 4), ("x", "y"))
    assert mesh.update(axis_names=("a", "b")).axis_names == ("a", "b")
    abstract = AbstractMesh((2, 4), ("x", "y"))
    changed = abstract.update_axis_types({"x": AxisType.Auto})
    assert changed.axis_types == (AxisType.Auto, AxisType.Explicit)
    assert abstract.update(axis_sizes=(4, 2)).axis_sizes == (4, 2)
    with pytest.raises(AttributeError, match="immutable"):
        mesh.size = 3


@pytest.mark.parametrize(
    ("make", "error", "fact"),
    [
        (lambda: Mesh(grid(8), ("x", "y")), ValueError, "2 names"),
        (lambda: Mesh(grid(8), ("x",), ("Auto",)), TypeError, "str"),
        (lambda: Mesh(grid(8), (None,)), ValueError, "None"),
        (lambda: Mesh(grid(2, 4), ("x", "x")), ValueError, "twice"),
        (lambda: Mesh(grid(8), ("x",), EXPLICIT), ValueError, "2 axis_types"),
        (lambda: AbstractMesh((2, 2), ("x",)), ValueError, "length"),
        (lambda: AbstractMesh((2,), ("x",)).devices, ValueError, "no devices"),
    ],
)
def test_bad_meshes_raise(make, error, fact):
    with pytest.raises(error, match=fact):
        make()


def test_abstract_mesh_pickles_to_itself():
    mesh = AbstractMesh((2, 4), ("x", "y"))
    assert pickle.loads(pickle.dumps(mesh)) is mesh
    sharding = named_sharding(mesh, P("x"))
    assert pickle.loads(pickle.dumps(sharding)) is sharding


ABSTRACT = AbstractMesh((2, 4), ("x", "y"))
AUTO = AbstractMesh((2, 4), ("x", "y"), (AxisType.Auto, AxisType.Auto))


@pytest.mark.parametrize(
    ("mesh", "spec", "error", "fact"),
    [
        (ABSTRACT, P("z"), ValueError, "'z'"),
        (ABSTRACT, P("x", "x"), DuplicateSpecError, "'x'"),
        (ABSTRACT, P(P.UNCONSTRAINED), ValueError, "UNCONSTRAINED"),
        (ABSTRACT, P(unreduced={"z"}), ValueError, "'z'"),
        (AUTO, P(unreduced={"x"}), ValueError, "Auto"),
        (AUTO, P(reduced={"x"}), ValueError, "Auto"),
        (ABSTRACT, ("x",), TypeError, "tuple"),
    ],
    ids=str,
)
def test_specs_that_do_not_fit_raise(mesh, spec, error, fact):
    with pytest.raises(error, match=fact):
        NamedSharding(mesh, spec)


def test_named_shardings_are_interned_and_equal_to_plain_ones():
    assert named_sharding(ABSTRACT, P("x")) is named_sharding(ABSTRACT, P("x"))
    assert NamedSharding(ABSTRACT, P("x")) == named_sharding(ABSTRACT, P("x"))
    assert NamedSharding(ABSTRACT, P("x")) != NamedSharding(ABSTRACT, P("y"))
    mesh = Mesh(grid(2, 4), ("x", "y"), EXPLICIT)
    assert abstract_sharding(named_sharding(mesh, P("x"))) is named_sharding(ABSTRACT, P("x"))
    assert empty_sharding(2).spec is P(None, None)


def test_sharding_over_abstract_mesh_has_no_devices():
    sharding = NamedSharding(ABSTRACT, P("x"))
    assert sharding.num_devices == 8
    assert repr(sharding) == (
        "NamedSharding(mesh=AbstractMesh('x': 2, 'y': 4, axis_types=(Explicit, Explicit)), "
        "spec=P('x',))"
    )


def test_replication():
    assert NamedSharding(ABSTRACT, P()).is_fully_replicated
    assert NamedSharding(ABSTRACT, P(reduced={"x"})).is_fully_replicated
    assert not NamedSharding(ABSTRACT, P("x")).is_fully_replicated
    assert not NamedSharding(ABSTRACT, P(unreduced={"x"})).is_fully_replicated
    assert NamedSharding(ABSTRACT, P("x")).replicated_axes == {"y"}


def test_update_of_a_sharding():
    sharding = NamedSharding(ABSTRACT, P("x"))
    assert sharding.update(spec=P("y")) == NamedSharding(ABSTRACT, P("y"))
    assert sharding.update(mesh=AUTO).mesh is AUTO
    with pytest.raises(TypeError, match="foo"):
        sharding.update(foo=1)
