"""How the elements of arrays lie in memory."""

from tans_xla.layouts import Format, Layout

__all__ = ["Format", "Layout"]
