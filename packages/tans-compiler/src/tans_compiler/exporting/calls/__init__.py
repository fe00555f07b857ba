"""The call of an exported program inside of another program.

Operands: those of the exported program. Params: exported (compared by identity).
"""

from typing import Final

from tans_core import Primitive

call_exported_p: Final = Primitive(
    "call_exported", family=__name__, multiple_results=True, call_like=True
)
