"""The exception classes of Tans; each docstring is the class's documentation page.

A text has three parts: what was given, what was expected, and what to write instead. It ends with
the name of its page, which `help` prints without a network.
"""

import inspect
from typing import Any, Final

from tans_core._jaxlib import JaxRuntimeError
from tans_core.spelling import did_you_mean

type TracedValue = Any  # a tracer: has `describe()` and `_trace`


def message(where: str, given: str, expected: str, remedy: str, page: str = "") -> str:
    """Return an error text in three parts.

    Args:
      where: the function or operation that refuses, such as "vmap".
      given: what the user passed, with printed types.
      expected: what would have been accepted.
      remedy: what to write instead, as a sentence.
      page: name of the documentation page, when it isn't that of the class.

    Example:
      >>> message("vmap", "in_axes=1.5", "ints or None", "Write in_axes=1.")
      'vmap: given in_axes=1.5; expected ints or None. Write in_axes=1.'
    """
    return f"{where}: given {given}; expected {expected}. {remedy}{_see(page)}"


def _see(page: str) -> str:
    return f"\nMore: tans.errors.help({page!r})" if page else ""


def _shown(value: TracedValue) -> str:
    return value.describe() if hasattr(value, "describe") else str(value)


class _Paged(Exception):  # noqa: N818  (a mixin, not a class to raise)
    """Adds the name of the documentation page to the text."""

    def __init__(self, text: str = "") -> None:
        super().__init__(f"{text}{_see(type(self).__name__)}")


class JAXTypeError(_Paged, TypeError):
    """A value of the wrong kind; base of the errors about traced values."""


class JAXIndexError(_Paged, IndexError):
    """An index of the wrong kind; base of `NonConcreteBooleanIndexError`."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where its concrete value is needed.

    While `jit`, `vmap`, `scan`, ... trace a function, its arguments have a type but no value. So
    ``float(x)``, ``x.item()``, or a size or axis that depends on ``x`` can't be computed.

    What to do:

    * Make the argument static: ``jit(f, static_argnames="n")`` for sizes, axes and flags.
    * Use a function that keeps the computation in the program: ``jnp.where``, ``lax.cond``,
      ``lax.dynamic_slice``; for sizes that depend on data pass ``size=``.
    * Move the conversion out of the traced function.
    """

    def __init__(self, tracer: TracedValue, context: str = "") -> None:
        detail = f" {context}" if context else ""
        super().__init__(
            f"given a {_shown(tracer)}; expected a concrete value.{detail} "
            "Make the argument static (jit(..., static_argnames=...)), or stay inside the program "
            f"with jnp.where, lax.cond or a size= argument."
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a condition: ``if x``, ``while x``, ``and``, ``or``, ``assert``.

    The branch has to be known while the function is traced, but the value is known only when the
    program runs.

    What to do:

    * ``lax.cond(x > 0, f, g, operand)`` runs one of two functions.
    * ``jnp.where(x > 0, a, b)`` picks element by element; both sides are computed.
    * ``lax.while_loop`` and ``lax.fori_loop`` loop inside the program.
    * If the condition does not depend on data, make it static: ``static_argnames``.
    * ``&``, ``|``, ``~`` and ``jnp.logical_and`` replace ``and``, ``or``, ``not``.
    """

    def __init__(self, tracer: TracedValue) -> None:
        JAXTypeError.__init__(
            self,
            f"given a {_shown(tracer)} as a condition (if, while, and, or, not, assert); expected "
            "a concrete bool. Use lax.cond or jnp.where to choose inside the program, or make the "
            f"argument static (jit(..., static_argnames=...)).",
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced integer was used where Python needs an int: ``range(n)``, ``a_list[i]``.

    What to do:

    * To index: make the list an array, ``jnp.array(a_list)[i]``.
    * To loop: ``lax.fori_loop(0, n, body, init)``.
    * If the number does not depend on data, make it static: ``static_argnames``.
    """

    def __init__(self, tracer: TracedValue) -> None:
        super().__init__(
            f"given a {_shown(tracer)} as a Python index; expected an int. To index a list, "
            "convert it first: jnp.array(the_list)[i]. To loop, use lax.fori_loop; for a fixed "
            f"number, make the argument static (static_argnames)."
        )


class TracerArrayConversionError(JAXTypeError):
    """A traced value was handed to NumPy: ``np.sin(x)``, ``np.asarray(x)``.

    NumPy computes at once and needs numbers; a traced value has only a type.

    What to do:

    * Use the function of the same name in ``tans.numpy``.
    * Call NumPy when the program runs: ``tans.pure_callback``.
    * If the value does not depend on data, make it static.
    """

    def __init__(self, tracer: TracedValue) -> None:
        super().__init__(
            f"given a {_shown(tracer)} to convert to a NumPy array; expected a concrete array. "
            "Use the function of the same name in tans.numpy, or tans.pure_callback to run NumPy "
            f"when the program runs."
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed with a traced boolean mask, so the size of the result is unknown.

    What to do:

    * ``jnp.where(mask, x, 0)`` keeps the shape.
    * ``jnp.sum(x, where=mask)``: reductions take a mask.
    * ``x[jnp.nonzero(mask, size=n)]`` when an upper bound of the count is known.
    """

    def __init__(self, tracer: TracedValue) -> None:
        super().__init__(
            f"given a boolean mask that is a {_shown(tracer)}; expected a concrete mask, because "
            "the size of the result depends on its values. Use jnp.where(mask, x, fill) or "
            f"jnp.nonzero(mask, size=n)."
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced value outlived the function it was made in.

    It was stored in a global, an attribute, a list or a closure, and used after tracing ended.

    What to do:

    * Return the value from the transformed function instead of storing it.
    * Pass state in and out as arguments and results.
    * ``with tans.checking_leaks():`` finds the place where it escapes.
    """


class TracerLeakError(Exception):
    """`checking_leaks` found traced values that outlived their transformation; see the text."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice, so two results are not independent.

    Only raised while ``debug_key_reuse`` is on. Split the key first:
    ``key, subkey = random.split(key)``, and use each part once.
    """


class JaxprTypeError(TypeError):
    """A jaxpr is ill-typed; found by the checker that ``enable_checks`` turns on."""


class InconclusiveDimensionOperation(Exception):  # noqa: N818  (JAX's name)
    """A comparison of symbolic dimensions has no answer for all their values.

    Add a constraint to the symbolic scope, or use `core.max_dim` and `core.min_dim`.
    """


class TypePromotionError(ValueError):
    """Operands have dtypes without a common type to promote to.

    Sub-byte integers and 8-bit floats promote with nothing but bool and Python ints; under
    ``numpy_dtype_promotion("strict")`` only Python scalars are promoted. Convert explicitly:
    ``x.astype(jnp.float32)``.
    """


class ShardingTypeError(Exception):
    """The shardings of an operation's operands don't fit together, in explicit mode.

    The sharding is part of a value's type. Give operands fitting shardings with ``reshard``, say
    what the result should be with ``out_sharding=``, or let the compiler choose with ``auto_axes``.
    """


class ForbiddenCollectiveError(Exception):
    """An operation would communicate along an axis that ``no_collectives`` names.

    The text names the operation and the axis. Keep the axis in the result, sharded or unreduced
    (``out_sharding=P(..., unreduced={axis})``), or do the operation outside of the context.
    """


class MissingRuleError(NotImplementedError):
    """A transformation met a primitive for which it has no rule.

    The text names the primitive, the table and the file in which the rule belongs. Add it there,
    or register one: ``tans_core.jvp.register(primitive, rule)``.
    """


class NotDifferentiableError(TypeError):
    """A derivative was asked of an operation that has none on purpose; the text says why."""


class InterfaceMismatchError(ImportError):
    """Packages of Tans that do not fit together are installed; the text has the pip command."""


_PAGES: Final = {
    name: cls
    for name, cls in list(globals().items())
    if isinstance(cls, type) and issubclass(cls, Exception) and name[0] != "_"
}


def help(name: str | type[Exception] | Exception) -> None:
    """Print the documentation page of an error class; works offline.

    Args:
      name: the class, its name, or an exception that was raised.

    Raises:
      KeyError: no such page; the text names the nearest ones.

    Example:
      >>> help("JaxprTypeError")
      JaxprTypeError
      <BLANKLINE>
      A jaxpr is ill-typed; found by the checker that ``enable_checks`` turns on.
    """
    if isinstance(name, Exception):
        name = type(name)
    key = name.__name__ if isinstance(name, type) else name
    if key not in _PAGES:
        raise KeyError(
            f"errors.help: given {key!r}, expected one of {', '.join(sorted(_PAGES))}"
            f"{did_you_mean(key, _PAGES)}."
        )
    print(f"{key}\n\n{inspect.getdoc(_PAGES[key])}")


__all__ = [
    "ConcretizationTypeError",
    "ForbiddenCollectiveError",
    "InconclusiveDimensionOperation",
    "InterfaceMismatchError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "NotDifferentiableError",
    "ShardingTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TracerLeakError",
    "TypePromotionError",
    "UnexpectedTracerError",
    "help",
    "message",
]
