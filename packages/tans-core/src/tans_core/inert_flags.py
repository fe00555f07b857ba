"""Flags of JAX that Tans accepts so that programs which set them run, and that change nothing here.

They are part of no key. A flag that gains a meaning moves to `tans_core.config`.
"""

from typing import Any, Final

_FALSE: Final = """
    eager_constant_folding jax2tf_associative_scan_reductions jax_accurate_erf_inv
    jax_bcoo_cusparse_lowering jax_check_static_indices jax_compilation_cache_check_contents
    jax_compilation_cache_expect_pgle jax_custom_jvp3
    jax_custom_vjp3 jax_debug_leaked_clients_on_clear_backends
    jax_disable_vmap_shmap_error jax_disallow_mesh_context_manager jax_distributed_debug
    jax_enable_pgle
    jax_experimental_unsafe_xla_runtime_errors jax_export_deserialize_expired_versions
    jax_export_ignore_forward_compatibility jax_force_dcn_cross_host_transfers
    jax_log_checkpoint_residuals jax_mosaic_allow_hlo jax_pallas_enable_debug_checks
    jax_pallas_poison_buffers jax_pallas_verbose_errors jax_remat3
    jax_remat_barrier_no_cotangents jax_remove_custom_partitioning_ptr_from_cache_key
    jax_remove_size_one_mesh_axis_from_type jax_scan3 jax_share_binary_between_hosts
    jax_skip_slow_tests jax_test_with_persistent_compilation_cache jax_threefry_gpu_kernel_lowering
    jax_use_cpp_shard_args jax_use_emit_pipeline_primitive jax_use_simplified_jaxpr_constants
"""
_TRUE: Final = """
    jax2tf_default_native_serialization jax_allow_f16_reductions
    jax_include_debug_info_in_dumps jax_include_full_tracebacks_in_locations
    jax_mosaic_unzip_debug_locations jax_mutable_array_checks jax_pprint_use_color
    jax_ragged_dot_use_ragged_dot_instruction jax_raise_on_ppermute_sort_diff
    jax_sort_devices_by_process_index jax_use_direct_linearize jax_use_rgv3
"""
_NONE: Final = """
    jax_cross_host_transfer_timeout_seconds
    jax_cross_host_transfer_transfer_size jax_hlo_source_file_canonicalization_regex
    jax_logging_level
    jax_source_url_schema jax_use_hlo_logistic_lowering
"""
_EMPTY: Final = """
    exclude_test_targets jax_backend_target jax_cross_host_transfer_socket_address
    jax_cross_host_transport_addresses jax_debug_log_modules jax_dump_ir_to jax_mock_gpu_topology
    jax_test_dut jax_xla_backend test_targets
"""
INERT_DEFAULTS: Final[dict[str, Any]] = {
    **dict.fromkeys(_FALSE.split(), False),
    **dict.fromkeys(_TRUE.split(), True),
    **dict.fromkeys(_NONE.split(), None),
    **dict.fromkeys(_EMPTY.split(), ""),
    "jax_captured_constants_report_frames": 0,
    "jax_captured_constants_warn_bytes": 2000000000,
    "jax_dump_ir_modes": "stablehlo",
    "jax_embedded_constants_max_bytes": 32,
    "jax_error_checking_behavior_divide": "ignore",
    "jax_error_checking_behavior_nan": "ignore",
    "jax_error_checking_behavior_oob": "ignore",
    "jax_persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "jax_send_traceback_to_runtime": "off",
    "jax_traceback_in_locations_limit": 100,
    "jax_tracer_error_num_traceback_frames": 5,
    "jax_xla_profile_version": 0,
    "jax_serialization_version": 0,
    "jax_test_num_threads": 0,
    "mock_num_gpu_processes": 0,
    "jax_compiler_detailed_logging_min_ops": 10,
    "jax_export_calling_convention_version": 10,
    "jax_num_generated_cases": 10,
    "jax_pallas_auto_assign_collective_ids": "no",
    "jax_pallas_auto_assign_collective_ids_limit": 25,
    "jax_pgle_aggregation_percentile": 90,
    "jax_pgle_profiling_runs": 3,
    "jax_share_binary_between_hosts_timeout_ms": 1200000,
    "jax_use_magma": "auto",
    "max_cases_sampling_retries": 100,
}
