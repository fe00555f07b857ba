"""`debug.print`: formatted output from inside a program."""

import logging
import string
from typing import Any, Final

import numpy as np

from tans_core import Array
from tans_xla.callbacks import debug_callback
from tans_xla.host_value import host_value

logger: Final = logging.getLogger("tans.debug")


class _CheckedFormatter(string.Formatter):
    """A formatter that refuses arguments the format does not use."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        positions = [i for i in range(len(args)) if i not in used_args]
        names = sorted(name for name in kwargs if name not in used_args)
        if positions or names:
            raise ValueError(
                f"debug.print: the format does not use the arguments {[*positions, *names]}; each "
                "was expected to have a field. Write {} or {name} where the value should stand."
            )


class _Anything:
    """Stands for a value while a format is checked."""

    def __format__(self, spec: str) -> str:
        return ""

    def __str__(self) -> str:
        return ""

    __repr__ = __str__

    def __getattr__(self, name: str) -> "_Anything":
        return self

    def __getitem__(self, index: Any) -> "_Anything":
        return self


_formatter: Final = _CheckedFormatter()


class _Printer:
    """Prints its format with the NumPy print options of the place where it was made."""

    __slots__ = ("fmt", "options", "use_logging")

    def __init__(self, fmt: str, use_logging: bool) -> None:
        self.fmt = fmt
        self.use_logging = use_logging
        options = np.get_printoptions()
        options.pop("override_repr", None)
        self.options = options

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        values = [_value(x) for x in args]
        named = {name: _value(x) for name, x in kwargs.items()}
        with np.printoptions(**self.options):
            text = self.fmt.format(*values, **named)
        if self.use_logging:
            logger.info(text)
        else:
            print(text)


def _value(x: Any) -> Any:
    """Return what formats like the array: NumPy's own for scalars understands format specs."""
    if not isinstance(x, Array):
        return x
    value = host_value(x)
    return value[()] if value.ndim == 0 else value


def debug_print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> None:
    """Print values while a program runs.

    Args:
      fmt: a format as for `str.format`: ``"x = {x}, y = {}"``. f-strings don't work, because they
        are formatted while the program is traced.
      *args: trees of arrays, or other values, for the fields without name.
      ordered: whether ordered prints appear in program order.
      partitioned: in a program over several devices, print once per device.
      skip_format_check: don't compare the fields of `fmt` with the arguments.
      **kwargs: values for the fields with names.

    Raises:
      ValueError: an argument that `fmt` does not use.
      IndexError: a field without a positional argument.
      KeyError: a field whose name is not given.

    Example:
      >>> debug_print("x = {x:.2f}", x=1.5)
      x = 1.50
    """
    if not skip_format_check:
        stand_in = _Anything()
        _formatter.vformat(fmt, [stand_in] * len(args), dict.fromkeys(kwargs, stand_in))
    printer = _Printer(fmt, _use_logging)
    debug_callback(printer, *args, ordered=ordered, partitioned=partitioned, **kwargs)
