"""User types: values of a user's class in traced programs, made of arrays in the lowered ones.

A program is traced, differentiated and batched with such values whole. Before it is lowered,
`tans_xla.lo` takes them apart into the arrays that `HiType.lo_ty` lists.
"""

from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, Final, NoReturn, override

from tans_core import slots
from tans_core.refs import AbstractRef
from tans_core.trace import Tracer
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import register_value_type, typeof

type Value = Any


class MappingSpec:
    """Base of what users write in `in_axes` and `out_axes` for values of their types."""

    __slots__ = ()


class HiPspec:
    """Base of partition specs of user types, for `shard_map`."""

    __slots__ = ()

    def to_lo(self) -> tuple[Any, ...]:
        """Return one `PartitionSpec` per array that the value is made of."""
        raise _missing("shard_map", self, "to_lo")

    def to_tangent_spec(self) -> Any:
        """Return the spec of a tangent of the value."""
        raise _missing("autodiff through shard_map", self, "to_tangent_spec")

    def to_ct_spec(self) -> Any:
        """Return the spec of a cotangent of the value."""
        raise _missing("autodiff through shard_map", self, "to_ct_spec")

    def to_cotangent(self) -> Any:
        """Return the spec of a cotangent, under the name that `PartitionSpec` has for it."""
        return self.to_ct_spec()


class NotAnArrayError(TypeError, AttributeError):
    """A value of a user type was given where an array was expected."""


_LIST: Final = (list, tuple)
_KINDS: Final = {_LIST: "a list", AbstractValue: "types, such as ShapedArray(shape, dtype)"}
_ARRAY_FIELDS: Final = frozenset("shape dtype ndim size weak_type".split())


class HiType(AbstractValue):
    """Base of user types; `register_hitype` links a subclass to the class of its values.

    A type is hashable and compares by ``==``: a frozen dataclass is enough. Each method says what
    it is needed for; one that is missing is an error that names it when it is first needed.
    """

    # A user's class has a __dict__, as frozen dataclasses need.
    def __eq__(self, other: object) -> bool:
        raise _missing("comparing types", self, "__eq__")

    def __hash__(self) -> int:
        raise _missing("comparing types", self, "__hash__")

    def __getattr__(self, name: str) -> NoReturn:
        if name in _ARRAY_FIELDS:
            raise NotAnArrayError(
                f"given a value of type {self.str_short()}, which has no {name}; expected an "
                "array. Operations on arrays don't take values of user types: apply a HiPrim that "
                "returns an array first."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def lo_ty(self) -> list[Any]:
        """Return the types of the arrays that a value is made of (for lowering)."""
        raise _missing("lowering, as under jit,", self, "lo_ty")

    def lower_val(self, value: Value) -> list[Value]:
        """Return the arrays that a value is made of, in the order of `lo_ty`."""
        raise _missing("lowering of values", self, "lower_val")

    @override
    def raise_val(self, *los: Value) -> Value:
        """Return the value made of these arrays."""
        raise _missing("making values of lowered arrays", self, "raise_val")

    def to_tangent_aval(self) -> AbstractValue:
        """Return the type of tangents: any type."""
        raise _missing("autodiff", self, "to_tangent_aval")

    def to_ct_aval(self) -> AbstractValue:
        """Return the type of cotangents; that of tangents unless overridden."""
        return self.to_tangent_aval()

    def vspace_zero(self) -> Value:
        """Return the zero of a type that is a tangent type."""
        raise _missing("use as the type of tangents", self, "vspace_zero")

    def vspace_add(self, x: Value, y: Value) -> Value:
        """Return the sum of two values of a type that is a tangent type."""
        raise _missing("use as the type of tangents", self, "vspace_add")

    def dec_rank(self, size: int | None, spec: Any) -> AbstractValue:
        """Return the type of an element of a value of this type that is mapped along `spec`."""
        raise _missing("vmap", self, "dec_rank")

    def inc_rank(self, size: int, spec: Any) -> AbstractValue:
        """Return the type of `size` values of this type, lined up along `spec`."""
        raise _missing("vmap", self, "inc_rank")

    def leading_axis_spec(self) -> Any:
        """Return the mapping spec along which scan stacks values."""
        raise _missing("scan", self, "leading_axis_spec")

    def shard(self, mesh: Any, manual_axes: Any, check_vma: bool, spec: Any) -> AbstractValue:
        """Return the type of one device's part."""
        raise _missing("shard_map", self, "shard")

    def unshard(self, mesh: Any, check_vma: bool, spec: Any) -> AbstractValue:
        """Return the type of the whole, of one device's part of this type."""
        raise _missing("shard_map", self, "unshard")

    def nospec(self, mesh: Any, check_vma: bool, all_names: Any) -> Any:
        """Return the spec that stacks values over all manual axes."""
        raise _missing("autodiff through shard_map", self, "nospec")

    def reshard(self, sharding: Any) -> AbstractValue:
        """Return the type of a value resharded to `sharding`."""
        raise _missing("reshard", self, "reshard")

    @override
    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Return the printed form."""
        return repr(self)

    @override
    def to_tangent(self) -> AbstractValue:
        return self._returned("to_tangent_aval", self.to_tangent_aval(), AbstractValue)

    @override
    def to_cotangent(self) -> AbstractValue:
        return self._returned("to_ct_aval", self.to_ct_aval(), AbstractValue)

    @override
    def lo_types(self) -> tuple[AbstractValue, ...]:
        return self._list_of("lo_ty", self.lo_ty(), AbstractValue)

    def _list_of(self, method: str, given: Any, kind: Any) -> tuple[Any, ...]:
        return tuple(self._returned(method, x, kind) for x in self._returned(method, given, _LIST))

    def _returned(self, method: str, given: Any, kind: Any) -> Any:
        """Return what a method of the user returned, which must be of a kind.

        Raises:
          TypeError: it is not.
        """
        if isinstance(given, kind):
            return given
        name = type(self).__name__
        raise TypeError(
            f"{name}.{method} returned {given!r} of type {type(given).__name__}, expected "
            f"{_KINDS[kind]}. Return that from {name}.{method}."
        )


def _missing(purpose: str, owner: Any, method: str) -> NotImplementedError:
    name = type(owner).__name__
    return NotImplementedError(
        f"{purpose} requires {name} to implement the method `{method}`, which it lacks; expected "
        f"it in the class. Define {method} in {name}."
    )


_VALUE_CLASSES: Final[set[type]] = set()
_CHECKED: Final[set[type]] = set()


def register_hitype(cls: type, type_of: Callable[[Any], HiType]) -> None:
    """Make instances of `cls` values of a user type.

    Args:
      cls: the class of the values; instances are leaves of trees.
      type_of: returns the `HiType` of an instance.

    Raises:
      TypeError: `cls` is not a class, `type_of` can't be called, or (at the first use) it returned
        something else than a `HiType`.
      ValueError: `cls` is registered already, or its instances are containers of trees.
    """
    if not isinstance(cls, type) or not callable(type_of):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"register_hitype: given {cls!r} and {type_of!r}, expected a class and a function. "
            "Pass the class of the values, then a function from a value to its type."
        )
    if cls in (list, tuple, dict, type(None)):
        raise ValueError(
            f"register_hitype: given {cls.__name__}, whose instances are containers of trees; "
            "expected a class whose instances are leaves. Define one that holds the parts."
        )

    def checked(x: Any) -> HiType:
        aval = type_of(x)
        if type(aval) not in _CHECKED:
            _check_type(cls, aval)
        return aval

    register_value_type(cls, checked)
    if len(_VALUE_CLASSES) == 1:
        _give_tracers_operators()
    _VALUE_CLASSES.add(cls)


def _give_tracers_operators() -> None:
    """Let operators on tracers look at the type; done once there is a user type at all."""
    for name in slots.OPERATORS:
        slots.wrap_on_tracers(name, _operator)


def _operator(name: str, of_arrays: Callable[..., Any]) -> Callable[..., Any]:
    own = f"_{name.strip('_')}"

    def operator(x: Any, *args: Any) -> Any:
        aval = x.aval
        if not isinstance(aval, HiType):
            return of_arrays(x, *args)
        # A plain function of the values, though it stands in a class.
        function = next((c.__dict__[own] for c in type(aval).__mro__ if own in c.__dict__), None)
        if function is None:
            raise AttributeError(
                f"'{type(aval).__name__}' object has no attribute '{own}': {name} was given a "
                f"value of type {aval.str_short()}, expected a type that defines the operator. "
                f"Define {own} in {type(aval).__name__}, a function of the operands."
            )
        return getattr(function, "__func__", function)(x, *args)

    operator.__name__ = name
    operator.__doc__ = of_arrays.__doc__
    return operator


def _check_type(cls: type, aval: Any) -> None:
    if not isinstance(aval, HiType):
        raise TypeError(
            f"register_hitype: the function given for {cls.__name__} returned {aval!r} of type "
            f"{type(aval).__name__}, expected a HiType. Return the type of the value."
        )
    if type(aval).__hash__ is None:
        raise _missing("comparing types", aval, "__hash__")
    hash(aval)
    if not aval == aval:
        raise TypeError(
            f"register_hitype: a type {aval!r} of {cls.__name__} is not equal to itself; expected "
            "__eq__ to compare by the fields. Define the type as a frozen dataclass."
        )
    _CHECKED.add(type(aval))


class LoRefs:
    """A ref to a value of a user type in a low program: one ref per part."""

    __slots__ = ("aval", "refs")

    def __init__(self, aval: AbstractRef, refs: Sequence[Any]) -> None:
        self.aval = aval
        self.refs = list(refs)


def _type_of_refs(x: LoRefs) -> AbstractRef:
    return x.aval


register_value_type(LoRefs, _type_of_refs)
_VALUE_CLASSES.add(LoRefs)


def _is_ref_to_hi(aval: AbstractValue) -> bool:
    return isinstance(aval, AbstractRef) and isinstance(aval.inner_aval, HiType)


def is_hi_value(x: Any) -> bool:
    """Whether `x` is an instance of a class of values of a user type."""
    return type(x) in _VALUE_CLASSES


def is_traced(x: Any) -> bool:
    """Whether `x` is a tracer, or a value of a user type with a traced part."""
    if type(x) in _VALUE_CLASSES:
        return any(map(is_traced, lower_value(typeof(x), x)))
    return isinstance(x, Tracer)


def check_part_of(x: Any, trace: Any) -> None:
    """Raise TypeError when a value of a user type was made of values that `trace` records."""
    aval = typeof(x)
    if isinstance(aval, HiType) and any(
        getattr(lo, "_trace", None) is trace for lo in lower_value(aval, x)
    ):
        raise TypeError(
            f"a {type(x).__name__} was made of traced arrays; expected an operation whose result "
            f"has the type {aval.str_short()}. Make values of user types in the `expand` of a "
            "HiPrim only, and apply that."
        )


def is_hi_type(aval: AbstractValue) -> bool:
    """Whether a type is a user type, or that of a ref to a value of one."""
    return isinstance(aval, HiType) or _is_ref_to_hi(aval)


def lower_value(aval: AbstractValue, x: Value) -> list[Value]:
    """Take a value of type `aval` apart; a value that is no user type's is its own only part.

    Raises:
      TypeError: `lower_val` returned other arrays than `lo_ty` lists.
    """
    if isinstance(x, LoRefs):
        return x.refs
    if not isinstance(aval, HiType):
        return [x]
    los = aval._list_of("lower_val", aval.lower_val(x), object)
    given, wanted = [typeof(lo) for lo in los], aval.lo_types()
    if len(los) != len(wanted) or not all(map(_fits, given, wanted)):
        raise TypeError(
            f"{type(aval).__name__}.lower_val returned values of type {_shown(given)} for a value "
            f"of type {aval.str_short()}, expected {_shown(wanted)}, as {type(aval).__name__}."
            "lo_ty says. Let the two agree."
        )
    return list(los)


def raise_value(aval: AbstractValue, los: Sequence[Value]) -> Value:
    """Put a value of type `aval` together."""
    if isinstance(aval, AbstractRef) and _is_ref_to_hi(aval):
        return LoRefs(aval, los)
    if not isinstance(aval, HiType):
        return los[0]
    value = aval.raise_val(*los)
    if type(value) not in _VALUE_CLASSES:
        raise TypeError(
            f"{type(aval).__name__}.raise_val returned {value!r} of type {type(value).__name__}, "
            f"expected a value of type {aval.str_short()}. Return an instance of a class given to "
            "register_hitype."
        )
    return value


def _fits(given: Any, wanted: Any) -> bool:
    if same_but_weak(given, wanted):
        return True
    return (given.shape, given.dtype) == (wanted.shape, wanted.dtype)


def _shown(avals: Sequence[AbstractValue]) -> str:
    return f"({', '.join(a.str_short(False) for a in avals)})"


class aval_method:  # noqa: N801  (a decorator)
    """Decorator in a type's class body: traced values of the type have this method."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __set_name__(self, owner: type, name: str) -> None:
        """Publish the method under the name that tracers look for."""

        def bound(x: Any) -> MethodType:
            return MethodType(self.fun, x)

        setattr(owner, f"_aval_{name}", bound)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; its first argument is the value."""
        return self.fun(*args, **kwargs)


class aval_property(aval_method):  # noqa: N801  (a decorator)
    """Decorator in a type's class body: traced values of the type have this property."""

    @override
    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, f"_aval_{name}", staticmethod(self.fun))
