"""What functions of this package do with their arguments first."""

from typing import Any

from tans_core import typeof
from tans_numpy.operands import ArrayLike, check_arraylike

type Array = Any


def check_matrices(
    name: str, a: ArrayLike, square: bool = False, rank_error: type[Exception] = ValueError
) -> None:
    """Check that `a` is an array of matrices.

    Raises:
      TypeError: not an array.
      rank_error: fewer than two dimensions.
      ValueError: not square.
    """
    check_arraylike(name, a)
    aval = typeof(a)
    if aval.ndim < 2 or (square and aval.shape[-1] != aval.shape[-2]):
        form = "[..., n, n]" if square else "[..., m, n]"
        raise (rank_error if aval.ndim < 2 else ValueError)(
            f"{name}: given {aval.str_short(short_dtypes=False)}, expected a shape {form}. "
            "Reshape the array, or pass the last two dimensions as the matrix."
        )
