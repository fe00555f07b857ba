"""The primitives and their rules, by family: arithmetic, shapes, reductions, loops and the rest.

Families load when a name of theirs is first used, so that importing this package costs little.
"""

from importlib import import_module
from typing import Any, Final

from tans_core import require_interface

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-lax", built_for=_INTERFACE_BUILT_FOR)

import tans_xla  # noqa: E402, F401  (evaluates primitives on concrete arrays)

# Module below this package, and the public names it defines.
_PUBLIC: Final = {
    "elementwise.accuracy": "AccuracyMode Tolerance",
    "elementwise.arithmetic": """
        abs abs_p add add_any_p add_p div div_p max max_p min min_p mul mul_p neg neg_p rem rem_p
        sign sign_p sub sub_p
    """,
    "elementwise.powers": """
        cbrt cbrt_p integer_pow integer_pow_p one_minus_square one_minus_square_p pow pow_p
        reciprocal rsqrt rsqrt_p sqrt sqrt_p square square_p
    """,
    "elementwise.exponential": """
        exp exp2 exp2_p exp_p expm1 expm1_p log log1p log1p_p log2 log2_p log_p logistic logistic_p
    """,
    "elementwise.trigonometric": """
        acos acos_p acosh acosh_p asin asin_p asinh asinh_p atan atan2 atan2_p atan_p atanh atanh_p
        cos cos_p cosh cosh_p sin sin_p sinh sinh_p tan tan_p tanh tanh_p
    """,
    "elementwise.rounding": """
        RoundingMethod ceil ceil_p floor floor_p is_finite is_finite_p nextafter nextafter_p
        reduce_precision reduce_precision_p round round_p
    """,
    "elementwise.complex_parts": "complex complex_p conj conj_p imag imag_p real real_p",
    "elementwise.bitwise": """
        and_p bitwise_and bitwise_not bitwise_or bitwise_xor clz clz_p mulhi mulhi_p not_p or_p
        population_count population_count_p shift_left shift_left_p shift_right_arithmetic
        shift_right_arithmetic_p shift_right_logical shift_right_logical_p xor_p
    """,
    "elementwise.comparison": """
        eq eq_p eq_to_p ge ge_p gt gt_p le le_p le_to_p lt lt_p lt_to_p ne ne_p
    """,
    "elementwise.selection": "clamp clamp_p select select_n select_n_p",
    "elementwise.special": """
        bessel_i1e bessel_i1e_p digamma digamma_p erf erf_inv erf_inv_p erf_p erfc erfc_p lgamma
        lgamma_p polygamma polygamma_p zeta zeta_p
    """,
    "elementwise.bessel": "bessel_i0e bessel_i0e_p",
    "elementwise.incomplete_beta": "betainc regularized_incomplete_beta_p",
    "elementwise.incomplete_gamma": """
        igamma igamma_grad_a igamma_grad_a_p igamma_p igammac igammac_p random_gamma_grad
        random_gamma_grad_p
    """,
    "elementwise.identity": """
        copy_p optimization_barrier optimization_barrier_p stage stage_p stop_gradient
        stop_gradient_p
    """,
    "elementwise.polynomials": "polynomial polynomial_p",
    "conversion": """
        bitcast_convert_type bitcast_convert_type_p convert_element_type convert_element_type_p
        dtype
    """,
    "shape": """
        broadcast broadcast_in_dim broadcast_in_dim_p broadcast_like broadcast_shapes
        broadcast_to_rank collapse expand_dims reshape reshape_p rev rev_p squeeze squeeze_p
        transpose transpose_p
    """,
    "creation": "broadcasted_iota empty empty_p full full_like iota iota_p shape_as_value",
    "concatenation": """
        concatenate concatenate_p pad pad_p split split_p stack stack_p tile tile_p unstack
        unstack_p
    """,
    "slicing": """
        dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_slice_p
        dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim
        dynamic_update_slice_p index_in_dim slice slice_in_dim slice_p
    """,
    "collectives": """
        all_gather all_gather_p all_to_all all_to_all_p axis_index axis_index_p axis_size pbroadcast
        pbroadcast_p pcast pmax pmax_p pmean pmin pmin_p ppermute ppermute_p pshuffle pswapaxes psum
        psum_p psum_scatter psum_scatter_start pvary_p ragged_all_to_all ragged_all_to_all_p
        reduce_scatter_p
    """,
    "gather_scatter": """
        GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather gather_p index_take
        scatter scatter_add scatter_add_p scatter_apply scatter_max scatter_max_p scatter_min
        scatter_min_p scatter_mul scatter_mul_p scatter_p scatter_sub scatter_sub_p
    """,
    "reductions": """
        argmax argmax_p argmin argmin_p reduce reduce_and reduce_and_p reduce_max reduce_max_p
        reduce_min reduce_min_p reduce_or reduce_or_p reduce_p reduce_prod reduce_prod_p reduce_sum
        reduce_sum_p reduce_xor reduce_xor_p
    """,
    "cumulative": """
        cumlogsumexp cumlogsumexp_p cummax cummax_p cummin cummin_p cumprod cumprod_p cumsum
        cumsum_p
    """,
    "contractions": "DotDimensionNumbers batch_matmul dot dot_general dot_general_p",
    "contractions.precision": """
        DotAlgorithm DotAlgorithmPreset Precision PrecisionLike canonicalize_precision
    """,
    "convolution": """
        conv conv_general_dilated conv_general_dilated_p conv_general_dilated_patches
        conv_transpose conv_with_general_padding
    """,
    "convolution.dimensions": """
        ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv_dimension_numbers
        conv_general_permutations conv_general_shape_tuple conv_shape_tuple
        conv_transpose_shape_tuple
    """,
    "control_flow.scan": "scan scan_p",
    "mesh": "reshard_p sharding_constraint_p with_sharding_constraint",
    "control_flow.while_loop": "while_loop while_p",
    "control_flow.fori_loop": "fori_loop",
    "control_flow.cond": "cond cond_p switch",
    "control_flow.associative_scan": "associative_scan",
    "sorting": "sort sort_key_val sort_p top_k top_k_p",
    "windows": """
        reduce_window reduce_window_max_p reduce_window_min_p reduce_window_p
        reduce_window_shape_tuple reduce_window_sum_p select_and_gather_add_p
        select_and_scatter_add_p select_and_scatter_p
    """,
    "windows.padding": "padtype_to_pads",
    "fourier": "FftType fft fft_p",
    "approximate_top_k": "approx_max_k approx_min_k approx_top_k_p",
    "ragged_contractions": """
        RaggedDotDimensionNumbers ragged_dot ragged_dot_general ragged_dot_general_p
    """,
    "composites": "composite composite_p",
    "composites.scaled_dot": "scaled_dot",
    "composites.platforms": "platform_dependent",
    "convolution.local": "conv_general_dilated_local",
    "sinks": "dce_sink",
    "tokens": "after_all after_all_p create_token create_token_p",
    "random_bits": """
        RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p threefry2x32
        threefry2x32_p
    """,
}

_FAMILY_OF: Final = {name: family for family, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted([*_FAMILY_OF, "linalg"])  # noqa: PLE0605  (computed from the table above)


def __getattr__(name: str) -> Any:
    family = _FAMILY_OF.get(name)
    if family is None:
        if name == "linalg":
            return import_module(f"{__name__}.linalg")
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; expected one of its public names. "
            f"See dir({__name__})."
        )
    value = getattr(import_module(f"{__name__}.{family}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
