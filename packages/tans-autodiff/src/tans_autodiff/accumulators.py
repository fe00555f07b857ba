"""The three accumulators of the backward pass: of values, in refs, and for what nobody wants."""

from typing import Any, ClassVar, Final, override

from tans_core.accumulators import GradAccum, Kind
from tans_core.errors import message
from tans_core.refs import addupdate_p, freeze_p, new_ref_p
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_core.zeros import Zero
from tans_lax.rows import add_tangents, zeros_like_aval

type Cotangent = Any  # a value, None, or a symbolic zero
type Index = tuple[tuple[Any, ...], tuple[Any, ...]]  # transforms, and the indices they read


def _check(ct: Any, expected: Any) -> None:
    given = typeof(ct)
    names = "shape", "_sharding"
    if any(getattr(given, n, None) != getattr(expected, n, None) for n in names):
        raise ValueError(
            message(
                "accumulator of a cotangent",
                f"accum({given.str_short(False)})",
                f"{expected.str_short(False)}, the cotangent type of the value",
                "Sum over broadcast axes, or use reshape or reshard.",
            )
        )


class ValAccum(GradAccum):
    """Sums cotangents; starts as a symbolic zero.

    Args:
      aval: cotangent type of the value.
      val: a sum to start from.

    Example:
      >>> from tans_core import typeof
      >>> total = ValAccum(typeof(1.0))
      >>> total.accum(2.0), total.accum(None), total.accum(3.0)
      (None, None, None)
      >>> float(total.freeze())
      5.0
    """

    __slots__ = ("_sum",)

    def __init__(self, aval: AbstractValue, val: Cotangent = None) -> None:
        super().__init__(aval)
        self._sum: Cotangent = Zero(aval) if val is None else val

    @override
    def accum(self, ct: Cotangent) -> None:
        if ct is not None and type(ct) is not Zero:
            _check(ct, self.aval)
            self._sum = add_tangents(self._sum, ct)

    @override
    def freeze(self) -> Cotangent:
        return self._sum


class RefAccum(GradAccum):
    """Adds cotangents in place to a ref.

    Args:
      aval: cotangent type of the value; the ref is one of that type.
      ref: the ref to add to; one with zeros is made when it is first needed.
    """

    __slots__ = ("_ref",)
    kind: ClassVar[Kind] = "ref"

    def __init__(self, aval: AbstractValue, ref: Any = None) -> None:
        super().__init__(aval)
        self._ref = ref

    @property
    def ref(self) -> Any:
        """The ref that is added to."""
        if self._ref is None:
            self._ref = _new(zeros_like_aval(self.aval))
        return self._ref

    @override
    def accum(self, ct: Cotangent) -> None:
        if ct is None or type(ct) is Zero:
            return
        _check(ct, self.aval)
        if self._ref is None:
            self._ref = _new(ct)
        else:
            addupdate_p.bind(self._ref, ct, transforms=())

    @override
    def accum_at(self, index: Index, ct: Cotangent, expand: Any) -> None:
        if ct is not None and type(ct) is not Zero:
            transforms, indices = index
            addupdate_p.bind(self.ref, ct, *indices, transforms=transforms)

    @override
    def freeze(self) -> Cotangent:
        return Zero(self.aval) if self._ref is None else freeze_p.bind(self._ref)


class NullAccum(GradAccum):
    """Drops cotangents; rules may look at `kind` and skip the work.

    Args:
      aval: cotangent type of the value.
    """

    __slots__ = ()
    kind: ClassVar[Kind] = "null"

    @override
    def accum(self, ct: Cotangent) -> None:
        pass

    @override
    def accum_at(self, index: Index, ct: Cotangent, expand: Any) -> None:
        pass

    @override
    def freeze(self) -> Cotangent:
        return Zero(self.aval)


def _new(value: Any) -> Any:
    return new_ref_p.bind(value, kind=None, memory_space=None, pin=False)


BY_KIND: Final = {"value": ValAccum, "ref": RefAccum, "null": NullAccum}
