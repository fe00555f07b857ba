"""Batching of custom calls: the function and its rule are mapped, and stay together.

The first of them to run decides which outputs are mapped; later ones are made to agree.
"""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, remat_opt_p
from tans_autodiff.custom.calls import apply_body
from tans_autodiff.custom.derivatives import no_forward_mode
from tans_autodiff.custom.pulls import Logged
from tans_batching.trace import batch_flat, match_dim
from tans_core import tree
from tans_core.context import AxisData, BatchContext
from tans_core.errors import message
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_core.zeros import Zero
from tans_lax.concatenation import pad
from tans_lax.reductions import reduce_sum
from tans_lax.rows import move_axis, zeros_like_aval
from tans_lax.shape import reshape

type Value = Any
type Dims = Sequence[int | None]


class _Mapped:
    """What the batched function and the batched rule share."""

    __slots__ = ("axis", "dims", "dims_out")

    def __init__(self, axis: AxisData, dims: Dims) -> None:
        self.axis = axis
        self.dims = tuple(dims)
        self.dims_out: list[int | None] | None = None

    def agree(self, outs: Sequence[Value], dims: Dims) -> list[Value]:
        """Give the outputs the dimensions decided on, deciding now if nothing is."""
        if self.dims_out is None:
            self.dims_out = list(dims)
        pairs = zip(outs, dims, self.dims_out, strict=True)
        return [self.matched(x, d, w) for x, d, w in pairs]

    def matched(self, x: Value, dim: int | None, wanted: int | None) -> Value:
        """Give one output, or its tangent, the dimension decided on."""
        if wanted is None and dim is not None:
            raise ValueError(
                message(
                    "custom derivative rule under vmap",
                    f"an output {typeof(x).str_short()}, or its tangent, that differs between "
                    "elements, where that of the function is the same for all",
                    "outputs of the function that depend on the mapped argument like the rule's",
                    "Let the function's output depend on it, for example x * 0 + output.",
                )
            )
        return match_dim(self.axis, x, dim, wanted)


class _MappedBody(_Mapped):
    __slots__ = ("body",)

    body: Any

    def __call__(self, *args: Value) -> list[Value]:
        outs, dims = batch_flat(lambda *xs: apply_body(self.body, xs), self.axis, args, self.dims)
        return self.agree(outs, dims)


class _MappedJVP:
    __slots__ = ("jvp", "shared")

    def __init__(self, shared: _Mapped, jvp: Any) -> None:
        self.shared = shared
        self.jvp = jvp

    def __call__(self, primals: Sequence[Value], tangents: Sequence[Value]) -> Any:
        """Run the rule over the axis; primals and tangents are mapped alike."""
        shared = self.shared
        given = [t for t in tangents if type(t) is not Zero]
        zero = [type(t) is Zero for t in tangents]
        tangent_dims = [d for d, z in zip(shared.dims, zero, strict=True) if not z]
        out_zero: list[Any] = []

        def flat(*values: Value) -> list[Value]:
            elements = values[: len(primals)]
            found = iter(values[len(primals) :])
            element_tangents = [
                Zero(typeof(x).to_tangent()) if z else next(found)
                for x, z in zip(elements, zero, strict=True)
            ]
            outs, out_tangents = self.jvp(elements, element_tangents)
            out_zero[:] = [type(t) is Zero for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        results, dims = batch_flat(
            flat, shared.axis, [*primals, *given], [*shared.dims, *tangent_dims]
        )
        count = len(out_zero)
        outs = self._joined(results[:count], dims[:count], dims[count:], out_zero)
        found = iter(zip(results[count:], dims[count:], strict=True))
        assert shared.dims_out is not None
        out_tangents = []
        for x, z, wanted in zip(outs, out_zero, shared.dims_out, strict=True):
            if z:
                out_tangents.append(Zero(typeof(x).to_tangent()))
            else:
                t, d = next(found)
                out_tangents.append(shared.matched(t, d, wanted))
        return outs, out_tangents

    def _joined(
        self, outs: Sequence[Value], dims: Dims, tangent_dims: Dims, out_zero: Sequence[bool]
    ) -> list[Value]:
        """Map an output when its tangent is mapped."""
        shared = self.shared
        found = iter(tangent_dims)
        of_tangents = [None if z else next(found) for z in out_zero]
        if shared.dims_out is None:
            shared.dims_out = [
                t if d is None else d for d, t in zip(dims, of_tangents, strict=True)
            ]
        return shared.agree(outs, dims)


class _MappedVJP:
    __slots__ = ("generic", "name", "rule", "shared")

    def __init__(self, shared: _Mapped, rule: Any, name: str, generic: bool) -> None:
        self.shared = shared
        self.rule = rule
        self.name = name
        self.generic = generic

    def __call__(self, primals: Sequence[Value], nonzero: Sequence[bool]) -> Any:
        """Run the forward rule over the axis."""
        shared = self.shared
        count = 0
        pull: Any = None

        def flat(*elements: Value) -> list[Value]:
            nonlocal count, pull
            outs, residuals, pull = self.rule(elements, nonzero)
            count = len(outs)
            return [*outs, *residuals]

        results, dims = batch_flat(flat, shared.axis, primals, shared.dims)
        outs = shared.agree(results[:count], dims[:count])
        return outs, results[count:], self._mapped_pull(pull, dims[count:])

    def _mapped_pull(self, pull: Any, residual_dims: Dims) -> Any:
        def mapped_pull(residuals: Sequence[Value], cts: Sequence[Value]) -> Any:
            return _pull_mapped(self, pull, residuals, residual_dims, cts)

        return mapped_pull


def _pull_mapped(
    rule: _MappedVJP,
    pull: Any,
    residuals: Sequence[Value],
    residual_dims: Dims,
    cts: Sequence[Value],
) -> list[Value] | Logged:
    """Run the backward rule over the axis."""
    shared = rule.shared
    assert shared.dims_out is not None
    zero = [type(ct) is Zero for ct in cts]
    given = [ct for ct in cts if type(ct) is not Zero]
    given_dims = [d for d, z in zip(shared.dims_out, zero, strict=True) if not z]
    unmapped = None in given_dims
    if unmapped and rule.generic:
        given = [
            ct if d is not None else _of_first_element(shared.axis, ct)
            for ct, d in zip(given, given_dims, strict=True)
        ]
        given_dims = [0 if d is None else d for d in given_dims]
    zeros_in: list[Any] = []
    log_tree: Any = None

    def flat(*values: Value) -> list[Value]:
        nonlocal log_tree
        found = iter(values[len(residuals) :])
        element_cts = [
            Zero(_element(ct.aval, d)) if z else next(found)
            for ct, d, z in zip(cts, shared.dims_out, zero, strict=True)
        ]
        cts_in = pull(values[: len(residuals)], element_cts)
        logs: list[Value] = []
        if type(cts_in) is Logged:
            logs, log_tree = tree.flatten(cts_in.logs)
            cts_in = cts_in.cts
        zeros_in[:] = [ct if type(ct) is Zero else None for ct in cts_in]
        return [ct for ct in cts_in if type(ct) is not Zero] + logs

    results, dims = batch_flat(
        flat, shared.axis, [*residuals, *given], [*residual_dims, *given_dims]
    )
    found = iter(zip(results, dims, strict=True))
    cts_in: list[Value] = []
    for z, wanted in zip(zeros_in, shared.dims, strict=True):
        if z is not None:
            cts_in.append(z)
            continue
        ct, dim = next(found)
        if unmapped and not rule.generic and dim is not None and wanted is None:
            raise _shared_output(rule.name)
        cts_in.append(_as_argument(shared.axis, ct, dim, wanted))
    if log_tree is None:
        return cts_in
    # Logs of all elements, on a leading axis.
    return Logged(cts_in, log_tree.unflatten([match_dim(shared.axis, x, d, 0) for x, d in found]))


def _of_first_element(axis: AxisData, ct: Value) -> Value:
    """Give the cotangent of an unmapped output to the first element, zeros to the others."""
    aval = typeof(ct)
    shape = aval.shape  # pyright: ignore[reportAttributeAccessIssue]
    zero = zeros_like_aval(aval.update(shape=(), sharding=None))  # pyright: ignore[reportAttributeAccessIssue]
    padding = [(0, axis.size - 1, 0), *[(0, 0, 0)] * len(shape)]
    return pad(reshape(ct, (1, *shape)), zero, padding)


def _shared_output(name: str) -> ValueError:
    return ValueError(
        message(
            f"custom_vjp function {name} under vmap",
            "a nonzero cotangent for an output that all elements share, and a backward rule whose "
            "cotangent for an unmapped argument differs between elements",
            "a rule whose cotangent for it is the same for all: summed over the elements, the "
            "shared cotangent would count once per element",
            "Pass generic_batching=True to defvjp, which gives the shared cotangent to the first "
            "element; that is right for a correct rule.",
        )
    )


def _element(aval: Any, dim: int | None) -> Any:
    if dim is None or not hasattr(aval, "shape") or dim >= len(aval.shape):
        return aval
    return aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])


def _as_argument(axis: AxisData, ct: Value, dim: int | None, wanted: int | None) -> Value:
    """Give a cotangent the mapped dimension of its argument; sum when that has none."""
    if dim is not None and wanted is None:
        return reduce_sum(ct, (dim,))
    if dim is None or wanted is None:
        return match_dim(axis, ct, dim, wanted)
    return move_axis(ct, dim, wanted)


def _custom_jvp_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, call_jaxpr: Any, jvp: Any, **params: Any
) -> tuple[list[Value], Dims]:
    body = _MappedBody(axis, dims)
    body.body = call_jaxpr
    rule = _MappedJVP(body, jvp)
    outs = custom_jvp_call_p.bind(*args, call_jaxpr=body, jvp=rule, **params)
    assert body.dims_out is not None
    return outs, body.dims_out


def _custom_vjp_batch(
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    name: str,
    call_jaxpr: Any,
    rule: Any,
    generic_batching: bool,
    **params: Any,
) -> tuple[list[Value], Dims]:
    body = _MappedBody(axis, dims)
    body.body = call_jaxpr
    outs = custom_vjp_call_p.bind(
        *args,
        name=name,
        call_jaxpr=body,
        rule=_MappedVJP(body, rule, name, generic_batching),
        generic_batching=generic_batching,
        **params,
    )
    assert body.dims_out is not None
    return outs, body.dims_out


def _custom_lin_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, name: str, **_: Any
) -> NoReturn:
    raise no_forward_mode(name)


def _remat_opt_batch(
    ctx: BatchContext,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    jaxpr: Any,
    fun_jaxpr: Any,
    num_captured: tuple[int, int],
) -> tuple[list[Value], Dims]:
    own, other = num_captured
    body, dims_out = ctx.batch_jaxpr(jaxpr, axis, (*dims[:own], *dims[own + other :]))
    if fun_jaxpr is not None:
        wanted = dims_out[: len(fun_jaxpr.out_avals)]
        fun_jaxpr, _ = ctx.batch_jaxpr(fun_jaxpr, axis, tuple(dims[own:]), wanted)
    outs = remat_opt_p.bind(*args, jaxpr=body, fun_jaxpr=fun_jaxpr, num_captured=num_captured)
    return outs, dims_out


BATCHING: Final = {
    custom_jvp_call_p: _custom_jvp_batch,
    custom_vjp_call_p: _custom_vjp_batch,
    custom_lin_p: _custom_lin_batch,
    remat_opt_p: ContextRule(_remat_opt_batch),
}
