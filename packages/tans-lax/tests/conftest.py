"""Checks that several test files share, as fixtures."""

import numpy as np
import pytest

from tans_core import config_module as config
from tans_xla import jit


def _inner(a, b):
    return np.vdot(np.conj(np.asarray(a)), np.asarray(b))


@pytest.fixture
def check_derivatives():
    """Return a function that checks jvp and vjp in float64, to second order by default.

    jvp is compared with central differences, vjp with jvp by one inner product; then the same
    holds for each gradient. Complex inputs are treated as pairs of reals in the differences.
    """
    import tans_autodiff as autodiff

    rng = np.random.default_rng(0)

    def check(fn, *xs, order=2, step=1e-5, rtol=1e-5):
        xs = [np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64) for x in xs]
        x_dots = [_like(x) for x in xs]
        run = jit(lambda xs, x_dots: autodiff.jvp(fn, tuple(xs), tuple(x_dots)))
        y, y_dot = run(xs, x_dots)
        y_bar = _like(np.asarray(y))
        pull = jit(lambda xs, y_bar: autodiff.vjp(fn, *xs)[1](y_bar))
        x_bars = pull(xs, y_bar)
        right = sum(_inner(x_bar, x_dot) for x_bar, x_dot in zip(x_bars, x_dots, strict=True))
        np.testing.assert_allclose(_inner(y_bar, y_dot).real, np.real(right), rtol=1e-9, atol=1e-10)
        run = jit(fn)
        ahead = run(*[x + step * t for x, t in zip(xs, x_dots, strict=True)])
        behind = run(*[x - step * t for x, t in zip(xs, x_dots, strict=True)])
        slope = (np.asarray(ahead) - np.asarray(behind)) / (2 * step)
        np.testing.assert_allclose(y_dot, slope, rtol=rtol, atol=rtol)
        if order > 1:
            for i in range(len(xs)):
                check(lambda *xs, i=i: autodiff.vjp(fn, *xs)[1](y_bar)[i], *xs, order=order - 1)

    def _like(x):
        noise = rng.standard_normal(x.shape)
        if np.iscomplexobj(x):
            noise = noise + 1j * rng.standard_normal(x.shape)
        return noise.astype(x.dtype)

    def check_in_double(fn, *xs, **options):
        with config.enable_x64(True):
            check(fn, *xs, **options)

    return check_in_double
