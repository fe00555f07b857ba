"""Programs for many sizes, exported, written, read and called, with NumPy as their oracle."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tans
import tans.numpy as jnp
from tans import export

SIZES = ({"a": 3, "b": 4, "c": 5}, {"a": 2, "b": 7, "c": 1}, {"a": 6, "b": 5, "c": 2})


def exported(fun, *specs, constraints=(), dtypes=None, vjp_order=0, platforms=None):
    """Export a function for arguments of symbolic shapes; return what was written and read."""
    scope = export.SymbolicScope(constraints)
    structs = [
        tans.ShapeDtypeStruct(export.symbolic_shape(spec, scope=scope), dtype)
        for spec, dtype in zip(specs, dtypes or [np.float32] * len(specs), strict=True)
    ]
    made = export.export(tans.jit(fun), platforms=platforms)(*structs)
    return export.deserialize(made.serialize(vjp_order=vjp_order))


class Program(NamedTuple):
    """A program.

    Attributes:
      fun: what is exported.
      oracle: the same of NumPy arrays, float64 where `fun` takes float32.
      specs: shapes of the arguments.
      constraints: of the scope.
      dtypes: of the arguments; float32 if None. Integers are 0 or 1.
      sizes: what it is called with.
      types: printed types of the results.
    """

    fun: Callable[..., Any]
    oracle: Callable[..., Any]
    specs: Sequence[str] = ("a,b",)
    constraints: Sequence[str] = ()
    dtypes: Sequence[Any] | None = None
    sizes: Sequence[dict[str, int]] = SIZES
    types: str | None = None

    def arguments(self, sizes, seed):
        """Return arguments for sizes of the names."""
        rng = np.random.default_rng(seed)
        made = []
        for spec, dtype in zip(self.specs, self.dtypes or [np.float32] * 9, strict=False):
            shape = [eval(size, dict(sizes)) for size in spec.split(",") if size]
            if np.dtype(dtype).kind == "i":
                made.append(rng.integers(0, 2, shape).astype(dtype))
            else:
                made.append(rng.normal(size=shape).astype(dtype))
        return made

    def check(self):
        """Export it and compare with the oracle at all sizes."""
        made = exported(self.fun, *self.specs, constraints=self.constraints, dtypes=self.dtypes)
        if self.types is not None:
            assert " ".join(a.str_short() for a in made.out_avals) == self.types
        for seed, sizes in enumerate(self.sizes):
            args = self.arguments(sizes, seed)
            found = tans.tree.leaves(made.call(*args))
            doubles = [x.astype(np.float64) if x.dtype == np.float32 else x for x in args]
            expected = tans.tree.leaves(self.oracle(*doubles))
            assert len(found) == len(expected)
            for x, y in zip(found, expected, strict=True):
                assert x.shape == np.shape(y)
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5)


def same(fun, *specs, **options):
    """A program that reads alike for NumPy."""
    options = {"specs": specs or ("a,b",)} | options
    return Program(lambda *x: fun(jnp, *x), lambda *x: fun(np, *x), **options)


def differences(fun, x):
    """Return the gradient of a sum by central differences, in float64."""
    out = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = 1e-5
        out[place] = (fun(x + step) - fun(x - step)) / 2e-5
    return out


def gradient(program):
    """Return the program that gives the gradient of the sum of sines of another's results."""

    def fun(x, *rest):
        return tans.grad(
            lambda x: sum(jnp.sum(jnp.sin(y)) for y in tans.tree.leaves(program.fun(x, *rest)))
        )(x)

    def oracle(x, *rest):
        def total(x):
            return sum(np.sum(np.sin(y)) for y in tans.tree.leaves(program.oracle(x, *rest)))

        return differences(total, x)

    return program._replace(fun=fun, oracle=oracle, types="f32[" + program.specs[0] + "]")
