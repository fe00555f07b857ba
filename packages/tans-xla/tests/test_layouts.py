"""Layouts, formats, and arrays from what a process holds."""

from typing import Any

import numpy as np
import pytest

import tans_xla
from tans_core.mesh import AbstractMesh, Mesh
from tans_core.partition_spec import P
from tans_core.sharding import NamedSharding, single_device_sharding
from tans_xla import device_put
from tans_xla.layouts import Format, Layout
from tans_xla.process_local import make_array_from_process_local_data


@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (2, 3, 4)], ids=str)
def test_arrays_lie_row_by_row(shape: tuple[int, ...]) -> None:
    x = device_put(np.ones(shape, np.float32))
    assert x.format == Format(Layout.for_array(x), x.sharding)
    assert x.format.layout.major_to_minor == tuple(range(len(shape)))


def test_layouts_are_values() -> None:
    layout = Layout([1, 0], [[8, 128]])
    assert layout == Layout((1, 0), ((8, 128),))
    assert hash(layout) == hash(Layout((1, 0), ((8, 128),)))
    assert layout.update(tiling=None) == Layout((1, 0))
    assert repr(Layout.AUTO) == "AutoLayout"
    layout.check_compatible_aval((2, 3))
    with pytest.raises(ValueError, match="expected 2 dimensions"):
        layout.check_compatible_aval((2,))


def test_errors_of_formats() -> None:
    with pytest.raises(TypeError, match="layout=3"):
        Format(3)
    with pytest.raises(TypeError, match="sharding=3"):
        Format(None, 3)
    for sharding in (None, NamedSharding(AbstractMesh((1,), ("x",)), P("x"))):
        with pytest.raises(ValueError, match="expected a sharding over devices"):
            Format(Layout((0, 1)), sharding)


def test_formats_are_destinations() -> None:
    here = single_device_sharding(tans_xla.devices()[0])
    x = device_put(np.ones((2, 3)), Format(Layout((0, 1)), here))
    assert x.committed
    tree = device_put([np.ones(2), np.ones(3)], Format(Layout.AUTO, here))
    assert [y.shape for y in tree] == [(2,), (3,)]
    with pytest.raises(NotImplementedError, match="row by row"):
        device_put(np.ones((2, 3)), Format(Layout((1, 0)), here))


def test_formats_of_compiled_programs() -> None:
    compiled = tans_xla.jit(lambda x, unused: (x, 1.0)).lower(np.ones((2, 3)), 2.0).compile()
    (x, unused), _ = compiled.input_formats
    assert x.layout.major_to_minor == (0, 1)
    assert unused.layout is None
    assert [f.layout.major_to_minor for f in compiled.output_formats] == [(0, 1), ()]


# ---- one process --------------------------------------------------------------------------------


def sharding() -> Any:
    devices = np.array(tans_xla.devices()[:1])
    return NamedSharding(Mesh(devices, ("x",)), P("x"))


def test_on_one_process_the_part_is_the_whole() -> None:
    data = {"a": np.arange(8.0), "b": (np.ones((2, 3)),)}
    made = make_array_from_process_local_data(sharding(), data)
    np.testing.assert_array_equal(made["a"], data["a"])
    assert made["b"][0].sharding == sharding()
    np.testing.assert_array_equal(
        make_array_from_process_local_data(sharding(), np.ones(4), (4,)), np.ones(4)
    )
    with pytest.raises(ValueError, match="on one process"):
        make_array_from_process_local_data(sharding(), np.ones(4), (8,))


# ---- two processes ------------------------------------------------------------------------------


class OfTwoProcesses:
    """A sharding of 4 x 4 devices, of which this process has two rows (of devices)."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        self.rows = rows
        self.device_set = set(range(16))

    def devices_indices_map(self, shape: tuple[int, ...]) -> dict[int, tuple[slice, ...]]:
        steps = [n // 4 for n in shape]
        return {
            4 * i + j: (
                slice(i * steps[0], (i + 1) * steps[0]),
                slice(j * steps[1], (j + 1) * steps[1]),
            )
            for i in range(4)
            for j in range(4)
        }

    def addressable_devices_indices_map(self, shape: tuple[int, ...]) -> dict[int, Any]:
        every = self.devices_indices_map(shape)
        return {d: index for d, index in every.items() if d // 4 in self.rows}


@pytest.mark.parametrize("rows", [(0, 1), (2, 3), (0, 2)], ids=str)
@pytest.mark.parametrize("shape", [None, (16, 8), (None, 8)], ids=str)
def test_parts_of_two_processes(
    monkeypatch: pytest.MonkeyPatch, rows: tuple[int, ...], shape: Any
) -> None:
    from tans_xla import process_local

    whole = np.arange(128.0).reshape(16, 8)
    fake = OfTwoProcesses(rows)
    pieces: dict[int, np.ndarray] = {}

    def make(shape: Any, sharding: Any, part: Any, dtype: Any) -> Any:
        assert shape == (16, 8)
        for device, index in sharding.addressable_devices_indices_map(shape).items():
            pieces[device] = part(index)

    monkeypatch.setattr(process_local.backend, "process_count", lambda: 2)
    monkeypatch.setattr(process_local, "make_array_from_callback", make)
    local = np.concatenate([whole[4 * r : 4 * r + 4] for r in rows])
    process_local._from_local(fake, local, shape)  # type: ignore[arg-type]
    assert len(pieces) == 8
    for device, index in fake.addressable_devices_indices_map((16, 8)).items():
        np.testing.assert_array_equal(pieces[device], whole[index])
    with pytest.raises(ValueError, match="expected 8 or 16 in dimension 0"):
        process_local._from_local(fake, local[:3], (16, 8))  # type: ignore[arg-type]
