"""Which arguments of a jitted function are static, donated or dynamic."""

import enum
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from tans_core.errors import message
from tans_xla.compile import OptionItems

type ArgumentSet = tuple[tuple[int, ...], tuple[str, ...]]  # positions and names

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


class Inline(enum.Enum):
    """When a nested call is put into its caller.

    AUTO leaves the choice to XLA; JAX_EARLY does it while the caller is traced, JAX_LATE while it
    is lowered; XLA_EARLY and XLA_LATE ask XLA to do it before or after its other passes.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def check_callable(name: str, fun: Any) -> None:
    """Raise TypeError unless `fun` can be called; `name` is the function that takes it."""
    if not callable(fun):
        raise TypeError(
            message(
                name,
                f"{fun!r} of type {type(fun).__name__}",
                "a function",
                f"Pass the function itself, as in {name}(f), not its result.",
            )
        )


def inline_of(given: Any) -> Inline:
    """Return the `inline` option of `jit` as a member: True is JAX_LATE, False is AUTO.

    Raises:
      ValueError: neither a bool nor a member.
    """
    if isinstance(given, Inline):
        return given
    if isinstance(given, bool):
        return Inline.JAX_LATE if given else Inline.AUTO
    names = ", ".join(f"Inline.{member.name}" for member in Inline)
    raise ValueError(
        f"jit: given inline={given!r}, expected True, False or one of {names}. Write inline=True "
        "to leave no call in the compiled program."
    )


class JitOptions(NamedTuple):
    """Everything about a jitted function except the function; hashable.

    Attributes:
      static_argnums, static_argnames: arguments that are Python values.
      donate_argnums, donate_argnames: arguments whose buffers may be reused.
      in_shardings, out_shardings: leaves and tree of shardings, or None.
      keep_unused: whether unused arguments stay arguments of the program.
      inline: when a nested call is put into its caller.
      device: device to run on, or None.
      backend: platform to run on, or None.
      compiler_options: options as items.
    """

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    in_shardings: Any = None
    out_shardings: Any = None
    keep_unused: bool = False
    inline: Inline = Inline.AUTO
    device: Any = None
    backend: str | None = None
    compiler_options: OptionItems = ()


def resolve_arguments(
    fun: Callable[..., Any], argnums: Any, argnames: Any, what: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return positions and names of some arguments, each completed from the other.

    Args:
      fun: the function whose signature connects positions and names.
      argnums: int, sequence of ints, or None.
      argnames: string, sequence of strings, or None.
      what: the option's stem for messages, ``static`` or ``donate``.

    Raises:
      TypeError: an entry has the wrong type.
      ValueError: a position or name does not exist.
    """
    if argnums is None and argnames is None:
        return (), ()
    nums = _tuple_of(argnums, int, f"{what}_argnums")
    names = _tuple_of(argnames, str, f"{what}_argnames")
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return nums, names
    positional = [p.name for p in parameters if p.kind in _POSITIONAL]
    has_varargs = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    has_varkw = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if not has_varargs:
        _check_positions(nums, positional, fun, what)
        # A negative position counts the parameters, not the arguments of one call.
        nums = tuple(sorted({n % len(positional) for n in nums}))
    if not has_varkw:
        _check_names(names, [p.name for p in parameters], fun, what)
    if argnames is None:
        keyword = {p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
        named = [positional[n] for n in nums if -len(positional) <= n < len(positional)]
        names = tuple(n for n in named if n in keyword)
    elif argnums is None:
        nums = tuple(i for i, name in enumerate(positional) if name in names)
    return nums, names


def check_disjoint(static: ArgumentSet, donated: ArgumentSet, fun: Callable[..., Any]) -> None:
    """Check that no argument is static as well as donated.

    Raises:
      ValueError: with the positions and names that are both.
    """
    both = sorted({*static[0]} & {*donated[0]}), sorted({*static[1]} & {*donated[1]})
    if any(both):
        raise ValueError(
            f"jit: given positions {both[0]} and names {both[1]} of {_name(fun)} as static and as "
            "donated; expected each argument once. A static argument is a Python value and has no "
            "buffer: leave it out of donate_argnums and donate_argnames."
        )


def _tuple_of[T](value: Any, kind: type[T], option: str) -> tuple[T, ...]:
    if value is None:
        return ()
    items = (value,) if isinstance(value, kind) else value
    if isinstance(items, Iterable):
        items = tuple(items)
        if all(hasattr(i, "__index__") if kind is int else isinstance(i, kind) for i in items):
            return tuple(i.__index__() if kind is int else i for i in items)  # pyright: ignore
    raise TypeError(
        f"jit: given {option}={value!r}, expected {kind.__name__} or a sequence of {kind.__name__}."
        f" Write for example {option}={'0' if kind is int else repr('n')}."
    )


def _check_positions(
    nums: tuple[int, ...], positional: list[str], fun: Callable[..., Any], what: str
) -> None:
    n = len(positional)
    for num in nums:
        if not -n <= num < n:
            raise ValueError(
                f"jit: given {what}_argnums={nums}, but {_name(fun)} has {n} positional "
                f"argument{'s' * (n != 1)} ({', '.join(positional)}); expected positions from "
                f"{-n} to {n - 1}."
            )


def _check_names(
    names: tuple[str, ...], known: list[str], fun: Callable[..., Any], what: str
) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"jit: given {what}_argnames={names}, but {_name(fun)} has no argument {name!r}; "
                f"expected names among {', '.join(known)}."
            )


def _name(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", repr(fun))


def normalize(nums: tuple[int, ...], num_args: int) -> set[int]:
    """Return non-negative positions for a call with `num_args` positional arguments."""
    return {n + num_args if n < 0 else n for n in nums}
