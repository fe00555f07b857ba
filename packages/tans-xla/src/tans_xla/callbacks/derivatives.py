"""Derivatives of callbacks: Python code has none; debug callbacks look at primals."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from tans_core.primitive import Primitive
from tans_core.values import typeof
from tans_core.zeros import is_zero, zero_tangent
from tans_xla.callbacks import debug_callback_p, io_callback_p, pure_callback_p


def _callback_jvp(primitive: Primitive) -> Callable[..., Any]:
    def rule(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        if not all(map(is_zero, tangents)):
            raise ValueError(
                f"{primitive.name}: {params['callback']!r} was to be differentiated, but a Python "
                "callback has no derivative. Give the function around it a rule with custom_jvp "
                "or custom_vjp, or apply stop_gradient to its arguments."
            )
        outs = primitive.bind(*primals, **params)
        return outs, [zero_tangent(typeof(out)) for out in outs]

    return rule


def _debug_callback_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    del tangents
    debug_callback_p.bind(*primals, **params)
    return [], []


def _not_linear(cts: Any, *operands: Any, **params: Any) -> NoReturn:
    raise ValueError(
        f"{params['callback']!r} was to be transposed, but a Python callback is not linear. "
        "Give the function around it a rule with custom_vjp."
    )


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _callback_jvp(pure_callback_p),
    io_callback_p: _callback_jvp(io_callback_p),
    debug_callback_p: _debug_callback_jvp,
}
TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    pure_callback_p: _not_linear,
    io_callback_p: _not_linear,
    debug_callback_p: _not_linear,
}
