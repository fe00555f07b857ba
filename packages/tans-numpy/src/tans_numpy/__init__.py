"""The NumPy API: functions, array methods, operators, indexing."""

from importlib import import_module
from typing import Any, Final

import numpy as np

from tans_core import Array, require_interface

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-numpy", built_for=_INTERFACE_BUILT_FOR)

from tans_numpy import methods, operators  # noqa: E402  (after the handshake)
from tans_numpy.contractions import matmul_operator  # noqa: E402
from tans_numpy.ufuncs import arithmetic, bitwise, comparison, powers  # noqa: E402

e: Final = np.e
pi: Final = np.pi
inf: Final = np.inf
nan: Final = np.nan
euler_gamma: Final = np.euler_gamma
newaxis: Final = None
ndarray: Final = Array
ComplexWarning: Final = np.exceptions.ComplexWarning

# Module below this package, and the public names it defines; loaded at the first use of a name.
_PUBLIC: Final = {
    "creation": "array asarray copy",
    "filled": "zeros ones empty full zeros_like ones_like empty_like full_like",
    "ranges": "arange linspace logspace geomspace eye identity meshgrid indices",
    "einstein_sums": "einsum einsum_path",
    "ufuncs.arithmetic": """
        add subtract multiply divide true_divide floor_divide remainder mod fmod divmod negative
        positive abs absolute fabs sign reciprocal square maximum minimum fmax fmin
    """,
    "ufuncs.powers": "power pow float_power",
    "ufuncs.comparison": """
        equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
        logical_not
    """,
    "ufuncs.universal": "frompyfunc ufunc",
    "ufuncs.bitwise": """
        bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_invert invert left_shift right_shift
        bitwise_left_shift bitwise_right_shift bitwise_count
    """,
    "ufuncs.exponential": """
        exp exp2 expm1 log log1p log2 log10 sqrt cbrt sin cos tan arcsin arccos arctan asin acos
        atan sinh cosh tanh arcsinh arccosh arctanh asinh acosh atanh arctan2 atan2 deg2rad rad2deg
        radians degrees hypot logaddexp logaddexp2
    """,
    "manipulation": """
        shape ndim size reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis
        rollaxis expand_dims squeeze broadcast_to broadcast_arrays broadcast_shapes
    """,
    "joining": """
        concatenate concat stack atleast_1d atleast_2d atleast_3d vstack hstack dstack
        column_stack array_split split hsplit vsplit dsplit unstack
    """,
    "reductions": "sum prod max amax min amin all any mean",
    "variances": "var std",
    "contractions": "dot matmul vdot tensordot inner outer",
    "selection": "where clip select",
    "searching": """
        argmax argmin nanargmax nanargmin nonzero flatnonzero argwhere count_nonzero searchsorted
    """,
    "ufuncs.predicates": """
        isfinite isnan isinf isposinf isneginf signbit copysign isclose allclose iscomplexobj
        isrealobj iscomplex isreal isscalar
    """,
    "rounding": "floor ceil trunc rint round around",
    "dtype_functions": "astype can_cast finfo iinfo isdtype issubdtype promote_types result_type",
    "diagonals": "diag diagflat diagonal trace tri tril triu",
    "indexing": "take take_along_axis put put_along_axis",
    "rearrangement": "append block flip fliplr flipud repeat resize roll rot90 tile",
    "padding": "pad",
    "editing": """
        choose compress delete extract fill_diagonal insert place trim_zeros
    """,
    "cumulative": """
        cumprod cumsum cumulative_prod cumulative_sum diff ediff1d gradient nancumprod nancumsum
        trapezoid
    """,
    "sorting": "argpartition argsort lexsort partition sort sort_complex top_k",
    "nan_reductions": "minmax nanmax nanmean nanmin nanprod nanstd nansum nanvar ptp",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "averages": "average corrcoef cov",
    "histograms": """
        bincount digitize histogram histogram2d histogram_bin_edges histogramdd
    """,
    "sliding_products": "convolve correlate",
    "sets": """
        intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse
        unique_values
    """,
    "polynomial": "poly polyadd polyder polydiv polyint polymul polysub polyval vander",
    "polynomial_fits": "polyfit roots",
    "array_api": "__array_api_version__ __array_namespace_info__",
    "logic": "array_equal array_equiv iterable",
    "windows": "bartlett blackman hamming hanning kaiser",
    "number_parts": """
        angle conj conjugate frexp gcd heaviside i0 imag lcm ldexp modf nan_to_num nextafter real
        sinc spacing
    """,
    "bits": "packbits unpackbits",
    "mapping": "apply_along_axis apply_over_axes fromfunction piecewise vectorize",
    "index_tricks": """
        c_ diag_indices diag_indices_from index_exp ix_ mask_indices mgrid ogrid r_
        ravel_multi_index s_ tril_indices tril_indices_from triu_indices triu_indices_from
        unravel_index
    """,
    "interpolation": "interp unwrap",
    "files": "from_dlpack frombuffer fromfile fromiter fromstring load save savez",
    "products": "cross kron matvec vecdot vecmat",
    "text": "array_repr array_str get_printoptions set_printoptions",
    "scalar_types": """
        bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
        complex128 bfloat16 int1 int2 int4 uint1 uint2 uint4 float4_e2m1fn
        float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz
        float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
        int_ uint float_ double single csingle cdouble complex_
    """,
}
_NUMPY_NAMES: Final = frozenset(
    """
    dtype generic number integer signedinteger unsignedinteger inexact floating complexfloating
    character flexible object_ printoptions
    """.split()
)
_MODULE_OF: Final = {name: module for module, names in _PUBLIC.items() for name in names.split()}
_RENAMED: Final = {"bool": "bool_"}
_SUBMODULES: Final = frozenset(("linalg", "fft"))

__all__ = sorted(n for n in (*_MODULE_OF, *_NUMPY_NAMES, *_RENAMED) if not n.startswith("__"))  # noqa: PLE0605  (from the tables above)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(_RENAMED.get(name, name))
    if module is not None:
        found = getattr(import_module(f"tans_numpy.{module}"), _RENAMED.get(name, name))
    elif name in _NUMPY_NAMES:
        found = getattr(np, name)
    elif name in _SUBMODULES:
        found = import_module(f"tans_numpy.{name}")
    else:
        remedy = import_module("tans_numpy.removed").REMOVED.get(name)
        hint = f": it was removed, expected {remedy}" if remedy else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


operators.install(
    {
        **{n: f for m in (arithmetic, powers, comparison, bitwise) for n, f in vars(m).items()},
        "matmul": matmul_operator,
    }
)
methods.install()
