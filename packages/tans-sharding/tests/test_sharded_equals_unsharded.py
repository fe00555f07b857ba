"""Programs compute the same on sharded operands as on unsharded ones, gradients too."""

import pkgutil
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
import tans_lax
import tans_random
from tans import P, lax
from tans_core import rules

RNG = np.random.default_rng(5)
VALUES = RNG.uniform(0.2, 0.9, (8, 4)).astype(np.float32)
OTHER = RNG.uniform(0.2, 0.9, (8, 4)).astype(np.float32)
BITS = RNG.integers(1, 100, (8, 4)).astype(np.int32)
IMAGE = RNG.uniform(size=(2, 3, 8, 8)).astype(np.float32)
KERNEL = RNG.uniform(size=(4, 3, 3, 3)).astype(np.float32)

SPECS = {
    "rows": P("X", None),
    "rows over two axes": P(("X", "Y"), None),
    "both": P("X", "Y"),
    "reduced": P(reduced={"X"}),
    "rows reduced": P("Y", reduced={"X"}),
}

UNARY = """
    abs acos asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc
    exp exp2 expm1 floor is_finite lgamma log log1p logistic neg round rsqrt sign sin sinh sqrt
    square tan tanh
""".split()
BINARY = "add atan2 div max min mul nextafter pow rem sub eq ne lt le gt ge".split()
BITWISE = "bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical".split()

# Functions of one array of shape [8, 4] whose second dimension they leave unsharded or whole.
ROWWISE = {
    "argmax": lambda x: lax.argmax(x, 1, np.int32),
    "clamp": lambda x: lax.clamp(0.3, x, 0.6),
    "concatenate": lambda x: lax.concatenate([x, x], 1),
    "convert": lambda x: lax.convert_element_type(x, np.int32),
    "broadcast": lambda x: lax.broadcast_in_dim(x, (8, 3, 4), (0, 2)),
    "complex": lambda x: lax.imag(lax.complex(x, x)),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 1),
    "cummax": lambda x: lax.cummax(x, 1),
    "cumprod": lambda x: lax.cumprod(x, 1),
    "cumsum": lambda x: lax.cumsum(x, 1),
    "dot": lambda x: x @ OTHER.T[:, :3],
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (0, 1), (8, 2)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:, :2], (0, 1)),
    "fft": lambda x: lax.real(lax.fft(lax.complex(x, x), "FFT", (4,))),
    "gather": lambda x: x[:, np.array([0, 2])],
    "integer_pow": lambda x: lax.integer_pow(x, 3),
    "pad": lambda x: lax.pad(x, np.float32(0), [(0, 0, 0), (1, 1, 1)]),
    "reduce": lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + b + 0.0 * a, (1,)),
    "reduce_max": lambda x: lax.reduce_max(x, (1,)),
    "reduce_prod": lambda x: lax.reduce_prod(x, (1,)),
    "reduce_sum": lambda x: lax.reduce_sum(x, (0, 1)),
    "reduce_precision": lambda x: lax.reduce_precision(x, 8, 7),
    "reduce_window": lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID"),
    "reshape": lambda x: lax.reshape(x, (8, 2, 2)),
    "rev": lambda x: lax.rev(x, (0, 1)),
    "scatter_add": lambda x: x.at[:, np.array([0, 0])].add(x[:, :2]),
    "select": lambda x: lax.select(x > 0.5, x, -x),
    "slice": lambda x: lax.slice(x, (0, 1), (8, 3)),
    "sort": lambda x: lax.sort(x, dimension=1),
    "split": lambda x: lax.split(x, (1, 3), 1)[1],
    "squeeze": lambda x: lax.squeeze(lax.expand_dims(x, (1,)), (1,)),
    "stack": lambda x: jnp.stack([x, x], 1),
    "tile": lambda x: lax.tile(x, (1, 2)),
    "top_k": lambda x: lax.top_k(x, 2)[0],
    "transpose": lambda x: lax.transpose(x, (1, 0)),
    "where": lambda x: jnp.where(x > 0.5, x, 0.0),
    "tril": jnp.tril,
    "softmax": lambda x: jnp.exp(x - x.max(1, keepdims=True)) / jnp.exp(x).sum(1, keepdims=True),
    "variance": lambda x: x.var(1),
    "scan": lambda x: lax.scan(lambda c, _: (jnp.tanh(c), c.sum()), x, None, length=3),
    "while": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 1.5, x),
    "cond": lambda x: lax.cond(True, jnp.sin, jnp.cos, x),
    "jit": lambda x: tans.jit(jnp.sin)(x),
    "checkpoint": lambda x: tans.checkpoint(jnp.sin)(x),
    "outer batch": lambda x: jnp.einsum("ij,ik->ijk", x, x),
}
# The rules of these accept no reduced operand (their results would have to be summed or compared).
NOT_REDUCED = {"dynamic_update_slice", "scatter_add"}
WHOLE_ROWS = {
    "argmax", "broadcast", "clamp", "complex", "convert", "dot", "integer_pow",
    "reduce_max", "reduce_prod", "reduce_precision", "reduce_sum", "rev", "select", "squeeze",
    "stack", "transpose", "where", "tril", "softmax", "variance", "scan", "while", "cond", "jit",
    "checkpoint", "concatenate",
}  # fmt: skip


def whole(x: Any) -> np.ndarray:
    return np.asarray(tans.reshard(x, P()))


def check(fun: Any, operands: tuple[np.ndarray, ...], spec: P) -> None:
    """Compare values and the gradient of a weighted sum, eagerly and compiled."""
    tans.set_mesh(None)
    expected = tans.tree.leaves(fun(*map(jnp.asarray, operands)))
    tans.set_mesh(tans.make_mesh((2, 4), ("X", "Y")))
    given = [tans.reshard(x, spec) for x in operands]
    for run in (fun, tans.jit(fun)):
        for out, want in zip(tans.tree.leaves(run(*given)), expected, strict=True):
            np.testing.assert_allclose(whole(out), want, rtol=2e-5, atol=1e-6)


def check_gradient(fun: Any, x: np.ndarray, spec: P) -> None:
    """Compare gradients of a sum of squares, and their types with the primal's."""

    def loss(x: Any) -> Any:
        return sum((y * y).sum() for y in tans.tree.leaves(fun(x)))

    tans.set_mesh(None)
    expected = tans.grad(loss)(jnp.asarray(x))
    tans.set_mesh(tans.make_mesh((2, 4), ("X", "Y")))
    given = tans.reshard(x, spec)
    found = tans.grad(loss)(given)
    assert tans.typeof(found) is tans.typeof(given).to_cotangent()
    np.testing.assert_allclose(whole(found), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_unary(mesh: Any, spec: P) -> None:
    check(lambda x: [getattr(lax, name)(x) for name in UNARY], (VALUES,), spec)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_binary(mesh: Any, spec: P) -> None:
    check(lambda x, y: [getattr(lax, name)(x, y) for name in BINARY], (VALUES, OTHER), spec)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_bitwise(mesh: Any, spec: P) -> None:
    def fun(x: Any, y: Any) -> Any:
        return [
            *(getattr(lax, name)(x, y) for name in BITWISE),
            lax.bitwise_not(x), lax.population_count(x), lax.clz(x),
        ]  # fmt: skip

    check(fun, (BITS, BITS % 7), spec)


CASES = [
    pytest.param(fun, spec, id=f"{name}, {at}")
    for name, fun in ROWWISE.items()
    for at, spec in SPECS.items()
    if at in ("rows", "both", "reduced")
    and not (at == "both" and name not in WHOLE_ROWS)
    and not ("reduced" in at and name in NOT_REDUCED)
]


@pytest.mark.parametrize(("fun", "spec"), CASES)
def test_rowwise(mesh: Any, fun: Any, spec: P) -> None:
    check(fun, (VALUES,), spec)


SMOOTH = """
    broadcast concatenate cumsum dynamic_slice integer_pow pad reduce_max reduce_sum reshape rev
    select slice split squeeze stack transpose where variance scan while cond jit checkpoint gather
""".split()
SMOOTH_CASES = [
    pytest.param(ROWWISE[name], spec, id=f"{name}, {at}")
    for name in SMOOTH
    for at, spec in SPECS.items()
    if at in ("rows", "both", "reduced")
    and not (at == "both" and name not in WHOLE_ROWS)
    and not ("reduced" in at and name == "cumsum")  # its cotangent is unreduced
]


@pytest.mark.parametrize(("fun", "spec"), SMOOTH_CASES)
def test_gradient(mesh: Any, fun: Any, spec: P) -> None:
    check_gradient(fun, VALUES, spec)


@pytest.mark.parametrize("name", ["tanh", "exp", "sin", "logistic", "square", "log", "rsqrt"])
def test_gradient_of_elementwise_functions(mesh: Any, name: str) -> None:
    for spec in SPECS.values():
        check_gradient(getattr(lax, name), VALUES, spec)


def test_convolution_over_a_sharded_batch(mesh: Any) -> None:
    def fun(image: Any) -> Any:
        return lax.conv(image, KERNEL, (1, 1), "SAME")

    check(fun, (IMAGE,), P("X"))
    check_gradient(fun, IMAGE, P("X"))


@pytest.mark.parametrize("name", ["cholesky", "qr", "svd", "eigh", "det"])
def test_batches_of_matrices(mesh: Any, name: str) -> None:
    x = RNG.uniform(size=(8, 3, 3)).astype(np.float32)
    x = x @ x.transpose(0, 2, 1) + 3 * np.eye(3, dtype=np.float32)

    def magnitudes(x: Any) -> Any:
        return [jnp.abs(y) for y in tans.tree.leaves(getattr(jnp.linalg, name)(x))]

    check(magnitudes, (x,), P("X"))


def test_random_bits_do_not_depend_on_the_mesh(mesh: Any) -> None:
    def fun(seeds: Any) -> Any:
        keys = tans.vmap(tans.random.key)(seeds)
        return tans.vmap(lambda key: tans.random.normal(key, (3,)))(keys)

    check(fun, (np.arange(8, dtype=np.uint32),), P("X"))


# Collectives act inside shard_map, whose types are no matter of propagation.
ELSEWHERE = ("tans_lax.collectives",)


def test_every_primitive_has_a_propagation_rule() -> None:
    for package in (tans_lax, tans_random):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.ispkg:
                rules.types.load_family(found.name)
    missing = [
        p.name
        for p in rules.types
        if not p.call_like
        and (p.family or "").startswith(("tans_lax", "tans_random", "tans_autodiff"))
        and not p.family.startswith(ELSEWHERE)
        and rules.sharding.find(p) is None
    ]
    assert missing == []
