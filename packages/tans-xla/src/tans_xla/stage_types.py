"""What all stages tell of their arguments and results."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tans_core import AbstractValue
from tans_xla.shape_dtype_struct import struct_of

CompilerOptions = dict[str, str | bool | int | float]


@runtime_checkable
class Wrapped(Protocol):
    """A function that `jit` returned: it is called, traced and lowered."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        ...

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Record the program for these arguments."""
        ...

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Record and lower the program for these arguments."""
        ...


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """The type of one argument, and whether its buffer is donated."""

    aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return self.aval.dtype


class StageTypes:
    """Mixin of the stages: trees of types, from flat ones.

    Attributes:
      in_tree: structure of the dynamic arguments ``(args, kwargs)``.
      out_tree: structure of the result.
      donate_argnums: flat indices of donated arguments.
    """

    in_tree: Any
    out_tree: Any
    donate_argnums: tuple[int, ...]

    def _set_types(
        self,
        trees: tuple[Any, Any],
        in_avals: tuple[AbstractValue, ...],
        out_avals: tuple[AbstractValue, ...],
        donate_argnums: tuple[int, ...],
    ) -> None:
        self.in_tree, self.out_tree = trees
        self.donate_argnums = donate_argnums
        self._in_avals = in_avals
        self._out_avals = out_avals

    def _take_types(self, other: "StageTypes") -> None:
        trees = other.in_tree, other.out_tree
        self._set_types(trees, other._in_avals, other._out_avals, other.donate_argnums)

    @property
    def in_avals(self) -> Any:
        """Types of the dynamic arguments, as ``(args, kwargs)``."""
        return self.in_tree.unflatten(self._in_avals)

    @property
    def args_info(self) -> Any:
        """Types of the arguments and what is donated, as ``(args, kwargs)`` of `ArgInfo`."""
        donated = set(self.donate_argnums)
        return self.in_tree.unflatten(
            [ArgInfo(aval, i in donated) for i, aval in enumerate(self._in_avals)]
        )

    @property
    def out_info(self) -> Any:
        """Types of the result, as a tree of `ShapeDtypeStruct`."""
        return self.out_tree.unflatten([struct_of(a) for a in self._out_avals])
