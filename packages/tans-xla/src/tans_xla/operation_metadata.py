"""Attributes of operations that XLA hands through its passes: ``mhlo.frontend_attributes``."""

from typing import Any, Final

from tans_xla._jaxlib import ir

_NAME: Final = "mhlo.frontend_attributes"


def set_attributes(operation: Any, metadata: tuple[tuple[str, Any], ...]) -> None:
    """Add attributes to an operation; those that it has stay.

    Args:
      operation: an operation of the module being built.
      metadata: names and values; bools and numbers become text.
    """
    attributes = operation.attributes
    found: dict[str, Any] = {name: ir.StringAttr.get(as_text(value)) for name, value in metadata}
    if _NAME in attributes:
        found |= {named.name: named.attr for named in ir.DictAttr(attributes[_NAME])}
    attributes[_NAME] = ir.DictAttr.get(found)


def as_text(value: Any) -> str:
    """Return a value as XLA reads it: true, 3, 0.5."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class tagged:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: add attributes to the operations that are emitted inside, not constants."""

    __slots__ = ("_block", "_last", "_metadata")

    def __init__(self, metadata: tuple[tuple[str, Any], ...] | None) -> None:
        self._metadata = metadata

    def __enter__(self) -> None:
        if self._metadata:
            self._block = ir.InsertionPoint.current.block
            self._last = len(list(self._block.operations))

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._metadata and kind is None:
            for operation in list(self._block.operations)[self._last :]:
                if operation.operation.name != "stablehlo.constant":
                    set_attributes(operation.operation, self._metadata)
