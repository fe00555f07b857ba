"""Shardings of foreign calls: what the announced types say; the call itself is not split."""

from typing import Any, Final

from tans_core.explicit_mode import spec_of
from tans_lax.foreign_calls import ffi_call_p


def _ffi_call_specs(ctx: Any, *_: Any, result_avals: Any, **__: Any) -> tuple[Any, ...]:
    return tuple(map(spec_of, result_avals))


SHARDING: Final = {ffi_call_p: _ffi_call_specs}
