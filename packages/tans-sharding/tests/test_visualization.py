"""Pictures of how arrays lie on a mesh, and inspection of shardings."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, debug
from tans.sharding import AbstractMesh, AxisType, NamedSharding
from tans_sharding.parts import lay_of

SPECS = {
    "split in two dimensions": (("X", "Y"), {}),
    "one axis, other copies": ((None, "X"), {}),
    "two axes on a dimension": ((("Y", "X"),), {}),
    "replicated": ((), {}),
    "reduced": (("Y",), {"reduced": {"X"}}),
    "unreduced": (("Y",), {"unreduced": {"X"}}),
}


def arranged(spec: tuple[Any, ...], states: dict[str, Any]) -> Any:
    return tans.reshard(jnp.arange(64.0).reshape(8, 8), P(*spec, **states))


@pytest.mark.parametrize(("spec", "states"), SPECS.values(), ids=SPECS.keys())
def test_parts_are_those_that_devices_hold(mesh: Any, spec: Any, states: Any) -> None:
    x = arranged(spec, states)
    whole = np.arange(64.0).reshape(8, 8)
    shards = {s.device.id: np.asarray(s.data) for s in x.addressable_shards}
    lay = lay_of(x)
    assert len(lay.parts) == 8
    for part in lay.parts:
        index = tuple(slice(a, b) for a, b in part.ranges)
        expected = whole[index]
        if states.get("unreduced") and part.coordinates[0]:
            expected = np.zeros_like(expected)  # the value lies at coordinate 0
        np.testing.assert_array_equal(shards[part.device], expected)


def test_text_says_what_states_mean(mesh: Any) -> None:
    lines = debug.sharding_text(arranged(("Y",), {"unreduced": {"X"}})).splitlines()
    assert lines[1].split() == ["device", "X", "Y", "part"]
    assert lines[2].split() == ["0", "0", "0", "[0:2,", "0:8]"]
    assert lines[9].split() == ["7", "1", "3", "[6:8,", "0:8]"]
    assert lines[10].startswith("unreduced over X")
    assert "reduced over X: equal copies" in debug.sharding_text(arranged((), {"reduced": {"X"}}))


def test_text_of_types_and_abstract_meshes(mesh: Any) -> None:
    sharding = NamedSharding(AbstractMesh((2, 2), ("a", "b")), P("a", None, "b"))
    text = debug.sharding_text(((4, 3, 2), sharding))
    assert text.splitlines()[-1].split() == ["3", "1", "1", "[2:4,", "0:3,", "1:2]"]
    struct = tans.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(mesh, P("X")))
    assert "[4:8]" in debug.sharding_text(struct)
    assert "[]" in debug.sharding_text(jnp.zeros(()))


def test_text_of_a_sharding_that_does_not_fit(mesh: Any) -> None:
    with pytest.raises(ValueError, match="3"):
        debug.sharding_text(((3,), NamedSharding(mesh, P("X"))))


def test_text_of_a_traced_value_without_a_mesh() -> None:
    with pytest.raises(ValueError, match="without a mesh in its type"):
        tans.make_jaxpr(lambda x: (debug.sharding_text(x), x)[1])(np.ones(3))


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(("spec", "states"), SPECS.values(), ids=SPECS.keys())
def test_drawing_has_one_filled_part_per_device(mesh: Any, spec: Any, states: Any) -> None:
    picture = ElementTree.fromstring(debug.sharding_svg(arranged(spec, states), title="a < b"))
    texts = [t.text for t in picture.iter(f"{SVG}text")]
    assert texts[0] == "a < b"
    assert [t for t in texts if t.startswith("device ")] == [f"device {i}" for i in range(8)]
    parts = [r for r in picture.iter(f"{SVG}rect") if r.get("stroke") == "#333"]
    assert len(parts) == 8
    distinct = {tuple(p.ranges) for p in lay_of(arranged(spec, states)).parts}
    assert len({r.get("fill") for r in parts}) == len(distinct)
    hatched = [r for r in picture.iter(f"{SVG}rect") if r.get("fill") == "url(#parts)"]
    assert len(hatched) == (8 if "unreduced" in states else 0)


def test_visualized_array(mesh: Any, capsys: pytest.CaptureFixture[str]) -> None:
    debug.visualize_array_sharding(arranged(("X", "Y"), {}), use_color=False)
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if "CPU" in line]
    assert [row.replace("│", " ").split() for row in rows] == [
        ["CPU", "0", "CPU", "1", "CPU", "2", "CPU", "3"],
        ["CPU", "4", "CPU", "5", "CPU", "6", "CPU", "7"],
    ]
    assert len({len(line) for line in lines}) == 1


def test_visualized_vector_with_copies(mesh: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = tans.reshard(np.ones(8), P("Y"))
    debug.visualize_array_sharding(x, use_color=True, max_width=60, scale=2.0)
    out = capsys.readouterr().out
    assert "CPU 0,4" in out
    assert "CPU 3,7" in out
    assert max(map(len, out.splitlines())) <= 61
    debug.visualize_sharding((8,), x.sharding, color_map=lambda v: (v, v, v, 1.0), min_width=20)
    assert "CPU 1,5" in capsys.readouterr().out


@pytest.mark.parametrize("shape", [(), (2, 2, 2)], ids=str)
def test_rank_of_visualized_arrays(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected one or two dimensions"):
        debug.visualize_array_sharding(jnp.ones(shape))
    with pytest.raises(ValueError, match="expected one or two dimensions"):
        debug.visualize_sharding(shape, jnp.ones(shape).sharding)


# ---- inspection ---------------------------------------------------------------------------------


def test_inspection_of_concrete_arrays(mesh: Any) -> None:
    seen: list[Any] = []
    x = arranged(("X",), {})
    debug.inspect_array_sharding({"a": x, "b": np.ones(3)}, callback=seen.append)
    assert seen[0] == x.sharding
    assert len(seen) == 2


def test_inspection_in_explicit_mode(mesh: Any) -> None:
    seen: list[Any] = []

    @tans.jit
    def f(x: Any) -> Any:
        debug.inspect_array_sharding(x * 2, callback=seen.append)
        return x

    for _ in range(2):
        f(arranged(("X",), {}))
    assert seen == [NamedSharding(mesh, P("X", None))]


def test_inspection_of_what_the_compiler_chose() -> None:
    seen: list[Any] = []
    types = (AxisType.Auto,) * 2
    mesh = tans.make_mesh((2, 4), ("X", "Y"), axis_types=types)

    @tans.jit
    def f(x: Any) -> Any:
        y = x @ x.T
        debug.inspect_array_sharding(y, callback=seen.append)
        return y

    with tans.set_mesh(mesh):
        x = tans.device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, P("X", "Y")))
        y = f(x)
        assert len(seen) == 1
        assert seen[0].is_equivalent_to(y.sharding, 2)
        tans.jit(tans.grad(lambda x: f(x).sum()))(x)
        tans.jit(tans.vmap(f))(x[None])
    assert len(seen) >= 3


def test_inspection_on_one_device() -> None:
    seen: list[Any] = []
    f = tans.jit(lambda x: (debug.inspect_array_sharding(x, callback=seen.append), x + 1)[1])
    f(np.ones(3))
    assert [type(s).__name__ for s in seen] == ["SingleDeviceSharding"]


def test_inspection_without_a_function() -> None:
    with pytest.raises(TypeError, match="callback=3"):
        debug.inspect_array_sharding(np.ones(3), callback=3)
