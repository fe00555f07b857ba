"""jaxlib's names under our names; the only file of tans-core to edit for a jaxlib release.

Tested with jaxlib 0.11.2 to 0.12.0.1. Importing this module performs the process-wide start-up
steps that need no client: logging level, tracer class and typed values are set once here or by the
module that owns the class (`tans_core.trace`, `tans_core.config`).
"""

# jaxlib has no types; those of the names here are in _jaxlib.pyi.
# pyright: reportAttributeAccessIssue=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportPrivateUsage=false

import os
from typing import Any

# XLA's C++ logger reads this once, at load; without it each client prints two INFO lines.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import jaxlib.weakref_lru_cache as _weakref_lru_cache  # must precede typed ndarray set-up
from jaxlib import _jax as jaxlib_core
from jaxlib import _pretty_printer as pretty_printer
from jaxlib import xla_client

Config = jaxlib_core.config.Config
unset = jaxlib_core.config.unset
trace_context = jaxlib_core.config.trace_context
jax_jit = jaxlib_core.jax_jit
pytree = jaxlib_core.pytree
weakref_lru_cache = _weakref_lru_cache.weakref_lru_cache
weak_value_interner = _weakref_lru_cache.weak_value_interner
Traceback = xla_client.Traceback
get_traceback = xla_client.Traceback.get_traceback
Array = jaxlib_core.Array
ArrayImpl = xla_client.ArrayImpl
NamedSharding = jaxlib_core.NamedSharding
SingleDeviceSharding = jaxlib_core.SingleDeviceSharding
GSPMDSharding = jaxlib_core.GSPMDSharding
Sharding = jaxlib_core.Sharding
JaxRuntimeError = jaxlib_core.JaxRuntimeError
set_tracer_class = jaxlib_core.set_tracer_class

JAXLIB_VERSION = xla_client._version


def format_document(document: Any, width: int) -> str:
    """Lay out a document of the pretty printer in lines of at most `width` where possible."""
    return document._format(
        width,
        use_color=False,
        output_format=pretty_printer.OutputFormat.TEXT,
        separable_lines=False,
        annotation_prefix=" # ",
        source_map=None,
    )
