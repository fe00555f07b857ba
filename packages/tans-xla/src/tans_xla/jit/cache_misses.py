"""Why jit traces or compiles a function again: what the flag ``explain_cache_misses`` logs."""

import functools
import inspect
import logging
import sys
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tans_core import config_module as config
from tans_core.config import trace_context
from tans_core.debug_info import CallInfo, is_user_file
from tans_core.flags import Flag
from tans_xla.compile import compile_flags

if TYPE_CHECKING:
    from tans_xla.jit.tracing import Key

log: Final = logging.getLogger("tans.cache_misses")
# Places of functions that were traced, with the number of function objects made there.
_seen: Final[dict[tuple[str, str], int]] = {}
# The functions among them that still exist.
_traced: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_MOST: Final = 8  # lines of one kind


def report_trace(name: str, key: "Key", known: Sequence["Key"], info: CallInfo) -> None:
    """Log why a function is traced.

    Args:
      name: of the function.
      key: of the call that is not known.
      known: keys of the programs recorded before.
      info: names of the function's arguments.
    """
    place = str(info.location)
    if place and not is_user_file(place.rpartition(":")[0]):
        return  # a function of ours that runs as one program
    lines = [f"{name} at {place or 'an unknown place'} is traced, called from {_caller()}:"]
    if known:
        lines += nearest(key, known, info)
    else:
        lines += _first(name, place, inspect.unwrap(info.fun) if info.fun else None)
    log.warning("%s", "\n  ".join(lines))


def _first(name: str, place: str, fun: Any) -> Iterator[str]:
    if fun is not None and _is_known(fun):
        yield (
            "this function was traced before, under another wrapper or before clear_caches. Keep "
            "what jit returned, and call that."
        )
        return
    times = _seen[name, place] = _seen.get((name, place), 0) + 1
    if times == 1:
        yield "it was not traced before."
        return
    yield (
        f"it is function object number {times} made at this place, and each is traced on its own. "
        "Make the function once, outside of the loop or the function that makes it, or give jit "
        "the same object."
    )


def _is_known(fun: Any) -> bool:
    try:
        known = fun in _traced
        _traced.add(fun)
    except TypeError:  # it can't be hashed, or not be referenced weakly
        return False
    return known


def nearest(key: "Key", known: Sequence["Key"], info: CallInfo) -> list[str]:
    """Return the differences of a key to that of the known keys that has the fewest."""
    found = [list(_differences(key, other, info)) for other in known]
    best = min(found, key=len)
    before = f"{len(known)} time{'s' if len(known) > 1 else ''} before"
    return [f"it was traced {before}; against the nearest of these:", *best]


def _differences(key: "Key", other: "Key", info: CallInfo) -> Iterator[str]:
    new_tree, new_types, new_statics, new_context = key
    old_tree, old_types, old_statics, old_context = other
    if new_tree != old_tree:
        before = CallInfo(info.traced_for, info.fun or _gone, old_tree, info.positions)
        yield from _structures(new_tree, old_tree, info.arg_names, before.arg_names)
    else:
        triples = zip(info.arg_names, new_types, old_types, strict=True)
        changed = [(name, new, old) for name, new, old in triples if new is not old and new != old]
        for name, new, old in changed[:_MOST]:
            yield f"  {name}: {how(new, old)}"
        if len(changed) > _MOST:
            yield f"  and {len(changed) - _MOST} more arguments"
    yield from _static_changes(dict(new_statics), dict(old_statics), info)
    for what, new, old in zip(context_names(), new_context, old_context, strict=False):
        if new is not old and new != old:
            yield f"  {what}: now {_shown(new)}, before {_shown(old)}"
    if len(new_context) != len(old_context):
        yield "  the contexts: make_user_context made another one, on which all programs depend"


def _structures(
    new: Any, old: Any, new_names: Sequence[str], old_names: Sequence[str]
) -> Iterator[str]:
    """Return where two argument structures part."""
    for name in [n for n in new_names if n not in old_names][:5]:
        yield f"  {name}: there now, not before"
    for name in [n for n in old_names if n not in new_names][:5]:
        yield f"  {name}: there before, not now"
    if new_names == old_names:
        yield f"  the containers of the arguments: now {new}, before {old}"


def _gone() -> None: ...


def _static_changes(new: dict[Any, Any], old: dict[Any, Any], info: CallInfo) -> Iterator[str]:
    for where in sorted({*new, *old}, key=str):
        now, before = new.get(where), old.get(where)
        if now == before:
            continue
        texts = ["left out" if s is None else _shown(s.value) for s in (now, before)]
        yield f"  static argument {_parameter(where, info)}: now {texts[0]}, before {texts[1]}"


def _shown(value: Any) -> str:
    """Return a value as text, also one of a class whose `repr` fails."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"a {type(value).__name__}, whose repr raises {type(error).__name__}"
    return text if len(text) < 60 else f"{text[:57]}..."


def _parameter(where: int | str, info: CallInfo) -> str:
    names = info.location.parameters()
    return names[where] if isinstance(where, int) and where < len(names) else str(where)


def how(new: Any, old: Any) -> str:
    """Return how one type differs from another, as ``shape: now (4,), before (3,)``."""
    parts = []
    for field in ("shape", "dtype", "weak_type", "sharding", "manual_axes", "memory_space"):
        now, before = getattr(new, field, None), getattr(old, field, None)
        if field == "sharding" and not any(getattr(a, "is_sharded", False) for a in (new, old)):
            continue
        if now != before:
            parts.append(_field(field, now, before))
    text = "; ".join(parts) or "its type"
    return f"{new.str_short()} now, {old.str_short()} before ({text})"


def _field(name: str, now: Any, before: Any) -> str:
    if name == "shape" and len(now) != len(before):
        return f"{len(now)} dimensions instead of {len(before)}"
    if name == "shape":
        sizes = [f"dimension {i} is {a} instead of {b}" for i, (a, b) in _unequal(now, before)]
        return ", ".join(sizes)
    if name == "dtype":
        return f"dtype {now} instead of {before}"
    if name == "weak_type":
        kinds = ("a Python scalar", "an array")
        return "{} instead of {}".format(*(kinds if now else kinds[::-1]))
    if name == "sharding":
        return f"sharded as {now.spec} over {now.mesh} instead of {before.spec} over {before.mesh}"
    return f"{name} {now} instead of {before}"


def _unequal(now: Sequence[int], before: Sequence[int]) -> Iterator[tuple[int, tuple[int, int]]]:
    pairs = enumerate(zip(now, before, strict=True))
    return ((i, pair) for i, pair in pairs if pair[0] != pair[1])


@functools.cache
def context_names() -> tuple[str, ...]:
    """Return what each entry of `trace_context` is, as users know it."""
    names = ["the context"] * len(trace_context())
    for flag in list(vars(config).values()):
        if isinstance(flag, Flag) and flag.in_trace_context:
            mark = object()
            old = flag.swap_local(mark)
            try:
                at = [i for i, value in enumerate(trace_context()) if value is mark]
            finally:
                flag.set_local(old)
            for i in at:
                names[i] = f"the flag {flag.name}"
    known = {
        "abstract_mesh": "the mesh in context",
        "axis_env": "the named axes in context",
        "xla_metadata": "the metadata of set_xla_metadata",
    }
    for attribute, text in known.items():
        state = getattr(config, attribute)
        mark = object()
        old = state.swap_local(mark)
        try:
            at = [i for i, value in enumerate(trace_context()) if value is mark]
        finally:
            state.set_local(old)
        for i in at:
            names[i] = text
    return tuple(names)


_COMPILE_KEY: Final = (
    "where it runs",
    "the donated arguments",
    "the shardings of the results",
    "keep_unused",
    "the compiler options",
    "the flags of the compiler",
)


def report_compile(name: str, key: tuple[Any, ...], known: Sequence[tuple[Any, ...]]) -> None:
    """Log why a traced program is compiled again."""
    other = min(known, key=lambda k: sum(a != b for a, b in zip(key, k, strict=True)))
    lines = [f"{name} is compiled again, for types it was compiled for before:"]
    for what, new, old in zip(_COMPILE_KEY, key, other, strict=True):
        if new != old:
            lines += [f"  {line}" for line in _changes(what, new, old)]
    log.warning("%s", "\n  ".join(lines))


def _changes(what: str, new: Any, old: Any) -> Iterator[str]:
    """Return lines on one part of the key of a compilation."""
    if what == "the flags of the compiler":
        for flag, now, before in zip(compile_flags(), new, old, strict=True):
            if now != before:
                yield f"the flag {flag.name}: now {now!r}, before {before!r}"
    elif what == "the compiler options":
        pairs = ({name: value for name, (_, value) in items} for items in (new, old))
        yield "{}: now {}, before {}".format(what, *pairs)
    else:
        yield f"{what}: {_change(new, old)}"


def _change(new: Any, old: Any) -> str:
    if hasattr(new, "in_shardings"):
        if list(new.devices) != list(old.devices):
            return f"now {_devices(new)}, before {_devices(old)}"
        pairs = enumerate(zip(new.in_shardings, old.in_shardings, strict=True))
        changed = [f"input {i}: now {a}, before {b}" for i, (a, b) in pairs if a != b]
        if changed:
            return "; ".join(changed)
        kinds = ("at devices that arguments are committed to", "at devices that may change")
        return "now {}, before {}".format(*(kinds if new.committed else kinds[::-1]))
    return f"now {new}, before {old}"


def _devices(placement: Any) -> str:
    devices = [str(d) for d in placement.devices]
    return ", ".join(devices[:4]) + (", ..." if len(devices) > 4 else "")


def _caller() -> str:
    """Return the file and line of the user's innermost frame."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown place"
