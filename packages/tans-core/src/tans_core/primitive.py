"""`Primitive`: one operation of the language; its meaning lives in the rule tables."""

from collections.abc import Iterator
from numbers import Number
from typing import Any, Final, override

import numpy as np

from tans_core.state import state


class Primitive:
    """An operation.

    Args:
      name: printed name.
      family: module (a folder) that holds the primitive's column files.
      multiple_results: whether `bind` returns a list.
      call_like: whether params hold jaxprs; such equations have no type memo and no lowering
        template.
      custom_staging: whether the `staging` table decides how a recording trace treats it.
      takes_refs: whether operands may be references; call-like primitives take them always.
    """

    __slots__ = (
        "__weakref__",
        "call_like",
        "custom_staging",
        "family",
        "multiple_results",
        "name",
        "param_numbers",
        "takes_refs",
    )

    def __init__(
        self,
        name: str,
        family: str | None = None,
        *,
        multiple_results: bool = False,
        call_like: bool = False,
        custom_staging: bool = False,
        takes_refs: bool = False,
    ) -> None:
        self.name = name
        self.family = family
        self.multiple_results = multiple_results
        self.call_like = call_like
        self.custom_staging = custom_staging
        self.param_numbers = 0  # set by `note_params`
        self.takes_refs = takes_refs or call_like

    def bind(self, *args: Any, **params: Any) -> Any:
        """Hand the operation to the current trace; return its result (a list if multiple)."""
        return state.trace.process(self, args, params)

    @override
    def __repr__(self) -> str:
        return self.name


def param_types(primitive: Primitive, params: dict[str, Any]) -> Iterator[Any]:
    """Return what tells params from others that equal them, for memo keys of `primitive`."""
    if primitive.param_numbers == _NESTED:
        return map(_exact, params.values())
    return map(type, params.values())


def _exact(value: Any) -> Any:
    if isinstance(value, _GROUPS):
        return type(value), *map(_exact, value)
    kind = value.__class__
    return (kind, repr(value)) if isinstance(value, _INEXACT) else kind  # 0.0 equals -0.0


_PLAIN, _NESTED = 1, 2
_GROUPS: Final[Any] = (tuple, frozenset)
_INEXACT: Final[Any] = (float, complex, np.inexact)


def new_key(
    primitive: Primitive, params: dict[str, Any], key: tuple[Any, ...], first: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the key to keep params under: `key`, unless they are the first with numbers."""
    before = primitive.param_numbers
    note_params(primitive, params)
    if primitive.param_numbers == before:
        return key
    return (*first, *params, *params.values(), *param_types(primitive, params))


def note_params(primitive: Primitive, params: dict[str, Any]) -> None:
    """Note, when params are first met, whether they hold numbers: 1, 1.0 and True are equal.

    Keys of primitives without numbers cost nothing more. The functions of Tans make all sizes and
    axes ints, so tuples of ints in its own families need no key by type.
    """
    own = (primitive.family or "").startswith("tans_")
    for value in params.values():
        if isinstance(value, _GROUPS):
            level = _NESTED if not own or _holds_inexact(value) else 0
        elif isinstance(value, _INEXACT):
            level = _NESTED
        else:
            level = _PLAIN if isinstance(value, Number) else 0
        primitive.param_numbers = max(primitive.param_numbers, level)


def _holds_inexact(value: Any) -> bool:
    if isinstance(value, _GROUPS):
        return any(map(_holds_inexact, value))
    return isinstance(value, _INEXACT)


def unhashable_params(primitive: Primitive, params: dict[str, Any]) -> TypeError:
    """Return the error for params that can't be hashed, naming each."""
    culprits: list[str] = []
    for name, value in params.items():
        try:
            hash(value)
        except TypeError:
            culprits.append(f"{name}={value!r} of type {type(value).__name__}")
    return TypeError(
        f"{primitive.name}: given params that can't be hashed: {', '.join(culprits)}; expected "
        "values with a hash, since they are part of the program. Pass tuples instead of lists, and "
        "arrays as operands."
    )
