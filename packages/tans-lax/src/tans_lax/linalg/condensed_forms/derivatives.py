"""Condensed forms have no derivative: reflectors are chosen by sign, and may vanish."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.condensed_forms import hessenberg_p, tridiagonal_p
from tans_lax.rows import not_differentiable, not_linear

JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    hessenberg_p: not_differentiable("but Hessenberg forms are not differentiated"),
    tridiagonal_p: not_differentiable(
        "but tridiagonal forms are not differentiated; differentiate eigh instead"
    ),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    hessenberg_p: not_linear,
    tridiagonal_p: not_linear,
}
