"""Sharding: the type rules have found it; the mesh is that of the ref."""

from typing import Any, Final

from tans_core.explicit_mode import spec_of
from tans_refs.operations import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)


def _of_result(ctx: Any, *in_avals: Any, **params: Any) -> Any:
    del in_avals, params
    out = ctx.out
    return None if getattr(out, "_sharding", None) is None else spec_of(out)


def _nothing(ctx: Any, *in_avals: Any, **params: Any) -> tuple[()]:
    del ctx, in_avals, params
    return ()


SHARDING: Final = {
    new_ref_p: _of_result,
    empty_ref_p: _of_result,
    freeze_p: _of_result,
    get_p: _of_result,
    swap_p: _of_result,
    addupdate_p: _nothing,
    free_ref_p: _nothing,
}
