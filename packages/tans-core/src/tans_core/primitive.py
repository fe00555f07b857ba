"""`Primitive`: one operation of the language; its meaning lives in the rule tables."""

from typing import Any, override

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
        self.takes_refs = takes_refs or call_like

    def bind(self, *args: Any, **params: Any) -> Any:
        """Hand the operation to the current trace; return its result (a list if multiple)."""
        return state.trace.process(self, args, params)

    @override
    def __repr__(self) -> str:
        return self.name


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
