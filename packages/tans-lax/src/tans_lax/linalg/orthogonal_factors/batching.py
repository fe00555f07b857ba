"""Batching of QR factors: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.orthogonal_factors import geqrf_p, householder_product_p, ormqr_p, qr_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    qr_p: stacked_batching(qr_p),
    geqrf_p: stacked_batching(geqrf_p),
    householder_product_p: stacked_batching(householder_product_p),
    ormqr_p: stacked_batching(ormqr_p),
}
