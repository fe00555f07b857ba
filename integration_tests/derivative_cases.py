"""One program or more per differentiable primitive, with operands inside of its domain.

A case is a function of float arrays and the shapes of its operands, or the operands themselves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tans
import tans.numpy as jnp
from tans import lax
from tans.ad_checkpoint import checkpoint_name
from tans_lax.concatenation import unstack_p


class Case(NamedTuple):
    """A program to differentiate.

    Attributes:
      fn: takes arrays of one float or complex dtype.
      operands: per operand its shape and the interval its elements are from.
      complex: whether it is differentiable for complex operands too.
      bfloat16: whether bfloat16 is accepted.
      orders: how often it can be differentiated.
    """

    fn: Callable[..., Any]
    operands: tuple[tuple[tuple[int, ...], float, float], ...]
    complex: bool = False
    bfloat16: bool = True
    orders: int = 2


def _on(*shapes, low=-1.0, high=1.0):
    return tuple((shape, low, high) for shape in shapes)


def _unary(fn, low=-1.0, high=1.0, **kw):
    return Case(fn, _on((2, 3), low=low, high=high), **kw)


def _spd(x):
    """Return a positive definite matrix that depends on `x`."""
    return x @ jnp.conj(x).swapaxes(-1, -2) + 3 * jnp.eye(x.shape[-1], dtype=x.dtype)


def _regular(x):
    return x + 3 * jnp.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)


I = jnp.array
_DN = lax.GatherDimensionNumbers((1,), (0,), (0,))
_SDN = lax.ScatterDimensionNumbers((1,), (0,), (0,))
_IDX = np.array([[0], [2], [1]], np.int32)


def _either(p, q):
    """Combine probabilities of independent events: associative, and no named reduction."""
    return p + q - p * q


ELEMENTWISE = {
    "abs": _unary(lax.abs, 0.2, 1.0),
    "neg": _unary(lax.neg, complex=True),
    "sign": _unary(lambda x: lax.sign(x) * x, 0.2),
    "exp": _unary(lax.exp, complex=True),
    "exp2": _unary(lax.exp2, complex=True),
    "expm1": _unary(lax.expm1, complex=True),
    "log": _unary(lax.log, 0.5, 2, complex=True),
    "log1p": _unary(lax.log1p, 0.5, 2, complex=True),
    "log2": _unary(jnp.log2, 0.5, 2, complex=True),
    "logistic": _unary(lax.logistic, -3, 3, complex=True),
    "cbrt": _unary(lax.cbrt, 0.5, 2),
    "integer_pow": _unary(lambda x: lax.integer_pow(x, 3), complex=True),
    "rsqrt": _unary(lax.rsqrt, 0.5, 2, complex=True),
    "sqrt": _unary(lax.sqrt, 0.5, 2, complex=True),
    "square": _unary(lax.square, complex=True),
    "acos": _unary(lax.acos, -0.7, 0.7, complex=True),
    "acosh": _unary(lax.acosh, 1.2, 2, complex=True),
    "asin": _unary(lax.asin, -0.7, 0.7, complex=True),
    "asinh": _unary(lax.asinh, complex=True),
    "atan": _unary(lax.atan, complex=True),
    "atanh": _unary(lax.atanh, -0.7, 0.7, complex=True),
    "cos": _unary(lax.cos, complex=True),
    "cosh": _unary(lax.cosh, complex=True),
    "sin": _unary(lax.sin, complex=True),
    "sinh": _unary(lax.sinh, complex=True),
    "tan": _unary(lax.tan, complex=True),
    "tanh": _unary(lax.tanh, -2, 2, complex=True),
    "bessel_i0e": _unary(lax.bessel_i0e, 0.2, 2),
    "bessel_i1e": _unary(lax.bessel_i1e, 0.2, 2),
    "digamma": _unary(lax.digamma, 0.5, 3),
    "lgamma": _unary(lax.lgamma, 0.5, 3),
    "erf": _unary(lax.erf),
    "erfc": _unary(lax.erfc),
    "erf_inv": _unary(lax.erf_inv, -0.8, 0.8),
    "polygamma": _unary(lambda x: lax.polygamma(jnp.ones_like(x), x), 0.7, 3),
    "zeta": _unary(lambda x: lax.zeta(jnp.full_like(x, 2.5), x), 0.7, 3),
    "conj": _unary(lambda x: lax.conj(x) * x, complex=True, bfloat16=False),
    "real": _unary(lambda x: jnp.real(x) ** 2, complex=True),
    "imag": _unary(lambda x: jnp.imag(x * x), complex=True),
    "complex": Case(lambda x, y: lax.complex(x * y, y), _on((2,), (2,)), bfloat16=False),
    "reduce_precision": _unary(lambda x: lax.reduce_precision(x, 11, 52) ** 2, bfloat16=False),
    "copy": _unary(lambda x: lax.copy_p.bind(x) * x, complex=True),
    "optimization_barrier": _unary(lambda x: lax.optimization_barrier(x) * x, complex=True),
    "convert": _unary(lambda x: lax.convert_element_type(x, np.complex128) ** 2, bfloat16=False),
    "add": Case(lambda x, y: (x + y) ** 2, _on((3,), (3,)), complex=True),
    "sub": Case(lambda x, y: (x - y) ** 2, _on((3,), (3,)), complex=True),
    "mul": Case(lambda x, y: x * y, _on((3,), (3,)), complex=True),
    "div": Case(lambda x, y: x / y, _on((3,), (3,), low=0.5), complex=True),
    "rem": Case(lambda x, y: lax.rem(5 * x, y) * x, _on((3,), (3,), low=0.6)),
    "pow": Case(lambda x, y: x**y, _on((3,), (3,), low=0.5), complex=True),
    "atan2": Case(lax.atan2, _on((3,), (3,), low=0.3)),
    "max": Case(lambda x, y: lax.max(x, y) ** 2, (((3,), 0.1, 0.4), ((3,), 0.5, 1.0))),
    "min": Case(lambda x, y: lax.min(x, y) ** 2, (((3,), 0.1, 0.4), ((3,), 0.5, 1.0))),
    "clamp": Case(lambda x: lax.clamp(-0.5, x, 0.9) ** 2, _on((5,), low=-0.4, high=0.8)),
    "select": Case(lambda x, y: lax.select(I([True, False, True]), x * y, y), _on((3,), (3,))),
    "igamma": Case(lambda x: lax.igamma(jnp.full_like(x, 1.5), x), _on((3,), low=0.5)),
    "igammac": Case(lambda x: lax.igammac(jnp.full_like(x, 1.5), x), _on((3,), low=0.5)),
    "betainc": Case(
        lambda x: lax.betainc(jnp.full_like(x, 1.5), jnp.full_like(x, 2.5), x),
        _on((3,), low=0.3, high=0.7),
    ),
    "igamma_in_a": Case(lax.igamma, _on((3,), (3,), low=0.5, high=3), bfloat16=False),
    "polynomial": Case(
        lambda x, c: lax.polynomial(x, [c, 2 * c, c * x]), _on((3,), (3,)), complex=True
    ),
    "stage": _unary(lambda x: lax.stage(x * x), complex=True),
    "nextafter": Case(lambda x: lax.nextafter(x, x + 1) * x, _on((3,))),
    "log_softmax": Case(lambda x: tans.nn.log_softmax(x), _on((2, 3))),
    "softmax": Case(lambda x: tans.nn.softmax(x), _on((2, 3))),
    "gelu": Case(lambda x: tans.nn.gelu(x), _on((2, 3))),
}

SHAPES = {
    "concatenate": Case(lambda x, y: jnp.concatenate([x, y]) ** 2, _on((2,), (3,)), complex=True),
    "pad": Case(lambda x: lax.pad(x * x, x[0, 0] * 0, [(1, 2, 1), (0, -1, 0)]), _on((2, 3))),
    "split": Case(lambda x: lax.split(x * x, (1, 2))[1], _on((3,)), complex=True),
    "stack": Case(lambda x, y: jnp.stack([x, y * x], 1) ** 2, _on((3,), (3,)), complex=True),
    "tile": Case(lambda x: jnp.tile(x * x, (2, 2)), _on((2, 3)), complex=True),
    "unstack": Case(lambda x: unstack_p.bind(x * x, axis=0)[1], _on((2, 3)), complex=True),
    "broadcast": Case(lambda x: jnp.broadcast_to(x * x, (2, 3)), _on((3,)), complex=True),
    "reshape": Case(lambda x: x.reshape(3, 2) ** 2, _on((2, 3)), complex=True),
    "rev": Case(lambda x: x[::-1] * x, _on((3,)), complex=True),
    "squeeze": Case(lambda x: lax.squeeze(x * x, (0,)), _on((1, 3)), complex=True),
    "transpose": Case(lambda x: x.T @ x, _on((2, 3)), complex=True),
    "slice": Case(lambda x: lax.slice(x * x, (1,), (6,), (2,)), _on((7,)), complex=True),
    "dynamic_slice": Case(
        lambda x: lax.dynamic_slice(x * x, (np.int32(2),), (3,)), _on((7,)), complex=True
    ),
    "dynamic_update_slice": Case(
        lambda x, y: lax.dynamic_update_slice(x * x, y * y, (np.int32(2),)),
        _on((7,), (3,)),
        complex=True,
    ),
    "gather": Case(lambda x: lax.gather(x * x, _IDX, _DN, (1, 2)), _on((3, 2)), complex=True),
    "scatter": Case(
        lambda x, y: lax.scatter(x * x, _IDX, y * y, _SDN, unique_indices=True),
        _on((4, 2), (3, 2)),
        complex=True,
    ),
    "scatter_add": Case(
        lambda x, y: lax.scatter_add(x * x, _IDX, y * y, _SDN), _on((4, 2), (3, 2)), complex=True
    ),
    "scatter_sub": Case(
        lambda x, y: lax.scatter_sub(x * x, _IDX, y * y, _SDN), _on((4, 2), (3, 2)), complex=True
    ),
    "scatter_mul": Case(
        lambda x, y: lax.scatter_mul(x * x, _IDX, y * y, _SDN, unique_indices=True),
        _on((4, 2), (3, 2)),
        complex=True,
    ),
    "scatter_min": Case(
        lambda x, y: lax.scatter_min(x, _IDX, y, _SDN) ** 2,
        (((4, 2), 0.1, 0.4), ((3, 2), 0.5, 1)),
    ),
    "scatter_max": Case(
        lambda x, y: lax.scatter_max(x, _IDX, y, _SDN) ** 2,
        (((4, 2), 0.1, 0.4), ((3, 2), 0.5, 1)),
    ),
    "sort": Case(lambda x: jnp.sort(x * x), _on((5,), low=0.1)),
    "sort_pairs": Case(lambda x, y: lax.sort((x, y * y), num_keys=1)[1], _on((5,), (5,))),
    "top_k": Case(lambda x: lax.top_k(x * x, 2)[0], _on((5,), low=0.1)),
    "approx_top_k": Case(lambda x: lax.approx_max_k(x * x, 2)[0], _on((5,), low=0.1)),
}

SUMS = {
    "reduce_sum": Case(lambda x: (x * x).sum(1), _on((2, 3)), complex=True),
    "reduce_prod": Case(lambda x: x.prod(0), _on((3, 2)), complex=True),
    "reduce_max": Case(lambda x: (x * x).max(0), _on((3, 2), low=0.1)),
    "reduce_min": Case(lambda x: (x * x).min(0), _on((3, 2), low=0.1)),
    "reduce": Case(
        lambda x: lax.reduce(x, jnp.zeros((), x.dtype), _either, (0,)), _on((3, 2)), complex=True
    ),
    "cumsum": Case(lambda x: lax.cumsum(x * x), _on((4,)), complex=True),
    "cumprod": Case(lambda x: lax.cumprod(x), _on((4,), low=0.5), complex=True),
    "cummax": Case(lambda x: lax.cummax(x * x), _on((4,), low=0.1)),
    "cummin": Case(lambda x: lax.cummin(x * x), _on((4,), low=0.1)),
    "cumlogsumexp": Case(lax.cumlogsumexp, _on((4,))),
    "dot": Case(lambda x, y: x @ y, _on((2, 3), (3, 2)), complex=True),
    "dot_batched": Case(
        lambda x, y: jnp.einsum("bij,bjk->bik", x, y), _on((2, 2, 3), (2, 3, 2)), complex=True
    ),
    "ragged_dot": Case(
        lambda x, y: lax.ragged_dot(x, y, np.array([1, 2], np.int32)), _on((3, 2), (2, 2, 2))
    ),
    "conv": Case(
        lambda x, w: lax.conv_general_dilated(x, w, (2,), [(1, 1)], rhs_dilation=(2,)),
        _on((1, 2, 7), (3, 2, 2)),
        bfloat16=False,
    ),
    "window_sum": Case(
        lambda x: lax.reduce_window(x * x, 0.0, lax.add, (2,), (1,), "VALID"), _on((5,))
    ),
    "window_max": Case(
        lambda x: lax.reduce_window(x * x, -np.inf, lax.max, (2,), (1,), "VALID"),
        _on((5,), low=0.1),
    ),
    "window_min": Case(
        lambda x: lax.reduce_window(x * x, np.inf, lax.min, (2,), (1,), "VALID"),
        _on((5,), low=0.1),
    ),
    "fft": Case(lambda x: jnp.fft.fft(x * x), _on((4,)), complex=True, bfloat16=False),
    "rfft": Case(lambda x: jnp.fft.rfft(x * x), _on((4,)), bfloat16=False),
    "irfft": Case(lambda x: jnp.fft.irfft(lax.complex(x * x, x)), _on((4,)), bfloat16=False),
}

LINALG = {
    "cholesky": Case(lambda x: lax.linalg.cholesky(_spd(x)), _on((3, 3)), complex=True),
    "det": Case(lambda x: jnp.linalg.det(x), _on((3, 3)), complex=True),
    "det_of_four": Case(lambda x: jnp.linalg.det(x), _on((4, 4)), complex=True),
    "eigh": Case(lambda x: jnp.linalg.eigvalsh(x + x.T), _on((3, 3))),
    "eigh_vectors": Case(lambda x: jnp.abs(jnp.linalg.eigh(x + x.T)[1]), _on((3, 3))),
    "eig": Case(lambda x: jnp.abs(jnp.linalg.eigvals(_regular(x))), _on((2, 2)), orders=1),
    "qr": Case(lambda x: jnp.linalg.qr(_regular(x))[1], _on((3, 2)), complex=True),
    "pinv": Case(lambda x: jnp.linalg.pinv(_regular(x)), _on((3, 2))),
    "svd": Case(lambda x: jnp.linalg.svd(_regular(x))[1], _on((3, 2))),
    "lu": Case(lambda x: lax.linalg.lu(_regular(x))[0], _on((3, 3)), complex=True),
    "triangular_solve": Case(
        lambda a, b: lax.linalg.triangular_solve(_regular(a), b, left_side=True, lower=True),
        _on((3, 3), (3, 2)),
        complex=True,
    ),
    "tridiagonal_solve": Case(
        lambda d, b: lax.linalg.tridiagonal_solve(d / 3, d + 3, d / 2, b), _on((4,), (4, 1))
    ),
    "symmetric_product": Case(
        lambda a, c: lax.linalg.symmetric_product(a, c + c.T, alpha=2.0, beta=0.5),
        _on((3, 2), (3, 3)),
    ),
    "solve": Case(lambda a, b: jnp.linalg.solve(_regular(a), b), _on((3, 3), (3,)), complex=True),
}


@tans.custom_batching.custom_vmap
def _mapped_by_hand(x):
    return jnp.sin(x) * x


@_mapped_by_hand.def_vmap
def _whole(axis_size, in_batched, x):
    return jnp.sin(x) * x, True


def _in_a_ref(x):
    ref = tans.new_ref(x * x)
    ref[0] = x[0] * ref[1]
    ref[1] += x[0] * x[1]
    return tans.freeze(ref)


def _while(x):
    return lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * x, x)


CALLS = {
    "scan": Case(
        lambda x, w: lax.scan(lambda c, x: (jnp.tanh(w @ c + x), c.sum()), x[0], x),
        _on((3, 2), (2, 2)),
        complex=True,
    ),
    "fori": Case(_while, _on((2,))),
    "cond": Case(
        lambda x, y: lax.cond(x.sum() > 0, lambda: jnp.sin(x) * y, lambda: x * y * y),
        _on((2,), (2,)),
    ),
    "mapped_cond": Case(
        lambda x: tans.vmap(lambda x: lax.cond(x > 0, jnp.sin, lambda x: x * x, x))(x),
        _on((4,)),
    ),
    "checkpoint": Case(tans.checkpoint(lambda x: jnp.sin(jnp.sin(x) * x)), _on((2,)), complex=True),
    "jit": Case(tans.jit(lambda x, y: jnp.sin(x) * y), _on((2,), (2,)), complex=True),
    "associative_scan": Case(
        lambda x: lax.associative_scan(lambda a, b: a * b, x), _on((5,)), complex=True
    ),
    "custom_root": Case(
        lambda a: lax.custom_root(
            lambda x: x * x - a,
            jnp.ones_like(a),
            lambda g, x: lax.fori_loop(0, 30, lambda _, x: x - g(x) / (2 * x), x),
            lambda g, y: y / g(jnp.ones_like(y)),
        ),
        _on((2,), low=0.5),
        bfloat16=False,
    ),
    "custom_linear_solve": Case(
        lambda a, b: lax.custom_linear_solve(
            lambda x: _regular(a) @ x,
            b,
            lambda _, b: jnp.linalg.solve(_regular(a), b),
            lambda _, b: jnp.linalg.solve(_regular(a).T, b),
        ),
        _on((2, 2), (2,)),
        bfloat16=False,
    ),
    "device_put": Case(lambda x: tans.device_put(x * x), _on((2,)), complex=True),
    "composite": Case(lax.composite(lambda x: jnp.sin(x) * x, "tests.op"), _on((2,)), complex=True),
    "custom_jvp": Case(tans.nn.relu6, _on((3,), low=0.5, high=5)),
    "custom_vmap": Case(_mapped_by_hand, _on((2,)), complex=True),
    "name": Case(lambda x: checkpoint_name(x, "x") * x, _on((2,)), complex=True),
    "ref": Case(_in_a_ref, _on((3,)), complex=True),
    "stop_gradient": Case(lambda x: x * x + 0 * lax.stop_gradient(x), _on((2,))),
    "gamma_of_a": Case(
        lambda a: tans.random.loggamma(tans.random.key(0), a, dtype=a.dtype),
        _on((2,), low=1.5, high=3),
        bfloat16=False,
        orders=0,
    ),
}

CASES = ELEMENTWISE | SHAPES | SUMS | LINALG | CALLS
