"""Numbers on a command line: what they may be, and what is said of others."""

import argparse
import math
from collections.abc import Callable


def at_least[T: (int, float)](lowest: T, convert: Callable[[str], T]) -> Callable[[str], T]:
    """Return a converter of an option's text to a finite number that is not below `lowest`."""
    kind = "a whole number" if convert is int else "a number"

    def number(text: str) -> T:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not lowest <= value < math.inf:
            raise argparse.ArgumentTypeError(
                f"given {text!r}, expected {kind} of at least {lowest:g}. Write {lowest:g} or more."
            )
        return value

    return number


count = at_least(1, int)
seconds = at_least(0.0, float)
