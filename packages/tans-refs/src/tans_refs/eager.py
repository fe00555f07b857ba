"""Operations on concrete refs: one compiled program per operation, part and types.

A write donates the ref's buffer to the program, so it happens in place; a read makes an array of
its own, which later writes don't change. The ref is locked meanwhile: operations of several threads
happen one after another.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import starmap
from typing import Any

from tans_core.cache import register_cache
from tans_core.errors import UnexpectedTracerError
from tans_core.hi_types import is_hi_type
from tans_core.refs import (
    AbstractRef,
    RefCell,
    Transforms,
    addupdate_p,
    get_p,
    swap_p,
)
from tans_core.rules import types
from tans_core.staging import leak_message
from tans_core.types import same_type
from tans_core.values import typeof
from tans_lax.conversion import convert_element_type
from tans_refs.parts import part_type
from tans_refs.values import add_to_part, read_part, write_part
from tans_xla.jit import jit

type Value = Any


@lru_cache(maxsize=4096)
def _reader(transforms: Transforms) -> Callable[..., Value]:
    def read(x: Value, *indices: Value) -> Value:
        _check(get_p, x, indices, transforms)
        return read_part(x, transforms, indices)

    return jit(read)


@lru_cache(maxsize=4096)
def _writer(transforms: Transforms) -> Callable[..., Value]:
    def write(x: Value, value: Value, *indices: Value) -> Value:
        _check(swap_p, x, (value, *indices), transforms)
        return _like(x, write_part(x, transforms, indices, value))

    return jit(write, donate_argnums=0, keep_unused=True)


@lru_cache(maxsize=4096)
def _swapper(transforms: Transforms) -> Callable[..., Value]:
    def swap(x: Value, value: Value, *indices: Value) -> Value:
        _check(swap_p, x, (value, *indices), transforms)
        old = read_part(x, transforms, indices)
        return _like(x, write_part(x, transforms, indices, value)), old

    return jit(swap, donate_argnums=0, keep_unused=True)


@lru_cache(maxsize=4096)
def _adder(transforms: Transforms) -> Callable[..., Value]:
    def addupdate(x: Value, value: Value, *indices: Value) -> Value:
        _check(addupdate_p, x, (value, *indices), transforms)
        return _like(x, add_to_part(x, transforms, indices, value))

    return jit(addupdate, donate_argnums=0, keep_unused=True)


for _table in (_reader, _writer, _swapper, _adder):
    register_cache(_table.cache_clear, holds_backend=True)


def _check(primitive: Any, x: Value, operands: Any, transforms: Transforms) -> None:
    avals = [typeof(o) for o in operands]
    types[primitive](AbstractRef(typeof(x)), *avals, transforms=transforms)


def _like(x: Value, new: Value) -> Value:
    """Return the new value of a ref, not weakly typed."""
    aval = typeof(x)
    return new if typeof(new) is aval else strong(new)


def strong(x: Value) -> Value:
    """Return a value with its weak mark removed."""
    return convert_element_type(x, typeof(x).dtype)


@jit
def copied(x: Value) -> Value:
    """Return a new buffer with the value, not weakly typed."""
    return strong(x)


def cell_of(ref: Any) -> RefCell:
    """Return the concrete ref.

    Raises:
      UnexpectedTracerError: a traced ref was used after its function was traced.
    """
    if isinstance(ref, RefCell):
        return ref
    raise UnexpectedTracerError(leak_message(ref))


def get(ref: Any, transforms: Transforms, indices: Any) -> Value:
    """Read a part of a concrete ref."""
    cell = cell_of(ref)
    with cell.lock:
        array = cell.take("get")
        if is_hi_type(cell.aval.inner_aval):
            return _whole(cell, transforms, array)
        return _reader(transforms)(array, *indices)


def put(ref: Any, transforms: Transforms, value: Value, indices: Any) -> None:
    """Write a part of a concrete ref."""
    cell = cell_of(ref)
    if is_hi_type(cell.aval.inner_aval):
        swap(cell, transforms, value, indices)
        return
    _update(cell, "set", _writer(transforms), (value, *indices))


def swap(ref: Any, transforms: Transforms, value: Value, indices: Any) -> Value:
    """Write a part of a concrete ref and return what was there."""
    cell = cell_of(ref)
    if is_hi_type(cell.aval.inner_aval):
        _check_whole(cell.aval, typeof(value))
        return _update(
            cell, "swap", lambda old: (value, _whole(cell, transforms, old)), (), gives_old=True
        )
    return _update(cell, "swap", _swapper(transforms), (value, *indices), gives_old=True)


def addupdate(ref: Any, transforms: Transforms, value: Value, indices: Any) -> None:
    """Add to a part of a concrete ref."""
    cell = cell_of(ref)
    aval: Any = cell.aval.inner_aval
    add = aval.vspace_add if is_hi_type(aval) else _adder(transforms)
    _update(cell, "addupdate", add, (value, *indices))


def end(ref: Any, operation: str, how: str) -> Value:
    """End a concrete ref and return its array."""
    cell = cell_of(ref)
    with cell.lock:
        array = cell.take(operation)
        cell.end(how)
    return array


def _check_whole(ref: AbstractRef, given: Any) -> None:
    if not same_type(given, ref.inner_aval):
        raise TypeError(
            f"set of a {ref.str_short(False)}: given a value of type {given.str_short(False)}, "
            f"expected {ref.inner_aval.str_short(False)}. Write a value of the type that the ref "
            "was made with."
        )


def _whole(cell: RefCell, transforms: Transforms, value: Value) -> Value:
    part_type(cell.aval.inner_aval, transforms, ())
    return value


def _update(
    cell: RefCell, operation: str, function: Callable[..., Value], operands: Sequence[Value],
    *, gives_old: bool = False,
) -> Value:  # fmt: skip
    """Replace the array by what a function makes of it; return what the function gives besides."""
    done: list[Value] = []
    with cell.lock:
        array = cell.take(operation)
        try:
            # Stored by C code, so that an interrupt can't come between the call and the storing.
            done.extend(starmap(function, ((array, *operands),)))
        finally:
            if done:  # without a call, before which an interrupt could come
                cell._array = done[0][0] if gives_old else done[0]
            elif not is_hi_type(cell.aval.inner_aval) and array.is_deleted():
                cell.end(f"was lost when a {operation} failed, which was overwriting its buffer")
    return done[0][1] if gives_old else None
