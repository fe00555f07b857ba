"""Type rules of callbacks: the announced types, with the effect that keeps the call."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.rules import Typed
from tans_xla.callbacks import debug_callback_p, effects, io_callback_p, pure_callback_p


def _pure_callback(*_: Any, result_avals: tuple[Any, ...], **__: Any) -> tuple[Any, ...]:
    return result_avals


def _io_callback(*_: Any, result_avals: tuple[Any, ...], ordered: bool, **__: Any) -> Typed:
    effect = effects.ordered_io_effect if ordered else effects.io_effect
    return Typed(result_avals, frozenset((effect,)))


def _debug_callback(*_: Any, ordered: bool, **__: Any) -> Typed:
    effect = effects.ordered_debug_effect if ordered else effects.debug_effect
    return Typed((), frozenset((effect,)))


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _pure_callback,
    io_callback_p: _io_callback,
    debug_callback_p: _debug_callback,
}
