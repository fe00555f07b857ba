"""Linear algebra: factorizations, spectra and systems of equations, on stacks of matrices.

All functions take arrays of shape ``[*batch, m, n]`` of dtype float32, float64, complex64 or
complex128. Each family is a folder with the primitives' rules; names load at their first use.
"""

from importlib import import_module
from typing import Any, Final

# Module below this package, and the public names it defines.
_PUBLIC: Final = {
    "cholesky_factors": "cholesky cholesky_p cholesky_update cholesky_update_p",
    "condensed_forms": "hessenberg hessenberg_p tridiagonal tridiagonal_p",
    "general_spectra": "EigImplementation eig eig_p schur schur_p",
    "hermitian_spectra": "EighImplementation eigh eigh_p",
    "orthogonal_factors": "householder_product householder_product_p ormqr ormqr_p qr qr_p",
    "products": "symmetric_product symmetric_product_p",
    "singular_values": "SvdAlgorithm svd svd_p",
    "singular_values.polar": "qdwh",
    "triangular_factors": "lu lu_p lu_pivots_to_permutation lu_pivots_to_permutation_p",
    "triangular_systems": "triangular_solve triangular_solve_p",
    "tridiagonal_systems": "tridiagonal_solve tridiagonal_solve_p",
}
_FAMILY_OF: Final = {name: family for family, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(_FAMILY_OF)  # noqa: PLE0605  (computed from the table above)


def __getattr__(name: str) -> Any:
    family = _FAMILY_OF.get(name)
    if family is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; expected one of its public names. "
            f"See dir({__name__})."
        )
    value = getattr(import_module(f"{__name__}.{family}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
