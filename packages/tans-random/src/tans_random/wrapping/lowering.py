"""Lowering: nothing happens, because keys are lowered as their words."""

from typing import Any, Final

from tans_random.wrapping import random_unwrap_p, random_wrap_p


def _same(ctx: Any, x: Any, **_: Any) -> Any:
    return x


LOWERING: Final = {random_wrap_p: _same, random_unwrap_p: _same}
