"""Derivatives of device_put: it is linear, and its transpose moves the cotangent back."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.zeros import Zero, is_linear_input
from tans_xla.transfer import device_put_p


def _device_put_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    outs = device_put_p.bind(*primals, **params)
    moved = [t if type(t) is Zero else _bind_one(t, i, params) for i, t in enumerate(tangents)]
    return outs, moved


def _bind_one(x: Any, i: int, params: dict[str, Any]) -> Any:
    (out,) = device_put_p.bind(x, **{name: (value[i],) for name, value in params.items()})
    return out


def _device_put_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    back = {**params, "devices": params["srcs"], "srcs": params["devices"]}
    return [
        _bind_one(ct, i, back) if is_linear_input(x) and type(ct) is not Zero else None
        for i, (ct, x) in enumerate(zip(cts, operands, strict=True))
    ]


JVP: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_jvp}
TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_transpose}
