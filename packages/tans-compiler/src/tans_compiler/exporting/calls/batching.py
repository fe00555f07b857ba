"""Batching: none, since a program has the shapes that it was exported for."""

from typing import Any, Final, NoReturn

from tans_compiler.exporting.calls import call_exported_p
from tans_core import typeof


def _call_batch(
    axis: Any, args: tuple[Any, ...], dims: tuple[int | None, ...], *, exported: Any, **_: Any
) -> NoReturn:
    del axis
    types = ", ".join(
        f"{typeof(x).str_short()} mapped along dimension {d}"
        for x, d in zip(args, dims, strict=True)
        if d is not None
    )
    raise NotImplementedError(
        f"call of exported {exported.fun_name}: given arguments of types {types} under vmap, "
        "expected no mapped ones: the program has the shapes that it was exported for. Export "
        "vmap of the function, with a symbolic size of the batch, or loop with lax.map."
    )


BATCHING: Final = {call_exported_p: _call_batch}
