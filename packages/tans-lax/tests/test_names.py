"""The public names of `jax.lax` and `jax.lax.linalg` in version 0.12: which are absent."""

import tans_lax
from tans_lax import linalg

NAMES = """
    AccuracyMode ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotAlgorithm
    DotAlgorithmPreset DotDimensionNumbers FftType GatherDimensionNumbers GatherScatterMode
    Precision PrecisionLike RaggedDotDimensionNumbers RandomAlgorithm RoundingMethod
    ScatterDimensionNumbers Tolerance abs abs_p acos acos_p acosh acosh_p add add_p after_all
    after_all_p all_gather all_gather_p all_to_all all_to_all_p and_p approx_max_k approx_min_k
    approx_top_k_p argmax argmax_p argmin argmin_p asin asin_p asinh asinh_p associative_scan
    atan atan2 atan2_p atan_p atanh atanh_p axis_index axis_index_p axis_size batch_matmul
    bessel_i0e bessel_i0e_p bessel_i1e bessel_i1e_p betainc bitcast_convert_type
    bitcast_convert_type_p bitwise_and bitwise_not bitwise_or bitwise_xor broadcast
    broadcast_in_dim broadcast_in_dim_p broadcast_like broadcast_shapes broadcast_to_rank
    broadcasted_iota cbrt cbrt_p ceil ceil_p clamp clamp_p clz clz_p collapse complex complex_p
    composite concatenate concatenate_p cond cond_p conj conj_p conv conv_dimension_numbers
    conv_general_dilated conv_general_dilated_local conv_general_dilated_p
    conv_general_dilated_patches conv_general_permutations conv_general_shape_tuple
    conv_shape_tuple conv_transpose conv_transpose_shape_tuple conv_with_general_padding
    convert_element_type convert_element_type_p copy_p cos cos_p cosh cosh_p create_token
    create_token_p cumlogsumexp cumlogsumexp_p cummax cummax_p cummin cummin_p cumprod cumprod_p
    cumsum cumsum_p custom_linear_solve custom_root dce_sink device_put_p digamma digamma_p div
    div_p dot dot_general dot_general_p dtype dynamic_index_in_dim dynamic_slice
    dynamic_slice_in_dim dynamic_slice_p dynamic_update_index_in_dim dynamic_update_slice
    dynamic_update_slice_in_dim dynamic_update_slice_p empty eq eq_p eq_to_p erf erf_inv
    erf_inv_p erf_p erfc erfc_p exp exp2 exp2_p exp_p expand_dims expm1 expm1_p fft fft_p floor
    floor_p fori_loop full full_like gather gather_p ge ge_p gt gt_p igamma igamma_grad_a
    igamma_grad_a_p igamma_p igammac igammac_p imag imag_p index_in_dim index_take integer_pow
    integer_pow_p iota iota_p is_finite is_finite_p le le_p le_to_p lgamma lgamma_p linalg
    linalg.EigImplementation linalg.EighImplementation linalg.SvdAlgorithm linalg.cholesky
    linalg.cholesky_p linalg.cholesky_update linalg.cholesky_update_p linalg.eig linalg.eig_p
    linalg.eigh linalg.eigh_p linalg.hessenberg linalg.hessenberg_p linalg.householder_product
    linalg.householder_product_p linalg.lu linalg.lu_p linalg.lu_pivots_to_permutation
    linalg.lu_pivots_to_permutation_p linalg.ormqr linalg.ormqr_p linalg.qdwh linalg.qr
    linalg.qr_p linalg.schur linalg.schur_p linalg.svd linalg.svd_p linalg.symmetric_product
    linalg.symmetric_product_p linalg.triangular_solve linalg.triangular_solve_p
    linalg.tridiagonal linalg.tridiagonal_p linalg.tridiagonal_solve linalg.tridiagonal_solve_p
    linear_solve_p log log1p log1p_p log2 log2_p log_p logistic logistic_p lt lt_p lt_to_p map
    max max_p min min_p mul mul_p mulhi mulhi_p ne ne_p neg neg_p nextafter nextafter_p not_p
    one_minus_square one_minus_square_p optimization_barrier optimization_barrier_p or_p pad
    pad_p padtype_to_pads pbroadcast pcast platform_dependent pmax pmax_p pmean pmin pmin_p
    polygamma polygamma_p polynomial polynomial_p population_count population_count_p pow pow_p
    ppermute ppermute_p pshuffle psum psum_p psum_scatter psum_scatter_start pswapaxes
    ragged_all_to_all ragged_all_to_all_p ragged_dot ragged_dot_general random_gamma_grad real
    real_p reciprocal reduce reduce_and reduce_and_p reduce_max reduce_max_p reduce_min
    reduce_min_p reduce_or reduce_or_p reduce_p reduce_precision reduce_precision_p reduce_prod
    reduce_prod_p reduce_sum reduce_sum_p reduce_window reduce_window_max_p reduce_window_min_p
    reduce_window_p reduce_window_shape_tuple reduce_window_sum_p reduce_xor reduce_xor_p
    regularized_incomplete_beta_p rem rem_p reshape reshape_p rev rev_p rng_bit_generator
    rng_bit_generator_p rng_uniform rng_uniform_p round round_p rsqrt rsqrt_p scaled_dot scan
    scan_p scatter scatter_add scatter_add_p scatter_apply scatter_max scatter_max_p scatter_min
    scatter_min_p scatter_mul scatter_mul_p scatter_p scatter_sub scatter_sub_p select
    select_and_gather_add_p select_and_scatter_add_p select_and_scatter_p select_n select_n_p
    shape_as_value sharding_constraint_p shift_left shift_left_p shift_right_arithmetic
    shift_right_arithmetic_p shift_right_logical shift_right_logical_p sign sign_p sin sin_p
    sinh sinh_p slice slice_in_dim slice_p sort sort_key_val sort_p split split_p sqrt sqrt_p
    square square_p squeeze squeeze_p stack stack_p stage stage_p stop_gradient stop_gradient_p
    sub sub_p switch tan tan_p tanh tanh_p tile tile_p top_k top_k_p transpose transpose_p
    unstack unstack_p while_loop while_p with_sharding_constraint xor_p zeta zeta_p
""".split()

# Of other packages; the umbrella puts them into the same namespace.
ELSEWHERE = frozenset("custom_linear_solve custom_root device_put_p linear_solve_p map".split())

# Tokens as values, and names that the sharding packages bring or that have no counterpart here.
ABSENT = frozenset(
    """
    after_all after_all_p create_token create_token_p pcast polynomial_p psum_scatter_start
    ragged_all_to_all ragged_all_to_all_p
    sharding_constraint_p with_sharding_constraint
    """.split()
)


def _is_present(name):
    module, _, name = name.rpartition(".")
    return name in (linalg if module else tans_lax).__all__


def test_absent_names_are_known():
    absent = {name for name in NAMES if not _is_present(name)}
    assert absent - ELSEWHERE <= ABSENT


def test_public_names_resolve():
    for module in (tans_lax, linalg):
        for name in module.__all__:
            assert getattr(module, name) is not None
