"""The batching interpreter: one trace per mapped axis, whose tracers are arrays with that axis.

An operation without a mapped operand goes to the parent trace as it is. Otherwise the primitive's
`batching` row says which operation on whole arrays does the same for all elements at once.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, override

from tans_batching.element_types import element_type, mapped_type
from tans_core import ArrayImpl, rules
from tans_core.cache import weakref_cache
from tans_core.config import axis_env
from tans_core.context import AxisData, Dims
from tans_core.debug_info import debug_info_of
from tans_core.errors import UnexpectedTracerError, message
from tans_core.hi_types import MappingSpec
from tans_core.jaxpr import ClosedJaxpr, eval_closed, subjaxprs
from tans_core.primitive import Primitive
from tans_core.refs import writes
from tans_core.rules import ContextRule
from tans_core.staging import leak_message, trace_to_jaxpr
from tans_core.state import state, swap_trace
from tans_core.trace import Trace, Tracer
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_lax.collectives import uses_axis
from tans_lax.rows import broadcast_batch, move_axis
from tans_lax.user_types import respecified
from tans_xla.wide_arrays import narrow

type Value = Any  # a concrete array, a Python scalar or a tracer
type Dim = int | None  # where the mapped axis is; None when the value has none
type FlatFun = Callable[..., Sequence[Value]]
type Batched = tuple[ClosedJaxpr, Dims]


class BatchTracer(Tracer):
    """One element of `value`, for all elements at once; `dim` is where they are lined up."""

    __slots__ = ("aval", "dim", "value")

    def __init__(self, trace: "BatchTrace", value: Value, dim: Any) -> None:
        self._trace = trace
        self.aval = element_type(typeof(value), dim, trace.axis.size)
        self.value = value
        self.dim = dim

    @override
    def describe(self) -> str:
        plain = super().describe()
        if self._trace.of is None:
            return plain
        info = debug_info_of("vmap", self._trace.of)
        place = f" at {info.location}" if str(info.location) else ""
        return f"{plain} inside vmap of {info.name}{place}"

    @override
    def __repr__(self) -> str:
        batched = typeof(self.value).str_short(False)
        return f"VmapTracer(aval={self.aval.str_short(False)}, batched={batched})"


class BatchTrace(Trace):
    """Runs the batching row of every operation with a mapped operand."""

    __slots__ = ("axis", "of")

    parent: Trace

    def __init__(self, parent: Trace, axis: AxisData, of: Any = None) -> None:
        super().__init__(parent)
        self.axis = axis
        self.of = of

    @override
    def process(self, primitive: Primitive, args: tuple[Value, ...], params: dict[str, Any]) -> Any:
        values: list[Value] = []
        dims: list[Dim] = []
        mapped = False
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                values.append(x.value)
                dims.append(x.dim)
                mapped = True
            else:
                values.append(narrow(x) if type(x) is ArrayImpl else x)
                dims.append(None)
        parent, axis = self.parent, self.axis
        old = swap_trace(parent)
        try:
            alone = not mapped and not _keeps_state(primitive, params)
            if alone and (axis.name is None or not uses_axis(primitive, params, axis.name)):
                return parent.process(primitive, tuple(values), params)
            rule = rules.batching[primitive]
            if isinstance(rule, ContextRule):
                outs, out_dims = rule.rule(body_context, axis, values, dims, **params)
            else:
                outs, out_dims = rule(axis, values, dims, **params)
        finally:
            swap_trace(old)
        if primitive.multiple_results:
            return [
                x if d is None else BatchTracer(self, x, d)
                for x, d in zip(outs, out_dims, strict=True)
            ]
        return outs if out_dims is None else BatchTracer(self, outs, out_dims)

    def split(self, x: Value) -> tuple[Value, Dim]:
        """Return the whole array and the mapped dimension of a value of this trace."""
        if type(x) is BatchTracer and x._trace is self:
            return x.value, x.dim
        if isinstance(x, Tracer) and not x._trace.alive:
            raise UnexpectedTracerError(leak_message(x))
        return x, None


def _keeps_state(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation makes a ref, which may get an element per lane, or writes one."""
    if not primitive.takes_refs:
        return False
    return not primitive.call_like or any(writes(b.effects) for b in subjaxprs(params))


def batch_flat(
    fun: FlatFun, axis: AxisData, args: Sequence[Value], dims: Sequence[Dim], of: Any = None
) -> tuple[list[Value], list[Dim]]:
    """Run a function of flat values over a mapped axis.

    Args:
      fun: takes and returns flat lists.
      axis: the mapped axis.
      args: whole arrays.
      dims: mapped dimension per argument, or None.
      of: the user's function that this is, for messages.

    Returns:
      The whole outputs, and the mapped dimension of each, or None where it does not depend on the
      mapped arguments.
    """
    trace = BatchTrace(state.trace, axis, of)
    tracers = [
        x if d is None else BatchTracer(trace, x, d) for x, d in zip(args, dims, strict=True)
    ]
    names = axis_env.value
    outer_names = axis_env.get_local()
    if axis.name is not None:
        axis_env.set_local((*names, (axis.name, axis.size)))
    old = swap_trace(trace)
    try:
        pairs = [trace.split(x) for x in fun(*tracers)]
    finally:
        swap_trace(old)
        trace.finish()
        if axis.name is not None:
            axis_env.set_local(outer_names)
    return [x for x, _ in pairs], [d for _, d in pairs]


def match_dim(axis: AxisData, x: Value, source: Dim, wanted: Dim) -> Value:
    """Move the mapped dimension of a value to where it is wanted; repeat an unmapped value."""
    if source is None:
        return x if wanted is None else broadcast_batch(x, axis, wanted)
    assert wanted is not None, "a mapped output was wanted unmapped"
    if isinstance(source, MappingSpec):
        aval: Any = typeof(x)
        return respecified(x, aval.dec_rank(axis.size, source), axis.size, source, wanted)
    return move_axis(x, source, wanted)


def other_spec(source: Any, wanted: Any) -> str:
    """Say that a value of a user type is mapped otherwise than is wanted."""
    return message(
        "vmap",
        f"out_axes {wanted!r} for a value of a user type that is mapped along {source!r}",
        "an equal axis spec: such values are not moved from one to another",
        f"Write out_axes={source!r} for it.",
    )


def batch_jaxpr(
    body: ClosedJaxpr,
    axis: AxisData,
    dims_in: Sequence[Dim],
    dims_out: Sequence[Dim] | None = None,
) -> Batched:
    """Return a program that does for a whole axis what `body` does for one element.

    Args:
      body: the program of one element.
      axis: the mapped axis.
      dims_in: mapped dimension of each input, or None.
      dims_out: wanted mapped dimension of each output, or None for "not mapped"; without it, the
        outputs come out as the rules leave them.

    Returns:
      The program, and the mapped dimension of each output.
    """
    wanted = None if dims_out is None else tuple(dims_out)
    return _batch_jaxpr(body, axis, tuple(dims_in), wanted)


@weakref_cache()
def _batch_jaxpr(body: ClosedJaxpr, axis: AxisData, dims_in: Dims, wanted: Dims | None) -> Batched:
    dims_out: Sequence[Dim] = ()

    def whole(*args: Value) -> list[Value]:
        nonlocal dims_out
        outs, dims = batch_flat(lambda *xs: eval_closed(body, *xs), axis, args, dims_in)
        dims_out = dims if wanted is None else wanted
        return [match_dim(axis, *each) for each in zip(outs, dims, dims_out, strict=True)]

    avals: list[AbstractValue] = [
        mapped_type(a, axis, d) for a, d in zip(body.in_avals, dims_in, strict=True)
    ]
    closed = trace_to_jaxpr(whole, avals, body.jaxpr.debug_info)
    return closed, tuple(dims_out)


class BodyContext:
    """What batching rows of call-like primitives are given."""

    __slots__ = ()

    def batch_jaxpr(
        self,
        body: ClosedJaxpr,
        axis: AxisData,
        dims_in: Sequence[Dim],
        dims_out: Sequence[Dim] | None = None,
    ) -> Batched:
        """Batch a body; see `tans_core.context.BatchContext`."""
        return batch_jaxpr(body, axis, dims_in, dims_out)

    def batch_function(
        self, fun: FlatFun, axis: AxisData, args: Sequence[Value], dims: Sequence[Dim]
    ) -> tuple[list[Value], list[Dim]]:
        """Run a function of flat values over the mapped axis, for rows whose params hold one."""
        return batch_flat(fun, axis, args, dims)


body_context: Final = BodyContext()
