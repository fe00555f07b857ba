"""Reading symbolic dimensions: ``'a, 2*b + 1, ...'``."""

import ast
import re
from typing import TYPE_CHECKING, Any, Final

from tans_compiler.symbolic.dims import max_dim, min_dim, variable
from tans_compiler.symbolic.polynomials import Size

if TYPE_CHECKING:
    from tans_compiler.symbolic.scope import SymbolicScope

_CALLS: Final[dict[str, Any]] = {
    "max": max_dim,
    "min": min_dim,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}
_BINARY: Final[dict[type, Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_NAME: Final = re.compile(r"[^\W\d]\w*")
_MARK: Final = "size_"  # in front of names, of which some are keywords of Python


def parse(text: str, scope: "SymbolicScope") -> Size:
    """Return the dimension that a text stands for.

    Raises:
      ValueError: it is none.
    """
    try:
        # ^ binds loosest in Python; a power is written with it here.
        marked = _NAME.sub(rf"{_MARK}\g<0>", text).replace("^", "**")
        return _value(ast.parse(f"({marked})", mode="eval").body, scope)
    except (SyntaxError, UnicodeEncodeError, KeyError, ZeroDivisionError) as error:
        raise ValueError(
            f"symbolic dimensions: given {text!r}, expected names, ints, + - * // % ^, and "
            "floordiv, mod, max, min of two. Write for example '2*b + 1'."
        ) from error


def _value(node: ast.expr, scope: "SymbolicScope") -> Size:
    match node:
        case ast.Name(id=name):
            return variable(name.removeprefix(_MARK), scope)
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, scope)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _value(left, scope) ** power
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, scope), _value(right, scope))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]):
            return _CALLS[name.removeprefix(_MARK)](_value(left, scope), _value(right, scope))
    raise KeyError(ast.dump(node))


def dimensions(text: str) -> list[str]:
    """Split a shape at its commas, but not inside of parentheses."""
    if not isinstance(text, str):
        raise TypeError(
            f"symbolic dimensions: given the shape {text!r} of type {type(text).__name__}, "
            "expected a str. Write 'a, 2*b'."
        )
    text = text.strip()
    if text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1]
    parts, start, depth = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if text[start:].strip():
        parts.append(text[start:])
    return [part.strip() for part in parts]


def _closing(text: str) -> int:
    """Return where the parenthesis at the start is closed."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i
    return -1
