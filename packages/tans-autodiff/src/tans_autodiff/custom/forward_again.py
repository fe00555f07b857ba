"""Rules that save less than their backward part reads: the rest is computed from it."""

from collections.abc import Callable
from typing import Any

from tans_autodiff.remat import ALWAYS_SAVED, name_p, phase_p
from tans_core import tree
from tans_core.errors import message

type Function = Callable[..., Any]
type Pytree = Any


class ForwardThenAgain:
    """A forward rule that runs ``fwd``, marks what it saved, and runs ``rem`` on that.

    Outside of `checkpoint` this is all. A checkpointed call keeps what is marked, takes the output
    of ``fwd`` on the forward pass, and that of ``rem`` where it computes values anew.
    """

    __slots__ = ("_function", "_fwd", "_rem")

    def __init__(self, function: str, fwd: Function, rem: Function) -> None:
        self._function = function
        self._fwd = fwd
        self._rem = rem

    @property
    def __name__(self) -> str:
        return getattr(self._fwd, "__name__", type(self._fwd).__name__)

    def __call__(self, *args: Pytree) -> tuple[Pytree, Pytree]:
        """Return ``(out, residuals)``."""
        out, saved = self._pair(self._fwd(*args), "fwd", "(out, saved)")
        saved = tree.map(lambda x: name_p.bind(x, name=ALWAYS_SAVED), saved)
        again, residuals = self._pair(self._rem(saved, *args), "rem", "(out, residuals)")
        if tree.structure(again) != tree.structure(out):
            raise TypeError(
                message(
                    f"custom_vjp function {self._function}",
                    f"rem with an output of structure {tree.structure(again)}",
                    f"that of fwd, {tree.structure(out)}",
                    "Let rem return the function's output first.",
                )
            )
        return tree.map(phase_p.bind, out, again), residuals

    def _pair(self, result: Any, rule: str, wanted: str) -> tuple[Pytree, Pytree]:
        if isinstance(result, tuple | list) and len(result) == 2:
            return result[0], result[1]
        raise TypeError(
            message(
                f"custom_vjp function {self._function}",
                f"{rule} with a result of type {type(result).__name__}",
                "two things",
                f"Let {rule} return {wanted}; () stands for nothing.",
            )
        )
