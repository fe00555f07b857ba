"""Traces and tracers: who interprets a `bind`, and what stands for a value meanwhile.

One trace is current per thread. `EvalTrace` runs operations; a recording trace writes equations;
the transformations' traces pass a bind on to their parent when no operand is theirs.
"""

from collections.abc import Callable
from typing import Any, NoReturn, Self, override
from weakref import WeakSet

import numpy as np

from tans_core import _jaxlib, errors
from tans_core.cache import register_cache
from tans_core.jaxpr import ClosedJaxpr, subjaxprs
from tans_core.primitive import Primitive, new_key, param_types, unhashable_params
from tans_core.rules import evaluation
from tans_core.state import ThreadState, state
from tans_core.types import AbstractValue


class Trace:
    """An interpreter of operations.

    `parent` is the trace that operations on foreign values go to; None for traces that end there.
    """

    __slots__ = ("__weakref__", "alive", "parent")

    def __init__(self, parent: "Trace | None" = None) -> None:
        self.parent = parent
        self.alive = True

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Interpret one operation and return its result (a list if it has multiple results)."""
        raise NotImplementedError

    def finish(self) -> None:
        """Mark the trace as over: its tracers can't be used any more."""
        self.alive = False

    def origin(self, tracer: "Tracer") -> str:
        """Say where a tracer of this trace came from (for messages about leaks)."""
        return ""


class Tracer(_jaxlib.Array):
    """Stands for a value while a program is traced.

    Subclasses keep `_trace` and `aval`. Operators and array methods are attributes of this class,
    set through `tans_core.slots`.
    """

    __slots__ = ("_trace",)

    _trace: Trace
    aval: AbstractValue

    def concrete(self) -> Any:
        """Return the concrete value this tracer stands for, or None when there is none."""
        return None

    def describe(self) -> str:
        """Return the printed form used in messages."""
        return f"traced value of type {self.aval.str_short()}"

    def __getattr__(self, name: str) -> Any:
        # User types put methods and properties of their values on the type.
        found = getattr(type(self.aval), f"_aval_{name}", None) if name[:2] != "__" else None
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return found(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype yields to that of another operand."""
        return self.aval.weak_type

    @property
    def sharding(self) -> Any:
        """The sharding in the type."""
        return self.aval.sharding

    def _need(self, error: type[Exception]) -> Any:
        value = self.concrete()
        if value is None:
            raise error(self)
        return value

    def __bool__(self) -> bool:
        return bool(self._need(errors.TracerBoolConversionError))

    def __int__(self) -> int:
        return int(self._need(errors.ConcretizationTypeError))

    def __float__(self) -> float:
        return float(self._need(errors.ConcretizationTypeError))

    def __complex__(self) -> complex:
        return complex(self._need(errors.ConcretizationTypeError))

    def __index__(self) -> int:
        return self._need(errors.TracerIntegerConversionError).__index__()

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(self._need(errors.TracerArrayConversionError), *args, **kwargs)

    def tolist(self) -> Any:
        """Return nested Python lists; only for tracers that stand for a concrete value."""
        return self._need(errors.ConcretizationTypeError).tolist()

    def item(self, *args: int) -> Any:
        """Return a Python scalar; only for tracers that stand for a concrete value."""
        return self._need(errors.ConcretizationTypeError).item(*args)

    def __len__(self) -> int:
        return len(self.aval)  # pyright: ignore[reportArgumentType]

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __setitem__(self, index: Any, value: Any) -> None:
        if (write := getattr(type(self.aval), "_aval___setitem__", None)) is not None:
            return write(self)(index, value)
        raise TypeError(
            "an array was assigned to in place, as in x[i] = y, but arrays are immutable. "
            "Write x = x.at[i].set(y), or another method of x.at."
        )

    def __delitem__(self, index: Any) -> NoReturn:
        raise TypeError(
            "elements of an array were deleted in place, but arrays are immutable. "
            "Build a smaller array, as with jnp.delete(x, i)."
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.str_short()}>"

    def block_until_ready(self) -> Self:
        """Return self: a traced value has nothing to wait for."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: a traced value has no buffer."""


_jaxlib.set_tracer_class(Tracer)


class EvalTrace(Trace):
    """Runs operations on concrete arrays.

    (primitive, params) leads to one callable: a row of the `evaluation` table, or what `compiler`
    makes of it (tans-xla sets it to compile the primitive into one C++ jit object).
    """

    __slots__ = ("_bodies", "_runners", "compiler")

    LIMIT = 4096

    def __init__(self) -> None:
        super().__init__()
        self._runners: dict[Any, Callable[..., Any]] = {}
        self._bodies: WeakSet[ClosedJaxpr] = WeakSet()
        self.compiler: Callable[[Primitive, dict[str, Any]], Callable[..., Any]] = _no_compiler

    @override
    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        key: tuple[Any, ...] = (primitive, *params, *params.values())
        if primitive.param_numbers:
            key += tuple(param_types(primitive, params))
        runners = self._runners if not primitive.call_like else self._runners_of_body(params)
        try:
            runner = runners.get(key)
        except TypeError:
            raise unhashable_params(primitive, params) from None
        if runner is None:
            runner = self._make_runner(primitive, params, key, runners)
        return runner(*args)

    def clear(self) -> None:
        """Forget all compiled primitives."""
        self._runners.clear()
        for body in list(self._bodies):
            body.runners = None

    def _runners_of_body(self, params: dict[str, Any]) -> dict[Any, Callable[..., Any]]:
        """Return the runners of calls of a body, which must not outlive it."""
        body = next((b for b in subjaxprs(params) if isinstance(b, ClosedJaxpr)), None)
        if body is None:
            return {}
        if body.runners is None:
            body.runners = {}
            self._bodies.add(body)
        return body.runners

    def _make_runner(
        self, primitive: Primitive, params: dict[str, Any], key: Any, runners: dict[Any, Any]
    ) -> Callable[..., Any]:
        rule = evaluation.find(primitive)
        if rule is not None:
            # Not kept: such rules run the bodies in their params, which must not outlive callers.
            return lambda *args: rule(*args, **params)
        key = new_key(primitive, params, key, (primitive,))
        runner = self.compiler(primitive, params)
        if len(runners) >= self.LIMIT:
            for old in list(runners)[: self.LIMIT // 4]:
                runners.pop(old, None)
        return runners.setdefault(key, runner)


def _no_compiler(primitive: Primitive, params: dict[str, Any]) -> NoReturn:
    raise ImportError(
        f"{primitive.name}: given concrete arrays to compute with, but no package that compiles "
        "is loaded; expected tans-xla. Run: pip install tans-xla, and import tans_xla."
    )


eval_trace = EvalTrace()
register_cache(eval_trace.clear, holds_backend=True)
ThreadState.trace = eval_trace
ThreadState.evaluation = eval_trace


def current_trace() -> Trace:
    """Return the thread's current trace."""
    return state.trace


def is_evaluating() -> bool:
    """Whether operations run now, rather than being traced."""
    return state.trace is eval_trace
