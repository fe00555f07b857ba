"""Which devices take part in a collective, and which mesh axes that is.

Devices are numbered by their position in the program's device assignment, which is the mesh in
row-major order.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

type Groups = list[tuple[int, ...]]

_IOTA: Final = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH: Final = re.compile(r"mesh\[(.*?)\]\s*\{(.*)\}")
_AXIS: Final = re.compile(r"'([^']*)'(?:=(\d+)|:\((\d+)\)(\d+))?")


def parse_groups(text: str, num_devices: int) -> Groups:
    """Return the groups of a ``replica_groups`` attribute.

    Args:
      text: one of ``{{0,1},{2,3}}``, ``[2,2]<=[4]``, ``[2,2]<=[2,2]T(1,0)``, ``{}`` (all devices),
        ``mesh['x'=2,'y'=2] {'y'}`` and ``mesh['x'=4] {'x':(1)2}`` (a part of an axis).
      num_devices: of the program.

    Raises:
      ValueError: the text has none of these forms.
    """
    if match := _MESH.match(text):
        return _mesh_groups(match[1], match[2])
    if match := _IOTA.match(text):
        shape, source = _numbers(match[1]), _numbers(match[2])
        ids = np.arange(np.prod(source)).reshape(source)
        if match[3]:
            ids = ids.transpose(_numbers(match[3]))
        return _rows(ids.reshape(shape))
    if text in ("{}", "{{}}", ""):
        return [tuple(range(num_devices))]
    if text.startswith("{{"):
        return [tuple(_numbers(group)) for group in re.findall(r"\{([\d,]+)\}", text[1:])]
    raise ValueError(
        f"replica_groups: given {text!r}, expected lists of devices, an iota or a mesh. The "
        "installed jaxlib prints a newer form than this release of tans-xla reads: upgrade it."
    )


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",")]


def _rows(ids: Any) -> Groups:
    return [tuple(map(int, row)) for row in ids.reshape(-1, ids.shape[-1])]


def _mesh_groups(mesh: str, axes: str) -> Groups:
    sizes = {name: int(size) for name, size, _, _ in _AXIS.findall(mesh) if size}
    order = re.search(r"device_ids=\(?\[?([\d,]+)", mesh)
    count = int(np.prod(list(sizes.values())))
    ids = np.array(_numbers(order[1])) if order else np.arange(count)
    # An axis of which a part is used becomes three: what is before, the part, what is after.
    parts = {name: (before, part) for name, _, before, part in _AXIS.findall(axes)}
    dims: list[int] = []
    position: dict[str, int] = {}
    for name, size in sizes.items():
        before, part = parts.get(name, ("", ""))
        split = [int(before), int(part), size // int(before) // int(part)] if part else [size]
        position[name] = len(dims) + (1 if part else 0)
        dims += split
    grid = ids.reshape(dims)
    last = [position[name] for name in parts]
    rest = [i for i in range(len(dims)) if i not in last]
    size = int(np.prod([dims[i] for i in last]))
    return _rows(grid.transpose(rest + last).reshape(-1, size))


def parse_pairs(text: str) -> Groups:
    """Return the ``source_target_pairs`` of a permutation as groups of two."""
    return [tuple(_numbers(pair)) for pair in re.findall(r"\{(\d+,\d+)\}", text)]


def axes_of(groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the mesh axes along which the members of a group differ.

    Args:
      groups: device positions.
      sizes: axis sizes of the mesh.
    """
    found: set[int] = set()
    for group in groups:
        coordinates = np.array(np.unravel_index(np.array(group), tuple(sizes)))
        differs = (coordinates != coordinates[:, :1]).any(axis=1)
        found.update(int(i) for i in np.flatnonzero(differs))
    return tuple(sorted(found))


def covers_axes(groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> bool:
    """Whether each group holds all devices along its axes, so that axis names say everything."""
    axes = axes_of(groups, sizes)
    full = int(np.prod([sizes[i] for i in axes])) if axes else 1
    return all(len(set(group)) == full for group in groups)
