"""The size that a symbolic dimension has, as a value of the program.

No operands. Params: dim.
"""

from typing import Final

from tans_core import Primitive

dimension_value_p: Final = Primitive("dimension_value", family=__name__)
