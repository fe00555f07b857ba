"""Errors of compiler options: which function, which option, and what it may be."""

import re
from typing import Any, Final

from tans_compiler import xla_flags
from tans_compiler._jaxlib import JaxRuntimeError
from tans_core.spelling import did_you_mean

_UNKNOWN: Final = re.compile(r"No such compile option: '([^']*)'")
_BAD_VALUE: Final = re.compile(r"While setting option (\w+), '(.*)' is not a valid (\w+) value")
_EXAMPLES: Final = {
    "bool": "True or False",
    "int32": "an int",
    "int64": "an int",
    "float": "a float such as 1.0; an int is not one",
    "double": "a float such as 1.0; an int is not one",
    "string": "a str",
    "enum": "the name of one of its values, as a str in capitals",
    "message": "nothing from here: it holds a structure. Leave it out",
}
_OUR_NAMES: Final = (
    "optimization_level",
    "memory_fitting_level",
    "individually_defined_output_indices",
)


def explain_failure(error: Exception, request: Any) -> Exception | None:
    """Return a fuller error for a failure that a compiler option caused, or None.

    Args:
      error: what the compiler raised.
      request: the compilation, a `tans_xla.compile.Request`.
    """
    text = str(error)
    unknown, bad = _UNKNOWN.search(text), _BAD_VALUE.search(text)
    if unknown is None and bad is None:
        return None
    first = text.splitlines()[0].rstrip(".")
    if unknown is not None:
        remedy = _remedy_for_unknown(unknown[1])
    else:
        assert bad is not None
        kind = bad[3]
        remedy = f"expected {_EXAMPLES.get(kind, f'a value of kind {kind}')}."
    return JaxRuntimeError(
        f"{first}. It is an option of the compilation of {request.name}; {remedy}"
    )


def _remedy_for_unknown(name: str) -> str:
    if name.startswith("-"):
        return f"names have no dashes in front: write {name.lstrip('-')!r}."
    near = did_you_mean(name, [*xla_flags.known(), *_OUR_NAMES])
    backend = ""
    if name.startswith("xla_tpu_"):
        backend = " Options that start with xla_tpu_ exist in compilations for TPUs only."
    return (
        f"expected a flag of XLA as this backend knows it{near}.{backend} "
        "Correct the name, or remove the option."
    )
