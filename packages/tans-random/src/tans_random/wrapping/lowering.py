"""Lowering: nothing happens, because keys are lowered as their words."""

from typing import Any, Final

from tans_random.wrapping import (
    random_clone_p,
    random_consume_p,
    random_unwrap_p,
    random_wrap_p,
)


def _same(ctx: Any, x: Any, **_: Any) -> Any:
    return x


LOWERING: Final = dict.fromkeys(
    (random_wrap_p, random_unwrap_p, random_consume_p, random_clone_p), _same
)
