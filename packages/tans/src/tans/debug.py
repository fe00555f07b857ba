"""Looking at values while a compiled program runs."""

from tans_xla.callbacks import debug_callback as callback
from tans_xla.callbacks.debug_print import debug_print as print

__all__ = ["callback", "print"]
