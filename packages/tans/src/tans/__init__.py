"""Composable transformations of NumPy programs: jit, grad, vmap and more, compiled by XLA.

The flat namespace of JAX 0.12, put together from the packages that hold the code. Names load at
their first use; importing this package starts no backend and no thread.
"""

from importlib import import_module
from typing import Any, Final

from tans_core import require_interface
from tans_core.config import config as config
from tans_core.tracebacks import install_hook

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans", built_for=_INTERFACE_BUILT_FOR)
install_hook()

# Module that holds the code, and the names it supplies here.
_PUBLIC: Final = {
    "tans_core": "Array float0 named_scope typeof",
    "tans_core.cache": "clear_caches",
    "tans_core.config": """
        check_tracer_leaks checking_leaks debug_infs debug_key_reuse debug_nans default_device
        default_matmul_precision default_prng_impl disable_jit enable_checks enable_custom_prng
        enable_x64 explain_cache_misses legacy_prng_key log_compiles make_user_context no_execution
        no_tracing numpy_dtype_promotion numpy_rank_promotion softmax_custom_jvp thread_guard
        threefry_partitionable
    """,
    "tans_core.partition_spec": "P",
    "tans_core.sharding": "NamedSharding",
    "tans_compiler": "explain",
    "tans_fault": "live_devices",
    "tans_sharding": "make_mesh pmap reshard set_mesh shard_map smap",
    "tans_xla": """
        CompilerEffortLevel Inline ShapeDtypeStruct block_until_ready default_backend device_count
        device_get device_put devices ensure_compile_time_eval eval_shape jit local_device_count
        local_devices make_jaxpr named_call print_environment_info process_count process_index
        process_indices
    """,
    "tans_xla.callbacks": "effects_barrier pure_callback",
    "tans_xla.make_array": """
        live_arrays make_array_from_callback make_array_from_single_device_arrays
    """,
    "tans_xla.process_local": "make_array_from_process_local_data",
    "tans_xla.guards": """
        transfer_guard transfer_guard_device_to_device transfer_guard_device_to_host
        transfer_guard_host_to_device
    """,
    "tans_xla.memory": "memory",
    "tans_xla.shards": "Shard",
    "tans_xla.transfer": "copy_to_host_async",
    "tans_batching": "vmap",
    "tans_lax.slicing": "ds",
    "tans_refs": "Ref empty_ref free_ref freeze new_ref",
    "tans_autodiff": """
        ad checkpoint checkpoint_policies closure_convert custom_gradient custom_jvp custom_vjp
        fwd_and_bwd grad hessian jacfwd jacobian jacrev jvp linear_transpose linearize remat
        value_and_grad vjp
    """,
}
_SUBMODULES: Final = frozenset(
    """
    ad_checkpoint core custom_batching custom_derivatives debug distributed dlpack dtypes errors
    experimental export fault ffi flatten_util image lax nn numpy ops precision profiler random ref
    scipy sharding stages test_util tree tree_util typing
    """.split()
)
_MODULE_OF: Final = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted([*_MODULE_OF, *_SUBMODULES, "config"])  # noqa: PLE0605  (from the tables above)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES or not _MODULE_OF.get(name, "tans_core").startswith("tans_core"):
        import_module("tans_numpy")  # gives arrays and traced values their operators
        import_module("tans_compiler")  # the compilation cache, errors of compiler options
    if name in _MODULE_OF:
        found = getattr(import_module(_MODULE_OF[name]), name)
    elif name in _SUBMODULES:
        found = import_module(f"tans.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        found = version("tans")
    else:
        raise AttributeError(import_module("tans.removed").absent(__name__, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
