"""How reshape carries the mesh axes of its operand, with merged, split and single dimensions."""

from typing import Any

import numpy as np
import pytest

import tans
from tans import P, lax
from tans.errors import ShardingTypeError

# Shape and spec of the operand, new shape and its spec; None where the axes can't be carried.
CASES: list[Any] = [
    ((8, 4), P("X", "Y"), (8, 1, 4), P("X", None, "Y")),
    ((8, 1, 4), P("X", None, "Y"), (8, 4), P("X", "Y")),
    ((8, 4), P("X", None), (2, 4, 4), P("X", None, None)),
    ((8, 4), P(("X", "Y"), None), (2, 4, 4), P("X", "Y", None)),
    ((8, 4), P("Y", None), (2, 4, 4), None),
    ((2, 4, 8), P("X", None, "Y"), (8, 8), P("X", "Y")),
    ((2, 4, 8), P("X", "Y", None), (8, 8), P(("X", "Y"), None)),
    ((2, 4, 8), P(None, "Y", None), (8, 8), None),
    ((2, 4, 8), P(None, None, "Y"), (8, 8), P(None, "Y")),
    ((2, 4, 8), P("X", None, None), (64,), P("X")),
    ((2, 4, 8), P(None, None, "Y"), (2, 32), None),
    ((4, 6), P("X", None), (4, 2, 3), P("X", None, None)),
    ((4, 6), P(None, "X"), (4, 2, 3), P(None, "X", None)),
    ((4, 6), P(None, "X"), (4, 3, 2), None),
    ((4, 6), P("Y", None), (2, 2, 6), None),
    ((4, 6), P("X", None), (6, 4), None),
    ((4, 6), P("X", None), (24,), P("X")),
    ((1, 8), P(None, "Y"), (8,), P("Y")),
    ((8,), P("Y"), (8, 1), P("Y", None)),
    ((8,), P("Y"), (1, 1, 8), P(None, None, "Y")),
    ((8,), P("Y"), (4, 2, 1), P("Y", None, None)),
    ((8,), P("Y"), (2, 4), None),
    ((2, 3, 4), P(None, None, "Y"), (6, 4), P(None, "Y")),
    ((2, 3, 4), P("X", None, "Y"), (6, 4), P("X", "Y")),
    ((2, 3, 4, 5), P(None, None, "Y", None), (6, 20), None),
    ((2, 3, 4, 5), P("X", None, "Y", None), (6, 20), None),
    ((4, 1, 2), P("Y", None, "X"), (4, 2, 1), P("Y", "X", None)),
    ((8, 3, 1), P("X", None, None), (8, 1, 3), P("X", None, None)),
    ((8,), P("X"), (2, 2, 2), P("X", None, None)),
    ((8,), P(("X", "Y")), (2, 2, 2), None),
    ((8,), P(("X", "Y")), (2, 4, 1), P("X", "Y", None)),
    (
        (4, 4),
        P("X", "Y"),
        (16,),
        P(
            ("X", "Y"),
        ),
    ),
    ((4, 4), P(None, "Y"), (16,), None),
    (
        (2, 4),
        P("X", "Y"),
        (8,),
        P(
            ("X", "Y"),
        ),
    ),
    ((8, 0), P("X", None), (0, 8), None),
]


@pytest.mark.parametrize(("old", "spec", "new", "expected"), CASES, ids=str)
def test_reshape(mesh: Any, old: Any, spec: P, new: Any, expected: P | None) -> None:
    values = np.arange(np.prod(old, dtype=int), dtype=np.int32).reshape(old)
    x = tans.reshard(values, spec)
    if expected is None:
        with pytest.raises(ShardingTypeError, match="reshape"):
            lax.reshape(x, new)
        return
    for fun in (lambda x: lax.reshape(x, new), tans.jit(lambda x: lax.reshape(x, new))):
        out = fun(x)
        assert tans.typeof(out).sharding.spec == expected.padded(len(new))
        np.testing.assert_array_equal(out, values.reshape(new))
