"""Rule tables: from a primitive to what one transformation does with it.

A table loads a family's column file at the first miss: the `jvp` table finds the rule of
``tans_lax.slicing``'s primitives in ``tans_lax/slicing/derivatives.py``, in the dict ``JVP``.
Nothing is registered by import, and a row that does not exist is one error class.
"""

import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple, override

from tans_core.errors import MissingRuleError
from tans_core.primitive import Primitive
from tans_core.state import set_current_trace, state

# Column files are executed one at a time, whichever table asks for them.
_loading: Final = threading.RLock()


class ContextRule[R: Callable[..., Any]]:
    """A rule that takes the transformation it serves as its first argument, `ctx`."""

    __slots__ = ("rule",)

    def __init__(self, rule: R) -> None:
        self.rule = rule

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Run the rule with the transformation's context first among `args`."""
        return self.rule(*args, **params)

    @override
    def __repr__(self) -> str:
        return f"ContextRule({self.rule!r})"


class Typed(NamedTuple):
    """Result of a type rule whose equation has effects."""

    avals: Any
    effects: frozenset[Any]


class RuleTable[R](dict[Primitive, R]):
    """Map primitives to rules; rows come from column files on first use.

    Args:
      name: the table's name; its dict in a column file is the name in upper case.
      column: file name of the column, without ``.py``.

    The table is a mutable mapping: assignment adds or replaces a row. `register` adds one and
    refuses to replace.
    """

    def __init__(self, name: str, column: str) -> None:
        super().__init__()
        self.name = name
        self.column = column
        self._loaded: set[str] = set()

    def __missing__(self, primitive: Primitive) -> R:
        rule = self.find(primitive)
        if rule is None:
            raise MissingRuleError(self._missing_text(primitive))
        return rule

    def find(self, primitive: Primitive) -> R | None:
        """Return the rule of `primitive`, or None when there is no row."""
        rule = self.get(primitive)
        if rule is None and primitive.family not in self._loaded:
            self._load(primitive.family)
            rule = self.get(primitive)
        return rule

    def register(self, primitive: Primitive, rule: R) -> None:
        """Add a row.

        Raises:
          ValueError: the primitive has a row already.
        """
        if self.find(primitive) is not None:
            raise ValueError(
                f"primitive {primitive.name!r} has a {self.name} rule already; expected none. "
                f"To replace it, assign: {self.name}[primitive] = rule."
            )
        self[primitive] = rule

    def load_family(self, family: str) -> None:
        """Load the column of a family now (tools and tests that walk tables)."""
        if family not in self._loaded:
            self._load(family)

    def _load(self, family: str | None) -> None:
        with _loading:
            if family in self._loaded:
                return
            rows = _column_rows(family, self.column, self.name.upper()) if family else {}
            for primitive, rule in rows.items():
                # A user's assignment made before the column was loaded stays.
                if primitive not in self:
                    self[primitive] = rule
            self._loaded.add(family or "")

    def _missing_text(self, primitive: Primitive) -> str:
        where = f"{primitive.family}.{self.column}" if primitive.family else "no family"
        return (
            f"primitive {primitive.name!r} has no {self.name} rule; one was expected in {where}. "
            f"To add one: tans_core.{self.name}.register({primitive.name}_p, rule)"
        )


def _column_rows(family: str, column: str, attribute: str) -> dict[Primitive, Any]:
    module = f"{family}.{column}"
    try:
        if find_spec(module) is None:
            return {}
    except ModuleNotFoundError:  # the family is a plain module, or is not importable
        return {}
    with set_current_trace(state.evaluation):
        return getattr(import_module(module), attribute, {})


types: Final = RuleTable[Callable[..., Any]]("types", "types")
sharding: Final = RuleTable[Callable[..., Any]]("sharding", "sharding")
manual_axes: Final = RuleTable[Callable[..., Any]]("manual_axes", "sharding")
lowering: Final = RuleTable[Callable[..., Any]]("lowering", "lowering")
jvp: Final = RuleTable[Callable[..., Any]]("jvp", "derivatives")
linearize: Final = RuleTable[Callable[..., Any]]("linearize", "derivatives")
transpose: Final = RuleTable[Callable[..., Any]]("transpose", "derivatives")
partial_eval: Final = RuleTable[Callable[..., Any]]("partial_eval", "derivatives")
batching: Final = RuleTable[Callable[..., Any]]("batching", "batching")
staging: Final = RuleTable[Callable[..., Any]]("staging", "staging")
evaluation: Final = RuleTable[Callable[..., Any]]("evaluation", "evaluation")
dce: Final = RuleTable[Callable[..., Any]]("dce", "simplify")
discharge: Final = RuleTable[Callable[..., Any]]("discharge", "discharge")
to_lo: Final = RuleTable[Callable[..., Any]]("to_lo", "to_lo")
printing: Final = RuleTable[Callable[..., Any]]("printing", "printing")
structured: Final = RuleTable[Callable[..., Any]]("structured", "structured")

ALL_TABLES: Final = (
    types,
    sharding,
    manual_axes,
    lowering,
    jvp,
    linearize,
    transpose,
    partial_eval,
    batching,
    staging,
    evaluation,
    dce,
    discharge,
    to_lo,
    printing,
    structured,
)
