"""One table of operators and array methods, shared by arrays and tracers.

Their meaning belongs to packages above core: tans-lax gives plain arithmetic, tans-numpy the NumPy
API. `fill` sets each function as an attribute of both classes, so a call costs no extra frame.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from tans_core._jaxlib import ArrayImpl
from tans_core.refs import AbstractRef
from tans_core.trace import Tracer

OPERATORS: Final = tuple(
    f"__{name}__"
    for name in (
        "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod "
        "pow rpow matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift "
        "neg pos abs invert lt le gt ge eq ne getitem round iter"
    ).split()
)
# Tracers of refs read and write with these.
_BY_TYPE: Final = frozenset("__getitem__ __iter__ at T reshape transpose".split())
_OWNERS: Final[dict[str, str]] = {}
_WRAPPERS: Final[dict[str, Callable[[str, Any], Any]]] = {}


def fill(functions: Mapping[str, Any], package: str) -> None:
    """Set operators, methods and properties on arrays and tracers.

    Args:
      functions: attribute name to function (taking the array first) or property.
      package: the distribution that supplies them, for messages.
    """
    for name, function in functions.items():
        setattr(ArrayImpl, name, function)
        own = _by_type(name, function) if name in _BY_TYPE else function
        wrap = _WRAPPERS.get(name)
        setattr(Tracer, name, own if wrap is None else wrap(name, own))
        _OWNERS[name] = package
    if "__eq__" in functions:
        # Python clears __hash__ only for methods in a class body.
        ArrayImpl.__hash__ = Tracer.__hash__ = None  # pyright: ignore[reportAttributeAccessIssue]


def _by_type(name: str, function: Any) -> Any:
    """Return an attribute of tracers that the type of refs gives a meaning of its own."""
    own = f"_aval_{name}"
    if isinstance(function, property):
        get = function.fget

        def read(tracer: Tracer) -> Any:
            aval = tracer.aval
            if type(aval) is AbstractRef and hasattr(AbstractRef, own):
                return getattr(AbstractRef, own)(tracer)
            return get(tracer)  # pyright: ignore[reportOptionalCall]

        return property(read, doc=function.__doc__)

    @functools.wraps(function)
    def call(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        aval = tracer.aval
        if type(aval) is AbstractRef and hasattr(AbstractRef, own):
            return getattr(AbstractRef, own)(tracer)(*args, **kwargs)
        return function(tracer, *args, **kwargs)

    return call


def wrap_on_tracers(name: str, wrap: Callable[[str, Any], Any]) -> None:
    """Let ``wrap(name, function)`` stand for an operator of tracers, now and when it is set."""
    _WRAPPERS[name] = wrap
    setattr(Tracer, name, wrap(name, getattr(Tracer, name)))


def owner(name: str) -> str | None:
    """Return the distribution that supplied an attribute, or None."""
    return _OWNERS.get(name)


def _missing(name: str) -> Callable[..., NoReturn]:
    def operator(*args: Any) -> NoReturn:
        raise TypeError(
            f"{name} on an array: no package that gives it a meaning is loaded; expected "
            "tans-numpy. Run: pip install tans-numpy, and import tans_numpy."
        )

    operator.__name__ = name
    return operator


def install_missing() -> None:
    """Give every operator without an owner its error."""
    for name in OPERATORS:
        if name not in _OWNERS:
            missing = _missing(name)
            setattr(Tracer, name, _by_type(name, missing) if name in _BY_TYPE else missing)
            if name not in ("__eq__", "__ne__"):
                setattr(ArrayImpl, name, _missing(name))


install_missing()
# NumPy arrays and scalars on the left hand side leave binary operators to us.
for _class in (ArrayImpl, Tracer):
    _class.__array_priority__ = 100
