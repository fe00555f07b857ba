"""The operations on refs; one column file per transformation.

| operation | operands | result |
|---|---|---|
| `new_ref_p` | value | ref |
| `empty_ref_p` | | ref |
| `get_p` | ref, indices | value |
| `swap_p` | ref, value, indices | old value |
| `addupdate_p` | ref, value, indices | |
| `freeze_p` | ref | value |
| `free_ref_p` | ref | |
"""

from tans_core.refs import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)

__all__ = [
    "addupdate_p",
    "empty_ref_p",
    "free_ref_p",
    "freeze_p",
    "get_p",
    "new_ref_p",
    "swap_p",
]
