"""One configuration flag: a C++ `Config` that knows its type, its choices and its environment name.

The value lives in C++ because jaxlib's jit reads it there: a flag in the jit key changes the key of
the compiled call without any Python running. Reading a flag is one attribute: ``flag.value``.
"""

import functools
import os
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, Self

from tans_core._jaxlib import Config
from tans_core._jaxlib import unset as unset

type FlagValue = Any  # the canonical value of one flag: bool, int, float, str, enum, None or object
type Parse = Callable[[str, FlagValue], FlagValue]  # (flag name, user's value) to canonical value
type Hook = Callable[[FlagValue], None]  # may raise to veto the change

_TRUE: Final = frozenset({"1", "true", "yes", "y", "t", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "n", "f", "off", ""})


class Flag(Config):
    """A named setting with a process-wide value and an optional value per thread.

    Calling the flag gives a context manager (also a decorator) that sets it for this thread:
    ``with enable_x64(True): ...``.

    Attributes:
      name: the full name, such as "jax_enable_x64".
      value: the value in force on this thread.
      default: the value without environment and updates.
      in_jit_key: whether a change makes compiled calls miss.
      in_trace_context: whether a change makes traced programs miss.
      doc: what the flag does, one line.
    """

    __slots__ = (
        "default",
        "doc",
        "global_hooks",
        "in_jit_key",
        "in_trace_context",
        "parse",
        "thread_hooks",
    )

    def __init__(
        self,
        name: str,
        default: FlagValue,
        parse: Parse,
        *,
        jit_key: bool = False,
        trace_context: bool = False,
        doc: str = "",
    ) -> None:
        initial = _from_environment(name, default, parse)
        super().__init__(
            name, initial, include_in_jit_key=jit_key, include_in_trace_context=trace_context
        )
        self.default = default
        self.parse = parse
        self.in_jit_key = jit_key
        self.in_trace_context = trace_context
        self.doc = doc
        self.global_hooks: list[Hook] = []
        self.thread_hooks: list[Hook] = []

    def __call__(self, new_val: FlagValue = unset) -> "Override":
        """Return a context manager that sets the flag on this thread; a lone bool may be left out.

        Args:
          new_val: the new value; nothing means True for a flag that holds a bool.

        Raises:
          ValueError: the value does not fit the flag.
        """
        if new_val is unset:
            if not isinstance(self.default, bool):
                raise TypeError(f"{self.name}: given no value, expected one: {self.name}(value).")
            new_val = True
        return Override(self, self.parse(self.name, new_val))

    def update(self, value: FlagValue) -> None:
        """Set the process-wide value after canonicalising it."""
        canonical = self.parse(self.name, value)
        for hook in self.global_hooks:
            hook(canonical)
        self.set_global(canonical)

    def __repr__(self) -> str:
        return f"Flag({self.name}={self.value!r})"


class Override:
    """Sets one flag on the current thread inside a ``with`` block or a decorated function."""

    __slots__ = ("_flag", "_previous", "_value")

    def __init__(self, flag: Flag, value: FlagValue) -> None:
        self._flag = flag
        self._value = value
        self._previous: list[FlagValue] = []

    def __enter__(self) -> Self:
        flag = self._flag
        for hook in flag.thread_hooks:
            hook(self._value)
        self._previous.append(flag.swap_local(self._value))
        return self

    def __exit__(self, *_: object) -> None:
        previous = self._previous.pop()
        self._flag.set_local(previous)
        for hook in self._flag.thread_hooks:
            hook(None if previous is unset else previous)

    def __call__[F: Callable[..., Any]](self, fun: F) -> F:
        """Return `fun` with the flag set during each call."""

        @functools.wraps(fun)
        def with_flag(*args: Any, **kwargs: Any) -> Any:
            with Override(self._flag, self._value):
                return fun(*args, **kwargs)

        return with_flag  # pyright: ignore[reportReturnType]  # same signature by construction


def environment_names(name: str) -> Iterator[str]:
    """Yield the environment variables that set a flag, the stronger one first."""
    short = name.removeprefix("jax_").upper()
    yield f"TANS_{short}"
    yield f"JAX_{short}"


def _from_environment(name: str, default: FlagValue, parse: Parse) -> FlagValue:
    for variable in environment_names(name):
        text = os.environ.get(variable)
        if text is not None:
            return parse(name, text)
    return default


def _refuse(name: str, value: FlagValue, expected: str) -> ValueError:
    return ValueError(
        f"config {name}: given {value!r} of type {type(value).__name__}, expected {expected}. "
        f"Set it with config.update({name!r}, value) or TANS_{name.removeprefix('jax_').upper()}."
    )


def boolean(name: str, value: FlagValue) -> bool:
    """Parse a bool; 0, 1, NumPy bools and the usual words are accepted."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    elif value in (True, False):
        return bool(value)
    raise _refuse(name, value, "True or False")


def integer(name: str, value: FlagValue) -> int:
    """Parse an int; text is accepted because environment variables are text."""
    if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        return int(value)
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return int(value)
    raise _refuse(name, value, "an int")


def real(name: str, value: FlagValue) -> float:
    """Parse a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _refuse(name, value, "a float") from None


def text(name: str, value: FlagValue) -> str:
    """Parse a str."""
    if isinstance(value, str):
        return str(value)
    raise _refuse(name, value, "a str")


def anything(name: str, value: FlagValue) -> FlagValue:
    """Accept every value as it is."""
    return value


def optional(parse: Parse) -> Parse:
    """Return `parse` extended by None; the environment text "none" and "" mean None."""

    def parse_optional(name: str, value: FlagValue) -> FlagValue:
        if value is None or (isinstance(value, str) and value.strip().lower() in ("none", "")):
            return None
        return parse(name, value)

    return parse_optional


def one_of(*choices: str) -> Parse:
    """Return a parser that accepts exactly the given words."""

    def parse_choice(name: str, value: FlagValue) -> str:
        if isinstance(value, str) and value in choices:
            return choices[choices.index(value)]
        raise _refuse(name, value, "one of " + ", ".join(map(repr, choices)))

    return parse_choice


def member_of(choices: type[Enum]) -> Parse:
    """Return a parser for members of an enum, given as member, value or (lower-case) name."""
    by_word = {member.name.lower(): member for member in choices}

    def parse_member(name: str, value: FlagValue) -> FlagValue:
        if isinstance(value, choices):
            return value
        if isinstance(value, str) and value.lower() in by_word:
            return by_word[value.lower()]
        raise _refuse(name, value, "one of " + ", ".join(map(repr, by_word)))

    return parse_member


_PARSERS: Final[dict[type, Parse]] = {bool: boolean, int: integer, float: real, str: text}


def parser_of(default: FlagValue) -> Parse:
    """Return the parser for values of the class of a default; None accepts anything."""
    if isinstance(default, Enum):
        return member_of(type(default))
    return _PARSERS.get(default.__class__, anything)
