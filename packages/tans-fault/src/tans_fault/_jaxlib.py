"""jaxlib's names under our names; the only file of tans-fault to edit for a jaxlib release.

Tested with jaxlib 0.12.0.1.
"""

# pyright: reportAttributeAccessIssue=false

from jaxlib import _jax as jaxlib_core

import tans_core  # noqa: F401  (sets the log level before jaxlib's C++ code loads)

make_service = jaxlib_core.get_distributed_runtime_service
make_client = jaxlib_core.get_distributed_runtime_client
make_gloo = jaxlib_core.make_gloo_tcp_collectives
make_mpi = jaxlib_core.make_mpi_collectives
make_preemption_manager = jaxlib_core.create_preemption_sync_manager
