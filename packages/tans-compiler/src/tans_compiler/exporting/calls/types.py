"""Type rule: the types that the program was exported with."""

from typing import Any, Final

from tans_compiler.exporting.calls import call_exported_p
from tans_core.rules import Typed


def _types(*in_avals: Any, exported: Any, **_: Any) -> Typed:
    return Typed(exported.result_types(in_avals), frozenset())


TYPES: Final = {call_exported_p: _types}
