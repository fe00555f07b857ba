"""Binding the arguments of custom-rule functions to positions, as their rules expect them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tans_core.errors import message

type Function = Callable[..., Any]


class Positions:
    """The signature of a function, resolved once.

    Args:
      kind: the decorator's name, such as "custom_jvp".
      fun: the function.
      nondiff_argnums: positions of the arguments that are not differentiated.
      nondiff_argnames: their names, as an alternative.
    """

    __slots__ = ("_kind", "_name", "_plain_count", "_signature", "nondiff")

    def __init__(
        self,
        kind: str,
        fun: Function,
        nondiff_argnums: Sequence[int],
        nondiff_argnames: Sequence[str],
    ) -> None:
        self._kind = kind
        self._name = getattr(fun, "__name__", type(fun).__name__)
        try:
            self._signature = inspect.signature(fun)
        except (TypeError, ValueError):
            self._signature = None
        parameters = list(self._signature.parameters.values()) if self._signature else []
        ordinary = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        plain = all(p.kind in ordinary for p in parameters) and self._signature is not None
        self._plain_count = len(parameters) if plain else -1
        names = [p.name for p in parameters]
        unknown = [name for name in nondiff_argnames if name not in names]
        if unknown:
            raise ValueError(
                message(
                    kind,
                    f"nondiff_argnames {unknown} for function {self._name}",
                    f"names among {names}",
                    "Use the names of the function's parameters.",
                )
            )
        by_name = [names.index(name) for name in nondiff_argnames]
        self.nondiff = tuple(sorted({*nondiff_argnums, *by_name}))

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, defaults included.

        Raises:
          TypeError: they can't be bound to positions.
        """
        if not kwargs and (len(args) == self._plain_count or self._signature is None):
            return args
        try:
            if self._signature is None:
                raise TypeError("the function has no signature")
            bound = self._signature.bind(*args, **kwargs)
            if bound.kwargs:
                raise TypeError(f"keyword-only arguments {sorted(bound.kwargs)}")
            bound.apply_defaults()  # also of keyword-only parameters, which rules don't see
        except TypeError as error:
            raise TypeError(
                message(
                    f"{self._kind} function {self._name}",
                    f"{len(args)} positional arguments and keywords {sorted(kwargs)} ({error})",
                    f"arguments of {self._name}{self._signature or ''}",
                    "Pass the arguments by position; rules don't take keyword-only arguments.",
                )
            ) from None
        return bound.args

    def partition(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return (arguments that are not differentiated, the others)."""
        if not self.nondiff:
            return (), args
        count = len(args)
        static = {i % count for i in self.nondiff if -count <= i < count}
        if len(static) != len(self.nondiff):
            raise ValueError(
                message(
                    f"{self._kind} function {self._name}",
                    f"nondiff_argnums={self.nondiff} and {count} arguments",
                    f"positions below {count}",
                    "Pass all nondiff arguments.",
                )
            )
        return (
            tuple(args[i] for i in sorted(static)),
            tuple(x for i, x in enumerate(args) if i not in static),
        )

    def of_others(self, count: int) -> list[int]:
        """Return the positions of `count` arguments that are differentiated."""
        total = count + len(self.nondiff)
        static = {i % total for i in self.nondiff}
        return [i for i in range(total) if i not in static]

    def join(self, static: tuple[Any, ...], others: Sequence[Any]) -> tuple[Any, ...]:
        """Undo `partition`."""
        if not static:
            return tuple(others)
        count = len(static) + len(others)
        where = {i % count for i in self.nondiff}
        left, right = iter(static), iter(others)
        return tuple(next(left) if i in where else next(right) for i in range(count))
