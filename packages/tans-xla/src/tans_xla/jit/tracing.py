"""From a call of a jitted function to its recorded program, with a cache per function."""

import logging
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from tans_core import (
    ClosedJaxpr,
    Jaxpr,
    TypedOp,
    hoist_consts,
    is_value,
    subjaxprs,
    trace_to_jaxpr,
    typeof,
)
from tans_core.cache import register_cache
from tans_core.config import log_compiles, no_tracing, trace_context
from tans_core.debug_info import CallInfo
from tans_core.hi_types import is_traced
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.refs import is_ref_type
from tans_core.sharding import Sharding, named_sharding
from tans_core.tree import registry
from tans_xla.device_shardings import has_devices
from tans_xla.jit.signature import JitOptions, normalize
from tans_xla.lo import raised
from tans_xla.ref_checks import check_not_returned
from tans_xla.transfer import device_put

_log: Final = logging.getLogger(__name__)

type Key = tuple[Any, ...]


class Program:
    """A recorded call.

    Attributes:
      closed: the program; its constants are leading inputs.
      consts: their values.
      out_tree: structure of the result.
      info: names for messages.
      executables: compiled forms by placement.
      ops: the equation of a nested call, by jit options and context mesh.
      low: the program without user primitives and types, once it is needed; None before.
      has_refs: whether inputs are refs.
      pure: the pure form of a program with refs, by jit options.
      seconds: how long it took to record.
    """

    __slots__ = (
        "_inner_shardings", "closed", "consts", "executables", "has_refs", "info", "low", "ops",
        "out_tree", "pure", "seconds",
    )  # fmt: skip

    def __init__(
        self, closed: ClosedJaxpr, consts: list[Any], out_tree: Any, info: CallInfo
    ) -> None:
        self.closed = closed
        self.consts = consts
        self.out_tree = out_tree
        self.info = info
        self.executables: dict[Any, Any] = {}
        self._inner_shardings: list[tuple[str, Any]] | None = None
        self.ops: dict[tuple[JitOptions, Any], TypedOp] = {}
        self.low: Program | None = None
        self.has_refs = any(map(is_ref_type, closed.in_avals))
        self.pure: dict[JitOptions, Any] = {}
        self.seconds = 0.0

    def input_name(self, i: int) -> str:
        """Return the printed name of an input of `closed`."""
        n_consts = len(self.consts)
        if i < n_consts:
            return "a captured constant"
        return f"argument {self.info.arg_names[i - n_consts]}"

    def shardings(self) -> list[tuple[str, Any]]:
        """Return the shardings over devices that the program itself asks for, with what asks."""
        if self._inner_shardings is None:
            self._inner_shardings = list(_inner_shardings(self.closed.jaxpr))
        return self._inner_shardings

    def result(self, low_outs: list[Any]) -> Any:
        """Return the result, given the outputs of the low form."""
        return self.out_tree.unflatten(raised(self.closed.out_avals, low_outs))

    def concrete_consts(self) -> list[Any]:
        """Return the constants; NumPy arrays become device arrays, once."""
        for i, x in enumerate(self.consts):
            if isinstance(x, np.ndarray):
                self.consts[i] = device_put(x)
        return self.consts


# function -> {key: Program}; a function that can't be referenced weakly is kept by its jit object.
_programs: Final[weakref.WeakKeyDictionary[Any, dict[Key, Program]]] = weakref.WeakKeyDictionary()


def clear_programs() -> None:
    """Forget all recorded programs."""
    for table in list(_programs.values()):
        table.clear()


register_cache(clear_programs, holds_backend=True)


def programs_of(fun: Callable[..., Any]) -> dict[Key, Program]:
    """Return the table of recorded programs of a function."""
    try:
        return _programs.setdefault(fun, {})
    except TypeError:
        return {}


class Static:
    """A static argument in a key: compared by type as well as by value."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any, where: str, name: str) -> None:
        self.value = value
        try:
            hash(value)
        except TypeError as error:
            raise ValueError(
                f"jit: static argument {where} of {name} is {value!r} of type "
                f"{type(value).__name__}, which can't be hashed; expected a hashable value "
                f"({error}). Pass a tuple instead of a list, or leave the argument dynamic."
            ) from None
        is_nan = isinstance(value, float) and value != value  # which equals nothing
        self.key = (type(value), "nan" if is_nan else value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key


class Call:
    """The arguments of one call, split into dynamic leaves and the rest.

    Attributes:
      leaves: dynamic leaves in order.
      in_tree: structure of the dynamic arguments ``(args, kwargs)``.
      statics: ((position or name, Static), ...).
    """

    __slots__ = ("in_tree", "leaves", "num_args", "statics")

    def __init__(self, options: JitOptions, name: str, args: tuple, kwargs: dict) -> None:
        self.num_args = len(args)
        if options.static_argnums or options.static_argnames:
            args, kwargs, self.statics = _split_static(options, name, args, kwargs)
        else:
            self.statics = ()
        self.leaves, self.in_tree = registry.flatten((args, kwargs))

    def replace(self, leaves: list[Any], in_tree: Any) -> "Call":
        """Return the call with other dynamic leaves."""
        new: Call = object.__new__(Call)
        new.num_args, new.statics = self.num_args, self.statics
        new.leaves, new.in_tree = leaves, in_tree
        return new

    def rebuild(self, leaves: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments with the dynamic leaves replaced."""
        dynamic, kwargs = self.in_tree.unflatten(leaves)
        if not self.statics:
            return list(dynamic), kwargs
        args: list[Any] = [None] * self.num_args
        static_at = {where for where, _ in self.statics if isinstance(where, int)}
        rest = iter(dynamic)
        for i in range(self.num_args):
            if i not in static_at:
                args[i] = next(rest)
        kwargs = dict(kwargs)
        for where, static in self.statics:
            if isinstance(where, int):
                args[where] = static.value
            else:
                kwargs[where] = static.value
        return args, kwargs


def _split_static(
    options: JitOptions, name: str, args: tuple, kwargs: dict
) -> tuple[tuple, dict, tuple]:
    positions = normalize(options.static_argnums, len(args))
    statics = [(i, Static(x, str(i), name)) for i, x in enumerate(args) if i in positions]
    dynamic = tuple(x for i, x in enumerate(args) if i not in positions)
    names = options.static_argnames
    statics += [(k, Static(kwargs[k], k, name)) for k in sorted(kwargs) if k in names]
    return dynamic, {k: v for k, v in kwargs.items() if k not in names}, tuple(statics)


def key_of(call: Call) -> Key | None:
    """Return what a recorded program is found by; None when a leaf is not a value."""
    try:
        avals = tuple([typeof(x) for x in call.leaves])
    except TypeError:
        return None
    return call.in_tree, avals, call.statics, trace_context()


def record(
    fun: Callable[..., Any], call: Call, key: Key | None, table: dict[Key, Program], info: CallInfo
) -> Program:
    """Record the program of a call and keep it under `key`, or return the one that is there."""
    if key is None:
        raise _bad_argument(call, info)
    if no_tracing.value:
        raise RuntimeError(
            f"{info.traced_for}: {info.name} has to be traced, but the flag no_tracing is on; "
            f"expected a call that was traced before, for the types "
            f"{', '.join(a.str_short() for a in key[1])}. Call it once outside of no_tracing."
        )
    box: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        args, kwargs = call.rebuild(leaves)
        outs, out_tree = flatten_output(fun(*args, **kwargs), info)
        box.append(out_tree)
        return outs

    start = time.perf_counter()
    closed = trace_to_jaxpr(flat, key[1], info)
    seconds = time.perf_counter() - start
    if log_compiles.value:
        types = ", ".join(a.str_short() for a in key[1])
        _log.warning("traced %s(%s) in %.3f s", info.name, types, seconds)
    lifted, consts = hoist_consts(closed)
    program = Program(lifted, consts, box[0], info)
    program.seconds = seconds
    if any(map(is_traced, consts)):
        return program  # belongs to the enclosing trace; must not outlive it
    return table.setdefault(key, program)


def _bad_argument(call: Call, info: CallInfo) -> Exception:
    for i, x in enumerate(call.leaves):
        try:
            typeof(x)
        except TypeError as error:
            what = f"{info.traced_for}: argument {info.arg_names[i]} of {info.name}"
            if is_value(x):
                return TypeError(f"{what}: {error}")
            return TypeError(
                f"{what} is {x!r} of type {type(x).__name__}; expected an array, a NumPy array or "
                "scalar, or a Python bool, int, float or complex. Mark it static with "
                "static_argnums or static_argnames, or convert it with jnp.asarray."
            )
    raise AssertionError("all arguments have types")


def flatten_output(out: Any, info: CallInfo) -> tuple[list[Any], Any]:
    """Flatten a traced function's result; all leaves must be values."""
    leaves, out_tree = registry.flatten(out)

    def path_of(i: int) -> str:
        return "".join(map(str, registry.flatten_with_path(out)[0][i][0]))

    for i, x in enumerate(leaves):
        if not is_value(x):
            path = path_of(i)
            raise TypeError(
                f"{info.traced_for}: result{path} of {info.place} is {x!r} of type "
                f"{type(x).__name__}; expected arrays or scalars. Return arrays, and pass other "
                "objects around the transformation."
            )
    check_not_returned(leaves, path_of, info)
    return leaves, out_tree


def _inner_shardings(jaxpr: Jaxpr) -> Iterator[tuple[str, Any]]:
    for eqn in jaxpr.eqns:
        for name, value in eqn.params.items():
            for s in value if type(value) is tuple else (value,):
                if isinstance(s, Sharding) and has_devices(s) and len(s._internal_device_list) > 1:
                    yield f"{name} of {eqn.params.get('name', eqn.primitive)}", s
                elif isinstance(s, Mesh) and s.size > 1:
                    yield f"{name} of {eqn.primitive}", named_sharding(s, PartitionSpec())
        if eqn.primitive.call_like:
            for body in subjaxprs(eqn.params):
                yield from _inner_shardings(body.jaxpr if isinstance(body, ClosedJaxpr) else body)
