"""What makes an exported program unsafe to keep, and how to allow it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, override

# Calls whose meaning later versions of jaxlib keep, by platform library.
_STABLE: Final = re.compile(
    r"lapack_[a-z]+_ffi|(cu|hip)solver_[a-z0-9]+_ffi|(cu|hip)sparse_[a-z0-9]+_ffi"
    r"|(cu|hip)blas_[a-z0-9_]+|(cu|hip)hybrid_[a-z0-9_]+|(cu|hip)_threefry2x32_ffi"
    r"|(cu|hip)_lu_pivots_to_permutation|(cu|hip)solver_lu_pivots_to_permutation"
    r"|lu_pivots_to_permutation|Eigh|Qr|ProductOfElementaryHouseholderReflectors"
    r"|LuDecomposition|ApproxTopK|stablehlo\.dynamic_[a-z_]+|shape_assertion"
    r"|Sharding|SPMDFullToShardShape|SPMDShardToFullShape|annotate_device_placement"
    r"|mhlo\.(erf|topk|atan2|asin|acos|sinh|cosh|asinh|acosh|atanh|tan)"
)
_CALLBACKS: Final = re.compile(r"xla_(ffi_)?(partitioned_)?python_\w+_callback|xla_python_\w+")


class DisabledSafetyCheck:
    """A check that `export` leaves out: made by `platform` or `custom_call`."""

    def __init__(self, _impl: str) -> None:
        self._impl = _impl

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """Allow calls on platforms that the program was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """Allow calls of a library function, whose meaning nobody guarantees."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the name of the allowed library function; None for other checks."""
        kind, _, name = self._impl.partition(":")
        return name if kind == "custom_call" else None

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    @override
    def __hash__(self) -> int:
        return hash(self._impl)

    @override
    def __repr__(self) -> str:
        return f"DisabledSafetyCheck({self._impl!r})"


def check_custom_calls(
    module: Any, name: str, disabled: Sequence[DisabledSafetyCheck], has_callbacks: bool
) -> None:
    """Check that a module calls only what will still be there.

    Raises:
      NotImplementedError: it calls back into Python.
      ValueError: it calls library functions that nobody keeps.
    """
    targets = sorted(set(_targets(module.operation)))
    callbacks = [t for t in targets if _CALLBACKS.fullmatch(t)]
    if callbacks or has_callbacks:
        raise NotImplementedError(
            f"export: given {name}, which calls Python functions (debug.print, callbacks); "
            "expected a program of operations alone, since Python functions can't be kept with "
            "it. Leave the callbacks out of what is exported."
        )
    allowed = {d.is_custom_call() for d in disabled}
    unknown = [t for t in targets if not _STABLE.fullmatch(t) and t not in allowed]
    if unknown:
        first = unknown[0]
        raise ValueError(
            f"export: given {name}, which has custom calls of {', '.join(map(repr, unknown))}, "
            "expected calls with a compatibility guarantee: others may be gone when the program is "
            "loaded. To allow it, pass "
            f"disabled_checks=[DisabledSafetyCheck.custom_call({first!r})]."
        )


def _targets(operation: Any) -> Iterator[str]:
    if operation.name == "stablehlo.custom_call":
        yield str(operation.attributes["call_target_name"]).strip('"')
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _targets(inner.operation)
