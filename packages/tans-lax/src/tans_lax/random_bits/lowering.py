"""StableHLO of random bits.

Threefry is written out, all 20 rounds. The compiler fuses them into one loop over the elements that
keeps both words in registers; measured on CPU, a rolled loop over groups of rounds took 2.4 times
as long to run, twice as long to compile and gave more instructions.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.random_bits import (
    RandomAlgorithm,
    rng_bit_generator_p,
    rng_uniform_p,
    threefry2x32_p,
)
from tans_xla import hlo, hlo_parts
from tans_xla.sizes import has_symbolic

type IrValue = Any

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = 0x1BD11BDA  # of the key schedule, from the definition of Threefish


class _Words:
    """Arithmetic on uint32 arrays of one shape, with one constant for each value."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval
        self.kind = hlo.ir_type(aval)
        self.constants: dict[int, IrValue] = {}

    def constant(self, value: int) -> IrValue:
        if value not in self.constants:
            self.constants[value] = hlo.full(self.aval, np.uint32(value))
        return self.constants[value]

    def op(self, name: str, x: IrValue, y: IrValue) -> IrValue:
        return hlo.op1(f"stablehlo.{name}", self.kind, (x, y))

    def spread(self, x: IrValue) -> IrValue:
        return x if x.type == self.kind else hlo.broadcast_in_dim(x, self.aval, ())

    def rotate(self, x: IrValue, by: int) -> IrValue:
        left = self.op("shift_left", x, self.constant(by))
        right = self.op("shift_right_logical", x, self.constant(32 - by))
        return self.op("or", left, right)


def _threefry_lower(
    ctx: Any, key0: IrValue, key1: IrValue, count0: IrValue, count1: IrValue
) -> list[IrValue]:
    words = _Words(ctx.avals_out[0])
    keys = _key_schedule(ctx, words, key0, key1)
    x, y = words.spread(count0), words.spread(count1)
    x, y = words.op("add", x, keys[0]), words.op("add", y, keys[1])
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            x = words.op("add", x, y)
            y = words.op("xor", words.rotate(y, by), x)
        x = words.op("add", x, keys[(group + 1) % 3])
        y = words.op("add", y, keys[(group + 2) % 3])
        y = words.op("add", y, words.constant(group + 1))
    return [x, y]


def _key_schedule(ctx: Any, words: _Words, key0: IrValue, key1: IrValue) -> list[IrValue]:
    key_aval = max(ctx.avals_in[:2], key=lambda aval: aval.ndim)
    small = words if key_aval is words.aval else _Words(key_aval)
    key0, key1 = small.spread(key0), small.spread(key1)
    key2 = small.op("xor", small.op("xor", key0, key1), small.constant(_PARITY))
    return [words.spread(key) for key in (key0, key1, key2)]


def _rng_bit_generator_lower(
    ctx: Any, key: IrValue, *, algorithm: RandomAlgorithm, **_: Any
) -> list[IrValue]:
    (key_aval,) = ctx.avals_in
    pairs = ShapedArray((2, 2), np.dtype("uint32"))
    state_aval = ShapedArray((2,), np.dtype("uint64"))
    is_narrow = key_aval.dtype == np.uint32
    if is_narrow:
        key = hlo.op1(
            "stablehlo.bitcast_convert", hlo.ir_type(state_aval), (hlo.reshape(key, pairs),)
        )
    name = algorithm.name.removeprefix("RNG_")
    kinds = [key.type, ctx.result_types[1]]
    shape = ctx.avals_out[1].shape
    attributes = {"rng_algorithm": hlo.attribute(f"#stablehlo<rng_algorithm {name}>")}
    if has_symbolic(shape):
        attributes["call_target_name"] = hlo.string("stablehlo.dynamic_rng_bit_generator")
        attributes["api_version"] = hlo.i32(2)
        out = hlo.op("stablehlo.custom_call", kinds, (key, hlo.shape_value(shape)), attributes)
    else:
        out = hlo.op("stablehlo.rng_bit_generator", kinds, (key,), attributes)
    state, bits = out.results
    if is_narrow:
        state = hlo.op1("stablehlo.bitcast_convert", hlo.ir_type(pairs), (state,))
        state = hlo.reshape(state, key_aval)
    return [state, bits]


def _rng_uniform_lower(ctx: Any, a: IrValue, b: IrValue, *, shape: tuple[int, ...]) -> IrValue:
    dims = hlo_parts.sizes(shape, ShapedArray((len(shape),), np.int64))
    uniform = {"rng_distribution": hlo.attribute("#stablehlo<rng_distribution UNIFORM>")}
    return hlo.op1("stablehlo.rng", ctx.result_types[0], (a, b, dims), uniform)


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    threefry2x32_p: _threefry_lower,
    rng_bit_generator_p: _rng_bit_generator_lower,
    rng_uniform_p: _rng_uniform_lower,
}
