"""Data types: queries, promotion, the small types of ml_dtypes and extended dtypes."""

from tans_core.dtype_queries import finfo, iinfo, issubdtype, scalar_type_of
from tans_core.dtypes import (
    bfloat16,
    canonicalize_dtype,
    extended,
    float0,
    itemsize_bits,
    prng_key,
)
from tans_core.errors import TypePromotionError
from tans_core.promotion import result_type

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]
