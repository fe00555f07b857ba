"""Printed forms: ``b <- a[1:3]``, ``a[0] <- b``, ``a[...] += b``."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from tans_core.jaxpr import DropVar, Eqn
from tans_core.refs import Bitcast, Index, Pick, Reshape, Span, Transforms, Transpose
from tans_refs.operations import addupdate_p, get_p, swap_p

type Names = Callable[[Any], str]


def _binder(var: Any, names: Names) -> str:
    return f"{names(var)}:{var.aval.str_short(True)}"


def _get(eqn: Eqn, names: Names) -> str:
    ref, *indices = eqn.invars
    out = _binder(eqn.outvars[0], names)
    return f"{out} <- {_part(ref, indices, eqn.params['transforms'], names)}"


def _swap(eqn: Eqn, names: Names) -> str:
    ref, value, *indices = eqn.invars
    old = eqn.outvars[0]
    out = "" if type(old) is DropVar else _binder(old, names)
    part = _part(ref, indices, eqn.params["transforms"], names)
    if not out:
        return f"{part} <- {names(value)}"
    return f"{out}, {part} <- {part}, {names(value)}"


def _addupdate(eqn: Eqn, names: Names) -> str:
    ref, value, *indices = eqn.invars
    return f"{_part(ref, indices, eqn.params['transforms'], names)} += {names(value)}"


def _part(ref: Any, indices: list[Any], transforms: Transforms, names: Names) -> str:
    text = names(ref)
    if not transforms:
        return f"{text}[...]"
    leaves = map(names, indices)
    shape = ref.aval.shape
    for t in transforms:
        if isinstance(t, Index):
            text += f"[{','.join(_entries(t, shape, leaves))}]"
            shape = [e.size for e in t.entries if not isinstance(e, Pick)]
        elif isinstance(t, Reshape):
            text += f".reshape({','.join(map(str, t.shape))})"
            shape = t.shape
        elif isinstance(t, Transpose):
            text += f".transpose({','.join(map(str, t.permutation))})"
            shape = [shape[d] for d in t.permutation]
        else:
            assert isinstance(t, Bitcast)
            text += f".bitcast({t.dtype})"
    return text if isinstance(transforms[-1], Index) else f"{text}[...]"


def _entries(index: Index, shape: Any, leaves: Iterator[str]) -> Iterator[str]:
    sizes = iter(shape)
    for e in index.entries:
        start = next(leaves) if e[0] is None else str(e[0])
        size = next(sizes, None)
        if isinstance(e, Span):
            yield _span(e, start, size)
        else:
            yield start


def _span(span: Span, start: str, size: int | None) -> str:
    step = "" if span.stride == 1 else f":{span.stride}"
    if span.start is None:
        return f"{start}:{start}+{(span.size - 1) * span.stride + 1}{step}"
    if span.start == 0 and span.size == size and not step:
        return ":"
    stop = span.start + max(span.size - 1, -1) * span.stride + 1 if span.size else span.start
    return f"{span.start or ''}:{stop}{step}"


PRINTING: Final = {
    get_p: _get,
    swap_p: _swap,
    addupdate_p: _addupdate,
}
