"""The primitive of a jitted call."""

from typing import Final

from tans_core import Primitive

jit_p: Final = Primitive("jit", family="tans_xla.jit", multiple_results=True, call_like=True)
"""Params: jaxpr, name, donated_invars, in_shardings, out_shardings, keep_unused, inline,
compiler_options_kvs. The body has no constants: they are leading operands."""
