"""Derivatives of NumPy-level functions at kinks, poles and ties: the vectors N1 to N54."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import grad, jacrev, lax

inf, nan = np.inf, np.nan
f32 = np.float32
Point = Any


def at(*points: Point) -> list[tuple[Any, ...]]:
    """Return points as tuples of float32 arguments."""
    return [tuple(map(as_argument, p if isinstance(p, tuple) else (p,))) for p in points]


def as_argument(x: Any) -> Any:
    if isinstance(x, complex):
        return np.complex64(x)
    return jnp.array(x, f32) if isinstance(x, list) else f32(x)


def slope(f: Callable[..., Any]) -> Callable[..., Any]:
    return grad(f)


def both(f: Callable[..., Any]) -> Callable[..., Any]:
    return grad(f, (0, 1))


def late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that may not be there; calls skip where it is not."""

    def call(*args: Any) -> Any:
        found = getattr(pytest.importorskip(module), name, None)
        if found is None:
            pytest.skip(f"{module} has no {name}")
        return found(*args)

    return call


def nn(name: str) -> Callable[..., Any]:
    return late("tans_nn", name)


def special(name: str) -> Callable[..., Any]:
    return late("tans_scipy.special", name)


def guarded(f: Callable[..., Any], outside: float = 0.0) -> Callable[..., Any]:
    return lambda x: jnp.where(x > 0, f(x), outside)


def by_int(n: int) -> Callable[..., Any]:
    return slope(lambda x: x**n)


def clamp_parts(lo: Any, x: Any, hi: Any) -> Any:
    return grad(lax.clamp, (0, 1, 2))(lo, x, hi)


def overwrite(x: Any, y: Any) -> Any:
    return (x.at[jnp.array([0, 0])].set(y) * jnp.array([1.0, 2.0, 3.0])).sum()


def two_where(x: Any) -> Any:
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


def eigenvalue_sum(x: Any) -> Any:
    return late("tans.numpy.linalg", "eigh")(x)[0].sum()


def last_row(jacobian: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jacobian(x)[-1]


ones = [[1.0, 0.0], [0.0, 1.0]]
# Where a slope is well defined, it is expected though JAX 0.12 gives nan: N24 in x at (0, 0), and
# N33 in y, because x ** 0 and 0 * log(y) are constant.
# id: (function from point to derivative, points, expected values)
VECTORS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]], list[Any]]] = {
    "N1": (slope(nn("relu")), at(-1, 0, 1), [0, 0, 1]),
    "N2": (slope(nn("relu6")), at(-1, 0, 3, 6, 7), [0, 0, 1, 0, 0]),
    "N3": (slope(nn("leaky_relu")), at(-1, 0, 1), [0.01, 1, 1]),
    "N4 elu": (slope(nn("elu")), at(0), [1]),
    "N4 selu": (slope(nn("selu")), at(0), [1.7580993]),
    "N4 celu": (slope(nn("celu")), at(0), [1]),
    "N4 hard_tanh": (slope(nn("hard_tanh")), at(0), [1]),
    "N4 silu": (slope(nn("silu")), at(0), [0.5]),
    "N4 gelu": (slope(nn("gelu")), at(0), [0.5]),
    "N5": (slope(nn("hard_tanh")), at(-1, 1), [1, 1]),
    "N6": (slope(jnp.abs), at(-1, 0, -0.0, 1), [-1, 1, 1, 1]),
    "N7": (slope(jnp.abs), at(0j, 3 + 4j), [0j, 0.6 - 0.8j]),
    "N8": (slope(jnp.sign), at(0), [0]),
    "N9 sqrt": (slope(jnp.sqrt), at(0), [inf]),
    "N9 rsqrt": (slope(lax.rsqrt), at(0), [-inf]),
    "N9 cbrt": (slope(jnp.cbrt), at(0), [inf]),
    "N10": (slope(late("tans.numpy.linalg", "norm")), at([0, 0], [3, 4]), [[nan, nan], [0.6, 0.8]]),
    "N11": (both(jnp.hypot), at((0, 0)), [[nan, nan]]),
    "N12 maximum": (both(jnp.maximum), at((1, 1)), [[0.5, 0.5]]),
    "N12 minimum": (both(jnp.minimum), at((1, 1)), [[0.5, 0.5]]),
    "N12 lax": (both(lax.max), at((1, 1)), [[0.5, 0.5]]),
    "N13": (both(jnp.maximum), at((nan, 1)), [[0, 0]]),
    "N14 max": (slope(jnp.max), at([1, 3, 3, 3]), [[0, 1 / 3, 1 / 3, 1 / 3]]),
    "N14 min": (slope(jnp.min), at([1, 1, 3]), [[0.5, 0.5, 0]]),
    "N15 max": (slope(jnp.max), at([1, nan, 3]), [[nan, nan, nan]]),
    "N15 nanmax": (slope(jnp.nanmax), at([1, nan, 3]), [[0, 0, 1]]),
    "N16": (jacrev(jnp.sort), at([2, 1, 1]), [[[0, 1, 0], [0, 0, 1], [1, 0, 0]]]),
    "N17": (slope(jnp.median), at([1, 2, 2, 3], [3, 1, 2]), [[0, 0.5, 0.5, 0], [0, 0, 1]]),
    "N18": (slope(lambda x: jnp.quantile(x, 0.5)), at([1, 2, 3, 4]), [[0, 0.5, 0.5, 0]]),
    "N19": (slope(lambda x: jnp.clip(x, 0, 1)), at(-1, 0, 0.5, 1, 2), [0, 0.5, 1, 0.5, 0]),
    "N20": (slope(lambda x: lax.clamp(f32(0), x, f32(1))), at(-1, 0, 0.5, 1, 2), [0, 0, 1, 0, 0]),
    "N20 parts": (clamp_parts, at((0, 2, 1), (0, 0, 1)), [[0, 0, 1], [0, 0, 0]]),
    "N21": (slope(guarded(jnp.sqrt)), at(0), [nan]),
    "N22": (slope(two_where), at(0), [0]),
    "N23": (slope(guarded(jnp.log)), at(-1), [-0.0]),
    "N24": (both(lambda x, y: x**y), at((0, 0), (0, 1), (0, 2)), [[0, 0], [1, 0], [0, 0]]),
    "N25": (both(lambda x, y: x**y), at((-2, 2)), [[-4, nan]]),
    "N26 0": (by_int(0), at(0), [0]),
    "N26 1": (by_int(1), at(0), [1]),
    "N26 2": (by_int(2), at(0), [0]),
    "N26 3": (by_int(3), at(0), [0]),
    "N26 -1": (by_int(-1), at(0), [-inf]),
    "N27": (slope(lambda x: x ** np.int32(0)), at(0), [0]),
    "N28": (
        slope(nn("logsumexp")),
        at([-inf, -inf], [-inf, 0], [inf, 0]),
        [[nan, nan], [0, 1], [nan, 0]],
    ),
    "N29": (
        both(jnp.logaddexp),
        at((-inf, -inf), (0, 0), (inf, inf)),
        [[nan, nan], [0.5, 0.5], [1, 1]],
    ),
    "N30 softmax": (jacrev(nn("softmax")), at([-inf, 0]), [[[0, 0], [-0.0, 0]]]),
    "N30 log_softmax": (slope(lambda x: nn("log_softmax")(x)[1]), at([-inf, 0]), [[0, 0]]),
    "N31 log": (slope(jnp.log), at(0, -1), [inf, -1]),
    "N31 log1p": (slope(jnp.log1p), at(-1), [inf]),
    "N32": (both(lambda x, y: x / y), at((0, 0)), [[inf, nan]]),
    "N33 xlogy": (both(special("xlogy")), at((0, 0)), [[-inf, 0]]),
    "N33 xlog1py": (both(special("xlog1py")), at((0, -1)), [[-inf, 0]]),
    "N34": (slope(jnp.sinc), at(0), [0]),
    "N34 second": (slope(slope(jnp.sinc)), at(0), [-3.289868]),
    "N35 arccos": (slope(jnp.arccos), at(1), [-inf]),
    "N35 arcsin": (slope(jnp.arcsin), at(1), [inf]),
    "N36": (both(jnp.arctan2), at((0, 0)), [[nan, nan]]),
    "N37 floor": (slope(jnp.floor), at(1.5), [0]),
    "N37 ceil": (slope(jnp.ceil), at(1.5), [0]),
    "N37 round": (slope(jnp.round), at(1.5), [0]),
    "N37 trunc": (slope(jnp.trunc), at(1.5), [0]),
    "N38 mod": (both(jnp.mod), at((5, 3)), [[1, -1]]),
    "N38 rem": (both(lax.rem), at((-5, 3)), [[1, 1]]),
    "N39": (slope(jnp.prod), at([0, 2, 3], [0, 0, 3]), [[6, 0, 0], [0, 0, 0]]),
    "N40": (jacrev(jnp.cumprod), at([2, 0, 3]), [[[1, 0, 0], [0, 2, 0], [0, 6, 0]]]),
    "N41": (jacrev(lax.cummax), at([1, 1, 2]), [[[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]]),
    "N41 tree": (last_row(jacrev(lax.cummax)), at([1, 1, 1]), [[0.25, 0.25, 0.5]]),
    "N42 std": (slope(jnp.std), at([1, 1]), [[nan, nan]]),
    "N42 var": (slope(jnp.var), at([1, 1]), [[0, 0]]),
    "N43 sigmoid": (slope(nn("sigmoid")), at(-1000, 0, 1000), [0, 0.25, 0]),
    "N43 softplus": (slope(nn("softplus")), at(-1000, 0, 1000), [0, 0.5, 1]),
    "N44": (slope(jnp.tanh), at(100), [0]),
    "N45": (slope(lambda x: lax.top_k(x, 2)[0].sum()), at([1, 3, 3, 2]), [[0, 1, 1, 0]]),
    "N46 x": (grad(overwrite, 0), at(([1, 1, 1], [1, 2])), [[0, 2, 3]]),
    "N46 y": (grad(overwrite, 1), at(([1, 1, 1], [1, 2])), [[0, 1]]),
    "N47": (slope(lambda x: x[jnp.array([0, 0, 2])].sum()), at([1, 2, 3]), [[2, 0, 1]]),
    "N47 clamped": (slope(lambda x: x[5]), at([1, 2, 3]), [[0, 0, 1]]),
    "N48 eigh": (slope(eigenvalue_sum), at(ones), [ones]),
    "N48 det": (slope(late("tans.numpy.linalg", "det")), at([[0, 0], [0, 0]]), [[[0, 0], [0, 0]]]),
    "N49 nansum": (slope(jnp.nansum), at([1, nan, 3]), [[1, 0, 1]]),
    "N49 nan_to_num": (slope(jnp.nan_to_num), at(nan, 1), [0, 1]),
    "N50 nextafter": (slope(lambda x: jnp.nextafter(x, f32(2))), at(1), [1]),
    "N50 copysign": (both(jnp.copysign), at((2, -1)), [[-1, 0]]),
    "N50 heaviside": (both(jnp.heaviside), at((0, 0.5)), [[0, 1]]),
    "N51 erf_inv": (slope(lax.erf_inv), at(1), [inf]),
    "N51 lgamma": (slope(lax.lgamma), at(0), [-inf]),
    "N51 logistic": (slope(lax.logistic), at(0), [0.25]),
    "N52": (
        slope(lambda x: jnp.interp(x, jnp.array([0.0, 1, 2]), jnp.array([0.0, 1, 0]))),
        at(1),
        [-1],
    ),
    "N53": (slope(lambda x: lax.select(x > 0, x, -x)), at(0), [-1]),
}


@pytest.mark.parametrize("vector", VECTORS)
def test_derivatives_at_special_points(vector: str) -> None:
    derivative, points, expected = VECTORS[vector]
    assert len(points) == len(expected)
    for point, value in zip(points, expected, strict=True):
        found = derivative(*point)
        np.testing.assert_allclose(np.array(found), np.array(value), rtol=1e-6, atol=1e-7)


def test_n54_argmax_has_a_float0_tangent() -> None:
    y, y_dot = tans.jvp(jnp.argmax, (jnp.array([1.0, 2.0]),), (jnp.ones(2),))
    assert int(y) == 1
    assert y_dot.shape == ()
    assert y_dot.dtype == tans.float0
