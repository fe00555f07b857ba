"""Batching of custom calls: the function and its rule are mapped, and stay together.

The first of them to run decides which outputs are mapped; later ones are made to agree.
"""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tans_autodiff.custom.calls import apply_body
from tans_autodiff.custom.derivatives import no_forward_mode
from tans_batching.trace import batch_flat, match_dim
from tans_core.context import AxisData
from tans_core.values import typeof
from tans_core.zeros import Zero
from tans_lax.reductions import reduce_sum
from tans_lax.rows import move_axis

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
        wanted = [d if w is None else w for d, w in zip(dims, self.dims_out, strict=True)]
        if wanted != self.dims_out:
            raise AssertionError("custom rule: an output is mapped, that of the function is not")
        return [match_dim(self.axis, x, d, w) for x, d, w in zip(outs, dims, wanted, strict=True)]


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
                out_tangents.append(match_dim(shared.axis, t, d, wanted))
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
    __slots__ = ("rule", "shared")

    def __init__(self, shared: _Mapped, rule: Any) -> None:
        self.shared = shared
        self.rule = rule

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
        return outs, results[count:], _mapped_pull(shared, pull, dims[count:])


def _mapped_pull(shared: _Mapped, pull: Any, residual_dims: Dims) -> Any:
    def mapped_pull(residuals: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        assert shared.dims_out is not None
        zero = [type(ct) is Zero for ct in cts]
        given = [ct for ct in cts if type(ct) is not Zero]
        given_dims = [d for d, z in zip(shared.dims_out, zero, strict=True) if not z]
        zeros_in: list[Any] = []

        def flat(*values: Value) -> list[Value]:
            found = iter(values[len(residuals) :])
            element_cts = [
                Zero(_element(ct.aval, d)) if z else next(found)
                for ct, d, z in zip(cts, shared.dims_out or (), zero, strict=True)
            ]
            cts_in = pull(values[: len(residuals)], element_cts)
            zeros_in[:] = [ct if type(ct) is Zero else None for ct in cts_in]
            return [ct for ct in cts_in if type(ct) is not Zero]

        results, dims = batch_flat(
            flat, shared.axis, [*residuals, *given], [*residual_dims, *given_dims]
        )
        found = iter(zip(results, dims, strict=True))
        return [
            z if z is not None else _as_argument(shared.axis, *next(found), wanted)
            for z, wanted in zip(zeros_in, shared.dims, strict=True)
        ]

    return mapped_pull


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
    axis: AxisData, args: Sequence[Value], dims: Dims, *, call_jaxpr: Any, rule: Any, **params: Any
) -> tuple[list[Value], Dims]:
    body = _MappedBody(axis, dims)
    body.body = call_jaxpr
    outs = custom_vjp_call_p.bind(*args, call_jaxpr=body, rule=_MappedVJP(body, rule), **params)
    assert body.dims_out is not None
    return outs, body.dims_out


def _custom_lin_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, name: str, **_: Any
) -> NoReturn:
    raise no_forward_mode(name)


BATCHING: Final = {
    custom_jvp_call_p: _custom_jvp_batch,
    custom_vjp_call_p: _custom_vjp_batch,
    custom_lin_p: _custom_lin_batch,
}
