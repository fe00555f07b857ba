"""Looking at values, and at how they lie on devices, while a program runs or is compiled."""

from tans_sharding.visualization import (
    sharding_svg,
    sharding_text,
    visualize_array_sharding,
    visualize_sharding,
)
from tans_xla.callbacks import debug_callback as callback
from tans_xla.callbacks.debug_print import debug_print as print
from tans_xla.inspection import inspect_array_sharding

__all__ = [
    "callback",
    "inspect_array_sharding",
    "print",
    "sharding_svg",
    "sharding_text",
    "visualize_array_sharding",
    "visualize_sharding",
]
