"""Which tagged operations are left in an optimised program, and with which attributes."""

from collections.abc import Iterator
from typing import Any, NamedTuple, override

from tans_compiler import hlo_protos


class TaggedOperation(NamedTuple):
    """One operation with attributes.

    Attributes:
      name: its name in the program.
      opcode: such as ``sine`` or ``fusion``.
      attributes: name to value, both text.
      op_name: the scopes it was traced in and the operation it came from, such as ``jit(f)/sin``.
    """

    name: str
    opcode: str
    attributes: dict[str, str]
    op_name: str


class SurvivingTags(NamedTuple):
    """The tags of a program before and after optimisation.

    Attributes:
      platform: platform that the program was compiled for.
      before: tagged operations as lowered.
      after: tagged operations of the optimised program.
    """

    platform: str
    before: list[TaggedOperation]
    after: list[TaggedOperation]

    @property
    def lost(self) -> list[tuple[str, str]]:
        """Attributes (name, value) that no optimised operation carries."""
        kept = {pair for operation in self.after for pair in operation.attributes.items()}
        asked = {pair for operation in self.before for pair in operation.attributes.items()}
        return sorted(asked - kept)

    def carrying(self, name: str, value: Any = None) -> list[TaggedOperation]:
        """Return the optimised operations with an attribute of this name (and value)."""
        found = [op for op in self.after if name in op.attributes]
        return found if value is None else [op for op in found if op.attributes[name] == str(value)]

    @override
    def __str__(self) -> str:
        pairs = sorted({p for op in (*self.before, *self.after) for p in op.attributes.items()})
        lines = [f"tags on {self.platform}: asked for -> in the optimised program"]
        for pair in pairs:
            counts = [
                _counted(op.opcode for op in operations if pair in op.attributes.items())
                for operations in (self.before, self.after)
            ]
            name, value = (text if text.isprintable() else repr(text) for text in pair)
            lines.append(f"  {name}={value}: {counts[0]} -> {counts[1]}")
        return "\n".join(lines)


def surviving_tags(compiled: Any) -> SurvivingTags:
    """Compare the attributes that a program asks for with those of its optimised operations.

    XLA keeps attributes where its passes keep the operation; a fusion has those of its root. What
    survives differs between backends, so it has to be looked at.

    Args:
      compiled: what ``jit(f).lower(...).compile()`` returns, or the lowered program, which is
        compiled first.

    Raises:
      TypeError: something else, such as the function itself.
      ValueError: a program that was loaded from bytes, which has no lowered form.

    Example:
      >>> import tans_lax as lax
      >>> from tans_xla import jit
      >>> from tans_compiler import xla_metadata_call
      >>> tagged = xla_metadata_call(lambda x: lax.mul(lax.sin(x), lax.cos(x)), stage="body")
      >>> surviving_tags(jit(tagged).lower(1.0)).lost
      []
    """
    executable = compiled.compile() if hasattr(compiled, "compile") else compiled
    if not hasattr(executable, "_executable"):
        raise TypeError(
            f"surviving_tags: given {compiled!r} of type {type(compiled).__name__}, expected a "
            "compiled or lowered program. Pass jit(f).lower(...)."
        )
    lowered = executable._executable.lowered
    if lowered.module is None:
        raise ValueError(
            f"surviving_tags: given {lowered.name}, which was loaded from bytes, expected a "
            "program with its lowered form. Pass jit(f).lower(...)."
        )
    device = executable._executable.placement.devices[0]
    return SurvivingTags(
        device.platform,
        list(_lowered_tags(lowered.module.operation)),
        list(_tags_left(executable._executable.loaded)),
    )


def _tags_left(loaded: Any) -> Iterator[TaggedOperation]:
    for module in loaded.hlo_modules():
        for each in hlo_protos.instructions(module.as_serialized_hlo_module_proto()):
            if each.attributes:
                yield TaggedOperation(each.name, each.opcode, each.attributes, each.op_name)


def _lowered_tags(operation: Any) -> Iterator[TaggedOperation]:
    attributes = operation.attributes
    if "mhlo.frontend_attributes" in attributes:
        tags = {named.name: named.attr.value for named in attributes["mhlo.frontend_attributes"]}
        opcode = operation.name.split(".")[-1]
        yield TaggedOperation("", opcode, tags, "")
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _lowered_tags(inner.operation)


def _counted(opcodes: Iterator[str]) -> str:
    counts: dict[str, int] = {}
    for opcode in opcodes:
        counts[opcode] = counts.get(opcode, 0) + 1
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"
