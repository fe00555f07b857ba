"""References to mutable arrays: their type, their effects, and the seven operations on them.

The meaning of the operations is in tans-refs. They are declared here because autodiff, control flow
and jit, which come before it, read them.

An operation on a part of a ref has the param `transforms`: a chain of `Index`, `Reshape`,
`Transpose` and `Bitcast`. Indices that are arrays follow the operands, in the order of the chain.
"""

from collections.abc import Hashable, Iterable, Sequence
from threading import RLock
from typing import Any, Final, NamedTuple, Self, override

from tans_core import _jaxlib, effects
from tans_core.effects import Effect
from tans_core.primitive import Primitive
from tans_core.types import AbstractValue
from tans_core.values import register_value_type

NO_GRAD_NO_REMAT: Final = "no_grad_no_remat"


class AbstractRef(AbstractValue):
    """The type of a mutable reference.

    Args:
      inner_aval: type of the value.
      memory_space: kind of memory that holds it, or None for the default.
      kind: None, or ``"no_grad_no_remat"`` for refs that differentiation and recomputation leave
        alone.

    Equal types of refs are one object.
    """

    __slots__ = ("inner_aval", "kind", "memory_space")

    inner_aval: Any
    kind: str | None

    def __new__(
        cls, inner_aval: AbstractValue, memory_space: Hashable = None, kind: str | None = None
    ) -> "AbstractRef":
        """Return the one object for these fields."""
        return _intern(inner_aval.strong(), memory_space, kind)

    def update(self, **fields: Any) -> "AbstractRef":
        """Return this type with some fields replaced; others go to the type of the value."""
        own = {k: fields.pop(k) for k in ("inner_aval", "memory_space", "kind") if k in fields}
        inner = own.get("inner_aval", self.inner_aval)
        return AbstractRef(
            inner.update(**fields) if fields else inner,
            own.get("memory_space", self.memory_space),
            own.get("kind", self.kind),
        )

    @override
    def to_tangent(self) -> "AbstractRef":
        return AbstractRef(self.inner_aval.to_tangent(), self.memory_space, self.kind)

    @override
    def to_cotangent(self) -> "AbstractRef":
        return AbstractRef(self.inner_aval.to_cotangent(), self.memory_space, self.kind)

    @override
    def lo_types(self) -> tuple[AbstractValue, ...]:
        return tuple(AbstractRef(a, self.memory_space) for a in self.inner_aval.lo_types())

    @override
    def str_short(self, short_dtypes: bool = True) -> str:
        space = "" if self.memory_space is None else f"<{self.memory_space}>"
        return f"Ref{space}{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __getattr__(self, name: str) -> Any:
        # Shape, dtype and the rest are those of the value.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.inner_aval, name)

    @property
    def _sharding(self) -> Any:
        return getattr(self.inner_aval, "_sharding", None)

    @property
    @override
    def is_interned(self) -> bool:
        return True

    def __repr__(self) -> str:
        return self.str_short(short_dtypes=False)

    def __len__(self) -> int:
        return len(self.inner_aval)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"AbstractRef is immutable: cannot set {name!r}. Expected a new type: use "
            f"aval.update({name}=...)."
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractRef, (self.inner_aval, self.memory_space, self.kind)


def _make(inner: AbstractValue, memory_space: Hashable, kind: str | None) -> AbstractRef:
    aval = object.__new__(AbstractRef)
    object.__setattr__(aval, "inner_aval", inner)
    object.__setattr__(aval, "memory_space", memory_space)
    object.__setattr__(aval, "kind", kind)
    return aval


_intern: Final = _jaxlib.weak_value_interner(_make)


def is_ref_type(aval: Any) -> bool:
    """Whether a type is that of a reference."""
    return type(aval) is AbstractRef


# ---- effects -------------------------------------------------------------------------------------


class RefEffect(Effect):
    """What happens to the ref that is operand `input_index` of an equation or program.

    In a jaxpr, constants are counted before inputs.
    """

    __slots__ = ("input_index",)
    is_state = True

    def __init__(self, input_index: int) -> None:
        self.input_index = input_index

    def at(self, input_index: int) -> Self:
        """Return the same effect on another operand."""
        return self if input_index == self.input_index else type(self)(input_index)

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.input_index})"

    @override
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.input_index == other.input_index  # type: ignore[attr-defined]

    @override
    def __hash__(self) -> int:
        return hash((type(self), self.input_index))


class ReadEffect(RefEffect):
    """A ref is read."""

    __slots__ = ()


class WriteEffect(RefEffect):
    """A ref is written."""

    __slots__ = ()


class AccumEffect(RefEffect):
    """Something is added to a ref."""

    __slots__ = ()


class InternalMutableArrayEffect(Effect):
    """A ref is created or ended."""

    __slots__ = ()


internal_effect: Final = InternalMutableArrayEffect()

for _set in (
    effects.control_flow_allowed_effects,
    effects.custom_derivatives_allowed_effects,
    effects.remat_allowed_effects,
):
    _set.add_type(RefEffect)
    _set.add_type(InternalMutableArrayEffect)


def moved_effects(given: Iterable[Any], places: Sequence[int | None]) -> frozenset[Any]:
    """Return effects of a body as effects of the call: input i of the body is operand places[i].

    Effects on inputs without a place (None) are dropped.
    """
    moved: set[Any] = set()
    for effect in given:
        if not isinstance(effect, RefEffect):
            moved.add(effect)
        elif (place := places[effect.input_index]) is not None:
            moved.add(effect.at(place))
    return frozenset(moved)


def has_refs(given: Iterable[Any]) -> bool:
    """Whether effects tell that a program holds refs, of its own or its inputs."""
    return any(isinstance(e, RefEffect | InternalMutableArrayEffect) for e in given)


def writes(given: Iterable[Any]) -> bool:
    """Whether effects change an input."""
    return any(isinstance(e, WriteEffect | AccumEffect) for e in given)


# ---- parts of a ref ------------------------------------------------------------------------------


class Span(NamedTuple):
    """Elements ``start, start + stride, ...`` of a dimension; a start of None is an operand."""

    start: int | None
    size: int
    stride: int = 1


class Pick(NamedTuple):
    """One element of a dimension; None is an operand: one index, or an array of them."""

    index: int | None  # pyright: ignore[reportIncompatibleMethodOverride]


class Index(NamedTuple):
    """Select a part: one entry per dimension.

    Dynamic entries are joined by broadcasting; they follow NumPy's rule for where their dimensions
    stand in the result.
    """

    entries: tuple[Span | Pick, ...]

    @property
    def num_dynamic(self) -> int:
        """Number of operands of the index."""
        return sum(e[0] is None for e in self.entries)


class Reshape(NamedTuple):
    """See the value in another shape."""

    shape: tuple[int, ...]
    kind: str = "reshape"


class Transpose(NamedTuple):
    """See the value with its dimensions permuted."""

    permutation: tuple[int, ...]
    kind: str = "transpose"


class Bitcast(NamedTuple):
    """See the bits of the value as another dtype."""

    dtype: Any
    kind: str = "bitcast"


type Transform = Index | Reshape | Transpose | Bitcast
type Transforms = tuple[Transform, ...]

# ---- operations ----------------------------------------------------------------------------------

_FAMILY: Final = "tans_refs.operations"


def _operation(name: str, **options: bool) -> Primitive:
    return Primitive(name, _FAMILY, takes_refs=True, **options)


# new_ref(init; kind, memory_space, pin) -> ref
new_ref_p: Final = _operation("new_ref")
# empty_ref(; ty, memory_space, pin) -> ref
empty_ref_p: Final = _operation("empty_ref")
# freeze(ref) -> value
freeze_p: Final = _operation("freeze", custom_staging=True)
# free_ref(ref) ->
free_ref_p: Final = _operation("free_ref", multiple_results=True, custom_staging=True)
# get(ref, *indices; transforms) -> value
get_p: Final = _operation("get", custom_staging=True)
# swap(ref, value, *indices; transforms) -> old value
swap_p: Final = _operation("swap", custom_staging=True)
# addupdate(ref, value, *indices; transforms) ->
addupdate_p: Final = _operation("addupdate", multiple_results=True, custom_staging=True)


# ---- concrete refs -------------------------------------------------------------------------------


class RefCell:
    """Holds the array of a concrete ref; tans-refs gives it the methods that users call.

    Attributes:
      aval: the type.
      ended: None while the ref can be used; afterwards what ended it, for messages.
      lock: held from taking the array until a program was started with it, and until the array
        that replaces it is stored. Who needs several locks takes them in the order of `id`. It can
        be taken again by a callback of that program, which must not wait for it.
    """

    __slots__ = ("__weakref__", "_array", "aval", "ended", "lock")

    def __init__(self, aval: AbstractRef, array: Any) -> None:
        self.aval = aval
        self._array = array
        self.ended: str | None = None
        self.lock = RLock()

    def take(self, operation: str = "the operation") -> Any:
        """Return the array that holds the value now.

        Raises:
          ValueError: the ref was frozen, freed or lost.
        """
        if self.ended is not None:
            raise ValueError(
                f"{operation}: given a {self.aval.str_short(False)} that {self.ended}; expected a "
                "ref that can still be used. Make a new one with new_ref."
            )
        return self._array

    def put(self, array: Any) -> None:
        """Replace the array."""
        self.ended = None
        self._array = array

    def end(self, how: str) -> None:
        """Mark the ref as ended; `how` completes "a ref that ..."."""
        self.ended = how
        self._array = None


register_value_type(RefCell, lambda x: x.aval)


class RefView:
    """Base of views of a part of a ref; `jit` takes them as arguments."""

    __slots__ = ()

    def opened(self) -> Any:
        """Return a tree of the ref and the dynamic indices, which unflattens to a view of them."""
        raise NotImplementedError
