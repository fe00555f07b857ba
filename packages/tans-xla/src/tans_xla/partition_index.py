"""Where the device that runs a program stands along a mesh axis."""

import math
from typing import Any

import numpy as np

from tans_core import ShapedArray
from tans_xla import hlo

type Value = Any  # ir.Value


def position_along(mesh: Any, axis: Any) -> Value:
    """Emit the device's position along a mesh axis, a uint32 scalar.

    It is known where all axes of the mesh are manual only.
    """
    place = mesh.axis_positions[axis]
    stride = math.prod(mesh.axis_sizes[place + 1 :])
    scalar, kind = ShapedArray((), np.uint32), hlo.tensor_type((), np.uint32)
    number = hlo.op1("stablehlo.partition_id", kind, [])
    over = hlo.op1("stablehlo.divide", kind, [number, hlo.full(scalar, stride)])
    size = hlo.full(scalar, mesh.axis_sizes[place])
    return hlo.op1("stablehlo.remainder", kind, [over, size])


def is_first_along(mesh: Any, axis: Any) -> Value:
    """Emit whether the device is the first along a mesh axis."""
    zero = hlo.full(ShapedArray((), np.uint32), 0)
    return hlo.compare(position_along(mesh, axis), zero, "EQ")
