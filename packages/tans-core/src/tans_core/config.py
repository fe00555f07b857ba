"""Every configuration flag of Tans, in one table, and the functions that read and set them.

``config.update("jax_enable_x64", True)`` sets a flag for the process; the spelling
"tans_enable_x64" means the same flag. ``config.jax_enable_x64`` reads it. Inside Tans, code reads
``config.enable_x64.value``. All flags are made here, before the first jit, because making a C++
flag that is part of the jit key empties every dispatch cache once.
"""

from typing import Final

from tans_core import flags
from tans_core._jaxlib import Config, jax_jit
from tans_core._jaxlib import trace_context as trace_context
from tans_core.choices import MATMUL_PRECISIONS as MATMUL_PRECISIONS
from tans_core.choices import PRNG_IMPLEMENTATIONS as PRNG_IMPLEMENTATIONS
from tans_core.choices import ExplicitX64Mode as ExplicitX64Mode
from tans_core.choices import LegacyPrngKeyState as LegacyPrngKeyState
from tans_core.choices import NumpyDtypePromotion as NumpyDtypePromotion
from tans_core.flags import Flag, FlagValue, Override
from tans_core.inert_flags import INERT_DEFAULTS
from tans_core.spelling import did_you_mean

_GUARD: Final = flags.optional(
    flags.one_of("allow", "log", "disallow", "log_explicit", "disallow_explicit")
)
_LEVELS: Final = flags.one_of("UNKNOWN", "O0", "O1", "O2", "O3")

_by_name: Final[dict[str, Flag]] = {}


def _flag(
    name: str, default: FlagValue, doc: str = "", parse: flags.Parse | None = None, **keys: bool
) -> Flag:
    flag = _by_name[name] = Flag(name, default, parse or flags.parser_of(default), doc=doc, **keys)
    return flag


def _staged(name: str, default: FlagValue, doc: str, parse: flags.Parse | None = None) -> Flag:
    """Make a flag that changes what a traced program is."""
    return _flag(name, default, doc, parse, jit_key=True, trace_context=True)


_OPTIONAL_TEXT: Final = flags.optional(flags.text)

# Flags that change what a traced program is.
enable_x64 = _staged("jax_enable_x64", False, "Keep 64-bit types instead of narrowing.")
numpy_dtype_promotion = _staged(
    "jax_numpy_dtype_promotion",
    NumpyDtypePromotion.STANDARD,
    "'strict' allows only promotion of Python scalars.",
)
numpy_rank_promotion = _staged(
    "jax_numpy_rank_promotion",
    "allow",
    "What broadcasting between different ranks does.",
    parse=flags.one_of("allow", "warn", "raise"),
)
explicit_x64_dtypes = _staged(
    "jax_explicit_x64_dtypes",
    ExplicitX64Mode.WARN,
    "What asking for a 64-bit dtype does while x64 is off.",
)
default_matmul_precision = _staged(
    "jax_default_matmul_precision",
    None,
    "Precision of matrix products that ask for none.",
    parse=flags.optional(flags.one_of(*MATMUL_PRECISIONS)),
)
threefry_partitionable = _staged(
    "jax_threefry_partitionable", True, "Random bits that shard without communication."
)
default_prng_impl = _staged(
    "jax_default_prng_impl",
    "threefry2x32",
    "Generator of keys that name none.",
    parse=flags.one_of(*PRNG_IMPLEMENTATIONS),
)
random_seed_offset = _staged("jax_random_seed_offset", 0, "Added to every seed.")
debug_key_reuse = _staged("jax_debug_key_reuse", False, "Raise when a key is used twice.")
softmax_custom_jvp = _staged(
    "jax_softmax_custom_jvp", False, "Use the closed-form derivative of softmax."
)
high_dynamic_range_gumbel = _staged(
    "jax_high_dynamic_range_gumbel", False, "Gumbel samples with full tails."
)
auto_pcast = _staged("jax_auto_pcast", True, "Insert casts to varying values by itself.")
check_vma = _staged("check_vma", False, "Check varying manual axes in shard_map.")
use_shardy_partitioner = _staged(
    "jax_use_shardy_partitioner", True, "Always true in Tans: Shardy partitions programs."
)
disable_bwd_checks = _flag(
    "jax_disable_bwd_checks", False, "Skip type checks of custom backward passes."
)
disable_jit = _flag("jax_disable_jit", False, "Run jitted functions op by op.", trace_context=True)

# Flags that change where and how a program runs.
default_device = _staged("jax_default_device", None, "Device of new arrays.", parse=flags.anything)
no_execution = _staged("jax_no_execution", False, "Raise when a program is launched.")
optimization_level = _flag("jax_optimization_level", "UNKNOWN", parse=_LEVELS, jit_key=True)
memory_fitting_level = _flag("jax_memory_fitting_level", "O2", parse=_LEVELS, jit_key=True)
disable_most_optimizations = _flag("jax_disable_most_optimizations", False, jit_key=True)
compiler_enable_remat_pass = _flag("jax_compiler_enable_remat_pass", True, jit_key=True)
platforms = _flag(
    "jax_platforms", None, "Backends to start, in order: 'cpu,cuda'.", parse=_OPTIONAL_TEXT
)
platform_name = _flag("jax_platform_name", "", "Backend to use by default.")
num_cpu_devices = _flag("jax_num_cpu_devices", -1, "Virtual CPU devices; -1: XLA_FLAGS.")
cpu_enable_async_dispatch = _flag("jax_cpu_enable_async_dispatch", True)
cpu_collectives_implementation = _flag(
    "jax_cpu_collectives_implementation",
    "gloo",
    parse=flags.optional(flags.one_of("gloo", "mpi", "megascale")),
)
pjrt_client_create_options = _flag("jax_pjrt_client_create_options", None, parse=flags.anything)
visible_devices: Final[dict[str, Flag]] = {
    name: _flag(f"jax_{name}_visible_devices", "all", "Ids of the devices to use: 'all' or '0,1'.")
    for name in ("cuda", "rocm", "oneapi")
}

# Flags of the cache of compiled programs on disk.
enable_compilation_cache = _flag("jax_enable_compilation_cache", True)
compilation_cache_dir = _flag("jax_compilation_cache_dir", None, parse=_OPTIONAL_TEXT)
compilation_cache_max_size = _flag("jax_compilation_cache_max_size", -1, "Bytes; -1: no limit.")
compilation_cache_include_metadata_in_key = _flag(
    "jax_compilation_cache_include_metadata_in_key", False, "Programs differ by source lines too."
)
persistent_cache_min_compile_time_secs = _flag("jax_persistent_cache_min_compile_time_secs", 1.0)
persistent_cache_min_entry_size_bytes = _flag("jax_persistent_cache_min_entry_size_bytes", 0)
raise_persistent_cache_errors = _flag("jax_raise_persistent_cache_errors", False)

# Flags for finding faults.
debug_nans = _flag("jax_debug_nans", False, "Raise FloatingPointError for nan results.")
debug_infs = _flag("jax_debug_infs", False, "Raise FloatingPointError for infinities.")
log_compiles = _flag("jax_log_compiles", False, "Log each trace and compilation.")
explain_cache_misses = _flag("jax_explain_cache_misses", False, "Log why jit retraced.")
check_tracer_leaks = _flag("jax_check_tracer_leaks", False, "Find escaped tracers.")
enable_checks = _flag("jax_enable_checks", False, "Check jaxprs and types internally.")
no_tracing = _flag("jax_no_tracing", False, "Raise when a function is traced.")
traceback_filtering = _flag(
    "jax_traceback_filtering",
    "auto",
    "How frames of Tans are left out of tracebacks.",
    parse=flags.one_of("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
)
legacy_prng_key = _flag("jax_legacy_prng_key", LegacyPrngKeyState.ALLOW)
enable_custom_prng = _flag("jax_enable_custom_prng", False)
transfer_guard_host_to_device = _flag("jax_transfer_guard_host_to_device", None, parse=_GUARD)
transfer_guard_device_to_device = _flag("jax_transfer_guard_device_to_device", None, parse=_GUARD)
transfer_guard_device_to_host = _flag("jax_transfer_guard_device_to_host", None, parse=_GUARD)
all_transfer_guard = _flag("jax_transfer_guard", None, parse=_GUARD)
array_garbage_collection_guard = _flag(
    "jax_array_garbage_collection_guard",
    None,
    parse=flags.optional(flags.one_of("allow", "log", "fatal")),
)
thread_guard = _flag("jax_thread_guard", False)

# Flags that `distributed.initialize` reads.
_JOB_DEFAULTS: Final = {
    "jax_check_proxy_envs": True,
    "jax_cpu_get_global_topology_timeout_minutes": 5,
    "jax_cpu_get_local_topology_timeout_minutes": 2,
    "jax_distributed_verify_secure_credentials": False,
    "jax_enable_preemption_service": True,
    "jax_enable_recoverability": False,
    "jax_mtls_ca_file": None,
    "jax_mtls_cert_file": None,
    "jax_mtls_key_file": None,
    "jax_mtls_peer_uri_prefix": None,
}
for _name, _default in _JOB_DEFAULTS.items():
    _flag(_name, _default, "A multi-process job: read by distributed.initialize.")

for _name, _default in INERT_DEFAULTS.items():
    _flag(_name, _default, "Accepted; changes nothing in Tans.")

# Set by the packages that own the state, not by users.
trace_marker: Final = Config(
    "tans_trace_marker", None, include_in_jit_key=True, include_in_trace_context=False
)
abstract_mesh: Final = Config(
    "tans_abstract_mesh", None, include_in_jit_key=True, include_in_trace_context=True
)
concrete_mesh: Final = Config(
    "tans_concrete_mesh", None, include_in_jit_key=True, include_in_trace_context=False
)
axis_env: Final = Config(
    "tans_axis_env", (), include_in_jit_key=False, include_in_trace_context=True
)
# Attributes for the operations that are being traced: sorted pairs, or None.
xla_metadata: Final = Config(
    "tans_xla_metadata", None, include_in_jit_key=True, include_in_trace_context=True
)
# Axes along which operations may not communicate.
forbidden_axes: Final = Flag(
    "tans_no_collectives", frozenset(), flags.anything, jit_key=True, trace_context=True
)
post_hook: Final = Config(
    "tans_post_hook", None, include_in_jit_key=False, include_in_trace_context=False
)

jax_jit.set_enable_x64_state(enable_x64)
jax_jit.set_disable_jit_state(disable_jit)
jax_jit.set_post_hook_state(post_hook)


def _canonical_name(name: str) -> str:
    if name.startswith("tans_"):
        return "jax_" + name.removeprefix("tans_")
    return name


def find_flag(name: str) -> Flag:
    """Return the flag of a name in either spelling.

    Args:
      name: such as "jax_enable_x64" or "tans_enable_x64".

    Raises:
      AttributeError: no flag has this name; the text names the nearest ones.
    """
    flag = _by_name.get(name) or _by_name.get(_canonical_name(name))
    if flag is None:
        near = did_you_mean(_canonical_name(name), _by_name)
        raise AttributeError(
            f"config: given {name!r}, expected the name of a flag{near}. "
            "The names are listed by sorted(config.values)."
        )
    return flag


def update(name: str, value: FlagValue) -> None:
    """Set a flag for the whole process.

    Args:
      name: the flag, as "jax_..." or "tans_...".
      value: the new value; it is canonicalised, so that 1 and True are one setting.

    Raises:
      AttributeError: no such flag.
      ValueError: the value does not fit the flag.

    Example:
      >>> from tans_core import config
      >>> config.update("tans_enable_checks", 0)
      >>> config.read("jax_enable_checks")
      False
    """
    find_flag(name).update(value)


def read(name: str) -> FlagValue:
    """Return the value of a flag on this thread; raises AttributeError for an unknown name."""
    return find_flag(name).value


def all_flags() -> dict[str, Flag]:
    """Return every declared flag by name."""
    return dict(_by_name)


class _Settings:
    """The object users know as ``config``: flags as attributes, `update` and `read`."""

    __slots__ = ()

    def update(self, name: str, val: FlagValue) -> None:
        """Set a flag for the whole process; see `tans_core.config.update`."""
        update(name, val)

    def read(self, name: str) -> FlagValue:
        """Return the value of a flag on this thread."""
        return read(name)

    @property
    def values(self) -> dict[str, FlagValue]:
        """Every flag with its value on this thread."""
        return {name: flag.value for name, flag in _by_name.items()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are kept."""
        return enable_x64.value

    def __getattr__(self, name: str) -> FlagValue:
        return read(name)

    def __setattr__(self, name: str, value: FlagValue) -> None:
        raise AttributeError(
            f"config.{name} was assigned; flags are set through a function: "
            f"config.update({name!r}, {value!r})"
        )

    def __dir__(self) -> list[str]:
        return [*_by_name, "read", "update", "values", "x64_enabled"]


config: Final = _Settings()


def __getattr__(name: str) -> FlagValue:
    if name.startswith(("jax_", "tans_")):
        return read(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def make_user_context(default_value: FlagValue = None) -> Flag:
    """Make a per-thread value on which traced and compiled programs depend.

    Args:
      default_value: hashable value outside any ``with`` block.

    Returns:
      An object with `.value`; calling it with a value gives a context manager.

    Example:
      >>> from tans_core.config import make_user_context
      >>> context = make_user_context("a")
      >>> with context("b"):
      ...     context.value
      'b'
    """
    return Flag("user_context", default_value, flags.anything, jit_key=True, trace_context=True)


def checking_leaks() -> Override:
    """Return a context manager that reports tracers that outlive their transformation."""
    return check_tracer_leaks(True)
