"""The stages of compilation: traced, lowered, compiled."""

from tans_xla.stages import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced"]
