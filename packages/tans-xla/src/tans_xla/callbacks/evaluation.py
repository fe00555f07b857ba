"""Callbacks on concrete values: called at once, without a program."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_xla import runtime_tokens
from tans_xla.callbacks import debug_callback_p, io_callback_p, pure_callback_p
from tans_xla.callbacks.host import callback_error
from tans_xla.host_value import host_value
from tans_xla.transfer.place import put_leaf, put_numpy


def _run(
    callback: Callable[..., Any], args: Sequence[Any], avals: Sequence[ShapedArray]
) -> list[Any]:
    values = [host_value(put_leaf(x, None)) for x in args]
    try:
        outs = callback(*values, avals=avals)
    except Exception as error:
        # The class that a compiled program raises, so that one `except` serves both.
        raise callback_error(error) from error
    return [put_numpy(x) for x in outs]


def _pure_callback(*args: Any, callback: Any, result_avals: Any, **_: Any) -> list[Any]:
    return _run(callback, args, result_avals)


def _io_callback(
    *args: Any, callback: Any, result_avals: Any, ordered: bool, **_: Any
) -> list[Any]:
    if ordered:
        runtime_tokens.block_until_ready()
    return _run(callback, args, result_avals)


def _debug_callback(*args: Any, callback: Any, ordered: bool, **_: Any) -> list[Any]:
    if ordered:
        runtime_tokens.block_until_ready()
    return _run(callback, args, ())


EVALUATION: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _pure_callback,
    io_callback_p: _io_callback,
    debug_callback_p: _debug_callback,
}
