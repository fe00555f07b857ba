"""Operands and options that NumPy-level functions refuse."""

from typing import Any

from tans_core import dtypes, typeof

type Value = Any  # an array, a tracer, a NumPy array or scalar, or a Python scalar


def check_numbers(name: str, *args: Value) -> None:
    """Raise TypeError for keys and tangents of integers, which no arithmetic takes."""
    avals = [typeof(x) for x in args]
    if any(dtypes.is_extended(a.dtype) or a.dtype == dtypes.float0 for a in avals):
        given = " and ".join(a.str_short() for a in avals)
        raise TypeError(f"{name}: given {given}, expected numbers. Leave them out.") from None


def not_numbers(dtype: Any) -> TypeError:
    """Return the error for values of a dtype that no arithmetic takes."""
    return TypeError(
        f"given values of dtype {dtype}, expected numbers. Read the words of keys with "
        "random.key_data."
    )


def refuse_complex(name: str, *args: Value, error: type[Exception] = TypeError) -> None:
    """Raise `error` if an operand is complex."""
    for x in args:
        if dtypes.is_complex(typeof(x).dtype):
            raise error(
                f"{name}: given {typeof(x)}, expected real numbers. Take jnp.real(x), "
                "jnp.imag(x) or jnp.abs(x) first."
            )


def refuse_out(out: Any, name: str) -> None:
    """Raise NotImplementedError if an array to write to is given."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: given out=, expected None: arrays can't be written to. Use the result."
        )
