"""The stages of compilation: wrapped, traced, lowered, compiled."""

from tans_xla.stage_types import ArgInfo, CompilerOptions, Wrapped
from tans_xla.stages import Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
