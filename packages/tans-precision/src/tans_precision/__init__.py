"""Which arithmetic a function's matrix products need: errors of each precision per source line."""

from tans_core import require_interface

_INTERFACE_BUILT_FOR = 1
require_interface("tans-precision", built_for=_INTERFACE_BUILT_FOR)

from tans_precision.auditing import audit  # noqa: E402  (after the handshake)
from tans_precision.emulation import emulated_matmul  # noqa: E402
from tans_precision.report import Audit, Line, Measurement  # noqa: E402
from tans_precision.rounding import rounded  # noqa: E402

__all__ = ["Audit", "Line", "Measurement", "audit", "emulated_matmul", "rounded"]
