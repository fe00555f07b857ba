"""Linear algebra in programs for many sizes, and its derivatives."""

import numpy as np
import pytest
from symbolic_programs import Program, gradient, same

import tans
import tans.numpy as jnp
import tans.scipy.linalg

TALL = {"constraints": ["a >= b"], "sizes": ({"a": 6, "b": 3}, {"a": 4, "b": 4})}


def diagonals(element, m, n):
    return np.array([[element(i, j) for j in range(n)] for i in range(m)])


TABLE = {
    "chains": same(lambda n, x: n.linalg.multi_dot([x, x.T, x, x[0]])),
    "pseudoinverses": same(lambda n, x: n.linalg.pinv(x)),
    "ranks": same(lambda n, x: (n.linalg.matrix_rank(x), n.linalg.matrix_rank(x[:1] * x[:, :1]))),
    "least squares": Program(
        lambda x: jnp.linalg.lstsq(x, x[:, 0])[0],
        lambda x: np.linalg.lstsq(x, x[:, 0], rcond=None)[0],
    ),
    "constant diagonals": Program(
        lambda x: (
            tans.scipy.linalg.toeplitz(x[:, 0], x[0]),
            tans.scipy.linalg.hankel(x[:, 0], x[0]),
            tans.scipy.linalg.circulant(x[0]),
        ),
        lambda x: (
            diagonals(lambda i, j: x[i - j, 0] if i >= j else x[0, j - i], *x.shape),
            diagonals(lambda i, j: [*x[:, 0], *x[0, 1:]][i + j], *x.shape),
            diagonals(lambda i, j: x[0, i - j], x.shape[1], x.shape[1]),
        ),
    ),
    "eigenvalues' gradients": Program(
        tans.grad(lambda x: jnp.linalg.eigvalsh(x @ x.T).sum()),
        lambda x: 2 * x,  # of the trace
    ),
    "thin factors' gradients": gradient(same(lambda n, x: abs(n.linalg.qr(x)[1]), **TALL)),
    "whole factors' gradients": gradient(
        same(lambda n, x: abs(n.linalg.qr(x, mode="complete")[1]), **TALL)
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_matrices_of_symbolic_sizes(name):
    TABLE[name].check()
