"""`axis_index_groups`: a partition of an axis into groups that communicate among themselves."""

from collections.abc import Sequence

from tans_core.errors import message

type Groups = tuple[tuple[int, ...], ...] | None


def canonical_groups(where: str, groups: Sequence[Sequence[int]] | None, size: int) -> Groups:
    """Return groups as nested tuples after checking that they partition the axis.

    Args:
      where: the calling function.
      groups: lists of axis indices, or None for one group of all.
      size: number of elements along the axis.

    Raises:
      ValueError: an index is missing or occurs twice, or the groups differ in size.
    """
    if groups is None:
        return None
    canonical = tuple(tuple(int(i) for i in group) for group in groups)
    members = sorted(i for group in canonical for i in group)
    if members != list(range(size)):
        raise ValueError(
            message(
                where,
                f"axis_index_groups={groups!r} for an axis of size {size}",
                f"each index from 0 to {size - 1} exactly once",
                "Leave axis_index_groups out to use the whole axis.",
            )
        )
    if len({len(group) for group in canonical}) > 1:
        raise ValueError(
            message(
                where,
                f"axis_index_groups={groups!r}",
                "groups of equal size",
                "Split the axis evenly.",
            )
        )
    return canonical


def group_size(groups: Groups, size: int) -> int:
    """Return the number of members of each group."""
    return size if groups is None else len(groups[0])
