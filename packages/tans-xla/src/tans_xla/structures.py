"""Where the structure of a tree differs from the one that was expected, for messages."""

from typing import Any, Final

from tans_core.tree_paths import Mismatch, prefix_mismatches

_LEAF: Final = type("leaf", (), {})()  # its type is called "a leaf"


def structure_mismatches(name: str, given: Any, expected: Any) -> str:
    """Return a line for each place where a structure differs from the expected one.

    Args:
      name: what the user knows the tree as.
      given: its structure, a `PyTreeDef`.
      expected: the structure that would have fitted.

    Example:
      >>> from tans_core.tree import registry
      >>> given, expected = registry.flatten({"a": 1})[1], registry.flatten({"b": 1})[1]
      >>> structure_mismatches("x", given, expected)
      "  x: given a dict without ['b'] and with the unknown keys ['a']; expected the keys ['b']."
    """
    try:
        one, other = (t.unflatten([_LEAF] * t.num_leaves) for t in (given, expected))
        found = list(prefix_mismatches(one, other))
        if not found:  # a leaf stands where a container was expected
            swapped = prefix_mismatches(other, one)
            found = [Mismatch(m.path, m.expected, m.given) for m in swapped]
    except Exception:  # a container of the user's that takes no placeholders
        found = []
    lines = [m.describe(name) for m in found] or [f"{name}: given {given}; expected {expected}."]
    return "\n".join(f"  {line}" for line in lines)
