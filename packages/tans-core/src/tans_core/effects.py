"""Effects: what an equation does besides computing its results.

An effect is a value in the set of an equation, a jaxpr or a function. Its class says how it may be
treated: *ordered* effects run in program order, one token per class; only *allowed* ones may occur
inside loops, branches, remat or custom derivatives.
"""

from collections.abc import Iterable
from typing import Final


class Effect:
    """Base of effects; instances are hashable and comparable, usually one per class.

    Two effects of one class are one kind of effect and share a token.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return type(self).__name__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


type Effects = frozenset[Effect]
no_effects: Final[Effects] = frozenset()


class EffectTypeSet:
    """A set of effect classes; a class is in it when it or a base was added.

    Example:
      >>> class Print(Effect): ...
      >>> allowed = EffectTypeSet()
      >>> allowed.add_type(Print)
      >>> Print() in allowed
      True
    """

    __slots__ = ("_types",)

    def __init__(self, *types: type[Effect]) -> None:
        self._types: set[type[Effect]] = set(types)

    def add_type(self, effect_type: type[Effect]) -> None:
        """Add a class, and with it its subclasses."""
        self._types.add(effect_type)

    def __contains__(self, effect: Effect) -> bool:
        return any(isinstance(effect, kind) for kind in self._types)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """Return the effects whose class is in the set, in order."""
        return [effect for effect in effects if effect in self]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """Return the effects whose class is not in the set, in order."""
        return [effect for effect in effects if effect not in self]


ordered_effects: Final = EffectTypeSet()
shardable_ordered_effects: Final = EffectTypeSet()
lowerable_effects: Final = EffectTypeSet()
control_flow_allowed_effects: Final = EffectTypeSet()
custom_derivatives_allowed_effects: Final = EffectTypeSet()
remat_allowed_effects: Final = EffectTypeSet()
partial_eval_kept_effects: Final = EffectTypeSet()


def join_effects(*sets: Iterable[Effect]) -> Effects:
    """Return the union of sets of effects; the empty one is a single object.

    Example:
      >>> join_effects(no_effects, no_effects) is no_effects
      True
    """
    joined = [effects for effects in sets if effects]
    if not joined:
        return no_effects
    if len(joined) == 1 and isinstance(joined[0], frozenset):
        return joined[0]
    return no_effects.union(*joined)


def check_control_flow_effects(where: str, effects: Iterable[Effect]) -> None:
    """Refuse effects that may not occur inside loops and branches.

    Raises:
      NotImplementedError: names the effects.
    """
    refused = control_flow_allowed_effects.filter_not_in(effects)
    if refused:
        raise NotImplementedError(
            f"{where}: given a body with the effects {refused}; expected effects that may occur "
            "inside control flow. Move the operation out of the body."
        )
