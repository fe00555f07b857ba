"""Random meshes, specs, reshards and mapped programs: run one range of cases in this process.

Whatever a case is, it gives a value or raises a Python exception; a fault of the compiler that ends
the process is seen by the caller. Run as ``python fuzz_cases.py FIRST COUNT``.
"""

import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import AxisType, NamedSharding
from tans_core import config_module as config

NAMES = ("X", "Y", "Z")
# What a spec may hold, most of it wrong in most places.
ENTRIES: tuple[Any, ...] = ("X", "Y", "Z", ("X", "X"), (), "Q", P.UNCONSTRAINED)
SIZES = ((2, 4), (4, 2), (2, 4), (8,), (2, 2, 2), (2, 2), (1, 8), (2, 3), (3,), (1, 1), (2,))
SHAPES = ((), (8,), (8, 4), (4, 8, 2), (0, 8), (7,), (24, 24))
STATES = ({"unreduced": {"X"}}, {"reduced": {"X"}}, {"unreduced": {"X", "Y"}},
          {"unreduced": {"X"}, "reduced": {"Y"}}, {"unreduced": {"Q"}})  # fmt: skip


class Draw(random.Random):
    """Random choices; a wild one also makes those that make no sense where they are made."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.wild = self.random() < 0.4
        self.axes: tuple[str, ...] = ("X",)
        self.explicit = True

    def pick(self, sensible: Any, other: Any) -> Any:
        """Choose among sensible things, and rarely among others."""
        return self.choice(other if self.wild and self.random() < 0.2 else sensible)


def spec(rng: Draw) -> P:
    rest = [a for a in rng.axes if rng.random() < 0.6]
    rng.shuffle(rest)
    entries = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        entry = rest.pop() if rest and rng.random() < 0.6 else None
        if entry and rest and rng.random() < 0.2:
            entry = (entry, rest.pop())
        entries.append(rng.pick((entry,), ENTRIES))
    states = {}
    if rest and rng.explicit and rng.random() < 0.3:
        states = {rng.choice(("unreduced", "reduced")): {rest[0]}}
    return P(*entries, **rng.pick((states,), STATES))


def mesh(rng: Draw) -> Any:
    sizes = rng.pick(SIZES[:6], SIZES)
    rng.axes = NAMES[: len(sizes)]
    kind = rng.choice((AxisType.Explicit, AxisType.Explicit, AxisType.Auto))
    kinds = [rng.pick((kind,), (AxisType.Explicit, AxisType.Auto)) for _ in sizes]
    rng.explicit = AxisType.Auto not in kinds
    devices = tans.devices()
    if rng.random() < 0.2:
        devices = rng.sample(devices, len(devices))
    return tans.make_mesh(sizes, rng.axes, tuple(kinds), devices=devices)


def array(rng: Draw, on: Any) -> Any:
    shape = rng.pick(((16, 16), (8, 8), (16,)), SHAPES)
    dtype = rng.pick((np.float32,), (np.int32, np.bool_, np.complex64, np.int8))
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    if rng.random() < 0.1:
        return x
    explicit = all(t is AxisType.Explicit for t in on.axis_types)
    place = tans.reshard if explicit or rng.wild else tans.device_put
    return place(x, NamedSharding(on, spec(rng)))


def name(rng: Draw) -> Any:
    pairs = (("X", "Y"), ("Y", "X")) if len(rng.axes) > 1 else ()
    return rng.pick((*rng.axes * 3, *pairs), ("Z", ("X", "X"), (), "Q"))


def groups(rng: Draw) -> Any:
    return rng.pick((None,), ([[0, 1]], [[0, 1], [2, 3]], [[1, 0], [3, 2]], [[0]]))


COLLECTIVES: tuple[Callable[[Draw, Any], Any], ...] = (
    lambda r, v: lax.psum(v, name(r), axis_index_groups=groups(r)),
    lambda r, v: lax.pmax(v, name(r), axis_index_groups=groups(r)),
    lambda r, v: lax.pmean(v, name(r)),
    lambda r, v: lax.all_gather(
        v, name(r), axis=r.choice((0, 1, -1)), tiled=r.random() < 0.5,
        to=r.choice(("varying", "invarying", "reduced")), axis_index_groups=groups(r),
    ),
    lambda r, v: lax.psum_scatter(
        v, name(r), scatter_dimension=r.choice((0, 1)), tiled=r.random() < 0.7,
        axis_index_groups=groups(r),
    ),
    lambda r, v: lax.all_to_all(
        v, name(r), r.choice((0, 1)), r.choice((0, 1)), tiled=r.random() < 0.7,
        axis_index_groups=groups(r),
    ),
    lambda r, v: lax.ppermute(v, name(r), [(r.randrange(4), r.randrange(4)) for _ in range(2)]),
    lambda r, v: lax.pshuffle(v, name(r), r.sample(range(2), 2)),
    lambda r, v: lax.pbroadcast(v, name(r), r.randrange(3)),
    lambda r, v: v * lax.axis_index(name(r)),
    lambda r, v: lax.pcast(v, name(r), to=r.choice(("varying", "unreduced", "reduced"))),
    lambda r, v: v + jnp.ones(()),
    lambda r, v: jnp.sin(v),
    lambda r, v: v.sum(0),
    lambda r, v: v @ v.T,
    lambda r, v: lax.scan(lambda c, _: (c * 2, None), v, None, length=2)[0],
    lambda r, v: lax.cond(v.sum() > 0, lambda v: v, lambda v: v * 2, v),
    lambda r, v: tans.reshard(v, spec(r)),
    lambda r, v: lax.with_sharding_constraint(v, spec(r)),
    lambda r, v: tans.vmap(lambda w: lax.psum(w, r.choice(("i", "X"))), axis_name="i")(v),
    lambda r, v: tans.shard_map(
        lambda w: lax.psum(w, name(r)), out_specs=spec(r), axis_names={r.choice(NAMES)}
    )(v),
)  # fmt: skip


def body(rng: Draw) -> Callable[[Any], Any]:
    steps = rng.choices(COLLECTIVES, k=rng.randrange(1, 4))

    def run(v: Any) -> Any:
        for step in steps:
            v = step(rng, v)
        return v

    return run


def reshards(rng: Draw) -> None:
    on = mesh(rng)
    with tans.set_mesh(on):
        x = array(rng, on)
        for _ in range(2):
            x = tans.reshard(x, spec(rng))
            if rng.random() < 0.5:
                x = tans.jit(lambda a: tans.reshard(a + a, spec(rng)))(x)
        tans.block_until_ready(x)


def mapped(rng: Draw) -> None:
    on = mesh(rng)
    options: dict[str, Any] = {"check_vma": rng.random() < 0.7}
    if rng.random() < 0.3:
        options["axis_names"] = {rng.pick(rng.axes, NAMES)}
        rng.axes = tuple(options["axis_names"])
    with tans.set_mesh(on):
        x = array(rng, on)
        if AxisType.Auto in on.axis_types or rng.random() < 0.2:
            options["in_specs"] = spec(rng)
        # Named in the spec, an axis along which the result varies is no error.
        options["out_specs"] = spec(rng) if rng.random() < 0.2 else P(rng.axes)
        fun = tans.shard_map(body(rng), **options)
        run = tans.jit(fun) if rng.random() < 0.8 else fun
        tans.block_until_ready(run(x))
        if rng.random() < 0.6:
            tans.block_until_ready(tans.jit(tans.grad(lambda a: jnp.sum(fun(a) ** 2)))(x))
        if rng.random() < 0.3:
            tans.block_until_ready(tans.vmap(fun)(jnp.stack([x, x])))


def moves(rng: Draw) -> None:
    on = mesh(rng)
    with tans.set_mesh(on):
        x = array(rng, on)
        target = rng.choice((spec(rng), NamedSharding(on, spec(rng))))
        put = tans.jit(lambda a: tans.device_put(a, target))
        x = put(x) if rng.random() < 0.7 else tans.device_put(x, target)
        if rng.random() < 0.5:
            x = tans.jit(tans.grad(lambda a: jnp.sum(tans.reshard(put(a), P()) ** 2)))(x)
        tans.block_until_ready(x)


def lookups(rng: Draw) -> None:
    on = mesh(rng)
    with tans.set_mesh(on):
        table = tans.reshard(np.ones((16, 8), np.float32), spec(rng))
        shape = rng.choice(((8,), (8, 8), ()))
        ids = tans.reshard(np.zeros(shape, np.int32), spec(rng))
        out = rng.choice((None, spec(rng)))

        def rows(table: Any) -> Any:
            return table[ids] if out is None else table.at[ids].get(out_sharding=out)

        run = tans.jit(tans.value_and_grad(lambda t: jnp.sum(tans.reshard(rows(t), P()) ** 2)))
        tans.block_until_ready(run(table))
        write = tans.jit(lambda t, u: t.at[ids].add(u, out_sharding=out))
        tans.block_until_ready(write(table, rows(table)))


def over_devices(rng: Draw) -> None:
    out = rng.pick((0, 1, None), (2, -3, "a"))
    fun = tans.pmap(body(rng), axis_name="X", in_axes=rng.pick((0, 1), (-1, None)), out_axes=out)
    x = np.ones(rng.pick(((8, 8), (4, 4), (2, 2)), ((9,), (8,), (), (0, 2))), np.float32)
    tans.block_until_ready(fun(x))


def run_case(number: int) -> bool:
    """Run one case; return whether it gave a value."""
    rng = Draw(number)
    case = rng.choice((reshards, moves, lookups, mapped, mapped, mapped, over_devices))
    try:
        case(rng)
    except Exception:
        return False
    return True


def main(first: int, count: int) -> None:
    config.update("jax_num_cpu_devices", 8)
    warnings.simplefilter("ignore")
    good = 0
    for number in range(first, first + count):
        # The last line printed names the case that ended the process.
        print(f"case {number}", flush=True)
        good += run_case(number)
    print(f"done {count} {good}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
