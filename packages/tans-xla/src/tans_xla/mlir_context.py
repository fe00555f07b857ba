"""The MLIR context that modules are built in, with its caches of types, attributes and templates.

A context interns types and attributes for ever, so it is replaced after a number of modules. Each
thread has its own: the compiler loads dialects into the context of the module that it compiles,
outside the GIL, so nothing may be built there meanwhile. Contexts have locks for modules that are
compiled in another thread than the one that lowered them.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from tans_core import debug_info
from tans_core.cache import register_cache
from tans_xla._jaxlib import TracebackToLocationCache, func, ir, make_ir_context
from tans_xla.context_locks import lock_of

_MODULES_PER_CONTEXT: Final = 256
_FRAME_LIMIT: Final = 12
_LOCATION_LIMIT: Final = 1 << 16


class MlirContext:
    """One `ir.Context` with what has been made in it."""

    def __init__(self) -> None:
        self.context = make_ir_context()
        self.lock = lock_of(self.context)
        self.modules_built = 0
        # While a program with symbolic sizes is built: gives the value of a size.
        self.sizes: Any = None
        self.types: dict[Any, Any] = {}
        self.attributes: dict[Hashable, Any] = {}
        # template key -> operation of the function that holds the template
        self.templates: dict[Hashable, Any] = {}
        self.unknown_location = ir.Location.unknown(self.context)
        self._locations = TracebackToLocationCache(
            code_to_filename=_code_to_filename, frame_limit=_FRAME_LIMIT, context=self.context
        )
        self._named: dict[Hashable, Any] = {}
        with self.context, self.unknown_location:
            self.template_module = ir.Module.create()
            self.template_point = ir.InsertionPoint(self.template_module.body)

    def location(self, traceback: Any, scope: str, name_stack: str, operation: str) -> Any:
        """Return the location of an equation: its operation name over the user's frames.

        Tracebacks compare by content, so a loop's equations share one location.
        """
        key = (traceback, scope, name_stack, operation)
        found = self._named.get(key)
        if found is None:
            place = self.unknown_location if traceback is None else self._locations.get(traceback)
            name = "/".join(part for part in (scope, name_stack, operation) if part)
            found = ir.Location.name(name, place, self.context)
            if len(self._named) >= _LOCATION_LIMIT:
                self._named.clear()
            self._named[key] = found
        return found

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the attribute or type for `key`, made once per context."""
        found = self.attributes.get(key)
        if found is None:
            found = self.attributes[key] = make()
        return found

    def new_function(
        self,
        name: str,
        in_types: Sequence[Any],
        emit: Callable[..., Sequence[Any]],
        where: Any = False,
    ) -> Any:
        """Build a function from ``emit(*arguments) -> results``; return its operation.

        It is put at the insertion point `where`, or into no module.
        """
        holder = func.FuncOp(name, (in_types, []), visibility="private", ip=where)
        with ir.InsertionPoint(holder.add_entry_block()):
            results = emit(*holder.arguments)
            func.return_(results)
        kind = ir.FunctionType.get(in_types, [r.type for r in results])
        holder.attributes["function_type"] = ir.TypeAttr.get(kind)
        return holder.operation


def _code_to_filename(code: Any) -> str | None:
    name = code.co_filename
    return name if debug_info.is_user_file(name) else None


class _Current(threading.local):
    active: MlirContext | None = None  # the one that is being built in
    own: MlirContext | None = None
    generation = 0


_current: Final = _Current()
_generation: Final = [0]  # goes up when all threads' contexts are dropped


def active() -> MlirContext:
    """Return the context that this thread is building in."""
    found = _current.active
    if found is None:
        raise RuntimeError("no MLIR context is active: lowering helpers run inside use_context()")
    return found


class use_context:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: activate this thread's context, or the one already active in it."""

    __slots__ = ("_mine", "_old")

    def __enter__(self) -> MlirContext:
        self._old = _current.active
        if self._old is None:
            self._mine = _current.active = _own_context()
            self._mine.lock.acquire()
            self._mine.context.__enter__()
            self._mine.unknown_location.__enter__()
            return self._mine
        self._mine = None
        return self._old

    def __exit__(self, *exc: Any) -> None:
        if self._mine is not None:
            self._mine.unknown_location.__exit__(None, None, None)
            self._mine.context.__exit__(None, None, None)
            self._mine.lock.release()
            _current.active = self._old


def _own_context() -> MlirContext:
    own = _current.own
    if (
        own is None
        or own.modules_built >= _MODULES_PER_CONTEXT
        or _current.generation != _generation[0]
    ):
        own = _current.own = MlirContext()
        _current.generation = _generation[0]
    own.modules_built += 1
    return own


def _clear() -> None:
    _generation[0] += 1


register_cache(_clear)
