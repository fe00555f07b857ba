"""Derivatives of device_put: it is linear, and its transpose moves the cotangent back."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.explicit_mode import spec_of
from tans_core.primitive import Primitive
from tans_core.sharding import named_sharding
from tans_core.values import typeof
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
    sources = map(_source, cts, operands, params["srcs"])
    back = {**params, "devices": tuple(sources), "srcs": params["devices"]}
    return [
        _bind_one(ct, i, back) if is_linear_input(x) and type(ct) is not Zero else None
        for i, (ct, x) in enumerate(zip(cts, operands, strict=True))
    ]


def _source(ct: Any, x: Any, source: Any) -> Any:
    """Return where a cotangent goes: on Explicit axes, where the operand's type says."""
    if not is_linear_input(x) or type(ct) is Zero:
        return source
    for aval in (x.aval.to_cotangent(), typeof(ct)):
        if getattr(aval, "is_sharded", False):
            return named_sharding(aval.sharding.mesh, spec_of(x.aval.to_cotangent()))
    return source


JVP: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_jvp}
TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_transpose}
