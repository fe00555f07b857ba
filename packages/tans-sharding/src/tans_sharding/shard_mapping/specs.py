"""`in_specs` and `out_specs`: from what users write to one spec per leaf, and their errors."""

import math
from collections.abc import Sequence
from typing import Any, Final

from tans_core import ShapedArray, tree
from tans_core.cache import register_cache
from tans_core.errors import message
from tans_core.explicit_mode import spec_of
from tans_core.hi_types import HiPspec, is_hi_type
from tans_core.manual_mode import in_mesh_order
from tans_core.mesh import AxisType
from tans_core.partition_spec import UNCONSTRAINED, PartitionSpec, partition_axes
from tans_core.spec_check import check_pspec
from tans_core.tree_paths import raise_prefix_error
from tans_lax.collectives import pvary_p
from tans_sharding.shard_mapping.boundary import restricted, spec_axes

type Axes = frozenset[Any]
type Value = Any


class _Infer:
    """The type of the mark that stands for "take the specs from the arguments' types"."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "sharding.Infer"


INFER: Final = _Infer()


def is_spec_leaf(x: Any) -> bool:
    """Whether a node of a tree of specs is a leaf."""
    return x is None or isinstance(x, PartitionSpec | HiPspec)


def spread(name: str, specs: Any, full: Any) -> list[Any]:
    """Return one spec per leaf of `full`, from a prefix tree.

    Raises:
      TypeError: a leaf is not a spec.
      ValueError: the trees do not fit.
    """
    flat, treedef = tree.flatten(specs, is_leaf=is_spec_leaf)
    if specs is None and not tree.leaves(full):
        return []
    for spec in flat:
        if not is_spec_leaf(spec) or (spec is None and name == "out_specs"):
            error = TypeError if spec is not None else ValueError
            raise error(
                message(
                    "shard_map",
                    f"{name}={specs!r} with the leaf {spec!r} of type {type(spec).__name__}",
                    "PartitionSpec entries",
                    "Write P() for values that are whole on every device.",
                )
            )
    try:
        subtrees = treedef.flatten_up_to(full)
    except ValueError as error:
        what = "tuple of arguments" if name == "in_specs" else "result"
        remedy = f"Let {name} have the containers of the {what}, or a prefix of them."
        raise_prefix_error("shard_map", name, specs, full, is_spec_leaf, remedy, error)
        raise AssertionError("unreachable") from None
    return [s for s, sub in zip(flat, subtrees, strict=True) for _ in tree.leaves(sub)]


def inferred(mesh: Any, axes: Axes, aval: Any) -> PartitionSpec:
    """Return the spec of an argument from its type."""
    del mesh
    return restricted(spec_of(aval), axes)


class Argument:
    """An argument as messages call it; the text is made when one is."""

    __slots__ = ("_aval", "_index", "_info")

    def __init__(self, info: Any, index: int, aval: Any) -> None:
        self._info = info
        self._index = index
        self._aval = aval

    def __str__(self) -> str:
        name = self._info.arg_names[self._index]
        return f"argument {name} of type {self._aval.str_short(False)}"


class Result:
    """A result as messages call it."""

    __slots__ = ("_aval", "_place")

    def __init__(self, place: tuple[int, int], aval: Any) -> None:
        self._place = place
        self._aval = aval

    def __str__(self) -> str:
        index, count = self._place
        name = f"result {index}" if count > 1 else "the result"
        return f"{name} of type {self._aval.str_short(False)}"


_CHECKED: Final[set[Any]] = set()
_CHECKED_LIMIT: Final = 1 << 14
register_cache(_CHECKED.clear)


def check_in_spec(mesh: Any, axes: Axes, spec: PartitionSpec, aval: Any, what: Argument) -> None:
    """Check the spec of one argument.

    Args:
      mesh: the abstract mesh outside.
      axes: the mapped axes.
      spec: the argument's spec.
      aval: its type.
      what: what it is called in messages.

    Raises:
      ValueError: the spec does not fit the mesh, the shape, or in explicit mode the type.
      NotImplementedError: unreduced or reduced along an axis while other axes are not mapped.
    """
    key = (mesh, axes, spec, aval)
    if key in _CHECKED:
        return
    _check_in_spec(mesh, axes, spec, aval, what)
    if len(_CHECKED) >= _CHECKED_LIMIT:
        _CHECKED.clear()
    _CHECKED.add(key)


def _check_in_spec(mesh: Any, axes: Axes, spec: PartitionSpec, aval: Any, what: Argument) -> None:
    if is_hi_type(aval) or isinstance(spec, HiPspec):
        check_user_spec(spec, aval, "in_specs", what)
        return
    check_fits_mesh(mesh, axes, spec, "in_specs", what)
    _check_shape(mesh, spec, aval, what)
    explicit = frozenset(mesh.explicit_axes) & axes
    own = restricted(spec_of(aval), explicit)
    given = restricted(spec, explicit)
    if own.padded(_ndim(aval)) is not given.padded(_ndim(aval)):
        raise ValueError(
            message(
                "shard_map",
                f"in_specs {spec!r} for {what}, which does not match the specs of its type, "
                f"{own!r}",
                "the same spec along Explicit axes",
                "Leave in_specs out, or reshard the argument before the call.",
            )
        )
    states = (spec.unreduced | spec.reduced) & axes
    free = [a for a in mesh.axis_names if a not in axes and a not in mesh.manual_axes]
    if states and free:
        raise NotImplementedError(
            message(
                "shard_map",
                f"{what} with unreduced or reduced axes {sorted(map(str, states))}, while "
                f"{free!r} are not mapped",
                "all axes of the mesh mapped",
                "Leave axis_names out, or reshard the argument to P() first.",
            )
        )


def check_user_spec(spec: Any, aval: Any, name: str, what: Any) -> None:
    """Raise TypeError unless a spec of a user type stands for a value of one."""
    if not (is_hi_type(aval) and isinstance(spec, HiPspec)):
        raise TypeError(
            message(
                "shard_map",
                f"{name} {spec!r} for {what}",
                "a HiPspec for a value of a user type, and a PartitionSpec for an array",
                "Write the spec that belongs to the type.",
            )
        )


def _ndim(aval: Any) -> int:
    return getattr(aval, "ndim", 0)


def check_fits_mesh(mesh: Any, axes: Axes, spec: PartitionSpec, name: str, what: Any) -> None:
    """Raise ValueError unless a spec names mapped axes only, each once."""
    named = spec_axes_and_states(spec, name, what)
    for axis in named:
        if axis not in axes:
            mapped = [a for a in mesh.axis_names if a in axes]
            raise ValueError(
                message(
                    "shard_map",
                    f"{name} {spec!r} for {what}, whose axis {axis!r} is not mapped",
                    f"the mapped axes {mapped!r}",
                    "Name the axis in axis_names, or leave it out: the types keep the others.",
                )
            )
    for axis in spec.unreduced | spec.reduced:
        if mesh.axis_type(axis) is AxisType.Auto:
            raise ValueError(
                message(
                    "shard_map",
                    f"{name} {spec!r} for {what}, unreduced or reduced along the Auto axis "
                    f"{axis!r}",
                    "Explicit axes there",
                    "Make the mesh with AxisType.Explicit, or cast inside with lax.pcast.",
                )
            )
    check_pspec(mesh, spec)


def spec_axes_and_states(spec: PartitionSpec, name: str, what: Any) -> list[Any]:
    """Return all axes that a spec names; refuses unconstrained entries."""
    if any(p is UNCONSTRAINED for p in spec.partitions):
        raise ValueError(
            message(
                "shard_map",
                f"{name} {spec!r} for {what} with P.UNCONSTRAINED",
                "None or axis names: every part must be known",
                "Write None for a dimension that is whole.",
            )
        )
    return [*spec_axes(spec), *spec.unreduced, *spec.reduced]


def _check_shape(mesh: Any, spec: PartitionSpec, aval: Any, what: Any) -> None:
    if len(spec.partitions) > _ndim(aval):
        raise ValueError(
            message(
                "shard_map",
                f"the spec {spec!r} for {what} with {_ndim(aval)} dimensions",
                f"at most {_ndim(aval)} entries",
                "Shorten the spec.",
            )
        )
    sizes = mesh.shape
    for d, partition in enumerate(spec.partitions):
        count = math.prod(sizes[a] for a in partition_axes(partition))
        if aval.shape[d] % count:
            raise ValueError(
                message(
                    "shard_map",
                    f"the spec {spec!r} for {what}, whose dimension {d} of size {aval.shape[d]} "
                    f"is not divisible by {count}",
                    "sizes that the mesh axes evenly divide",
                    "Pad the array, or leave the axis out of the spec.",
                )
            )


def settle_output(
    mesh: Any,
    axes: Axes,
    spec: PartitionSpec,
    x: Value,
    aval: Any,
    place: tuple[int, int],
    check: bool,
) -> Value:
    """Check one result inside the body against its spec; make it vary as the spec says.

    Raises:
      ValueError: the spec does not fit the mesh, the rank, or the states of the value.
    """
    what = Result(place, aval)
    if is_hi_type(aval) or isinstance(spec, HiPspec):
        check_user_spec(spec, aval, "out_specs", what)
        return x
    check_fits_mesh(mesh, axes, spec, "out_specs", what)
    if len(spec.partitions) > _ndim(aval):
        remedy = "Shorten the spec."
        if not _ndim(aval):
            remedy = "Give the value a dimension to line up along: x[None]."
        raise ValueError(
            message(
                "shard_map",
                f"out_specs {spec!r} for {what} with {_ndim(aval)} dimensions",
                f"at most {_ndim(aval)} entries",
                remedy,
            )
        )
    if not isinstance(aval, ShapedArray):
        return x
    _check_states(axes, spec, aval, what)
    if not check:
        return x
    named = spec_axes(spec)
    extra = (aval.manual_axes & axes) - named
    if extra:
        raise ValueError(
            message(
                "shard_map",
                f"out_specs {spec!r} for {what}, for which it can't be statically inferred that "
                f"the value is the same along {sorted(map(str, extra))}",
                "a value that does not vary along axes that the spec leaves out",
                "Reduce it (lax.psum, lax.pmax, lax.all_gather(..., to='invarying')), name the "
                "axes in the spec, or pass check_vma=False.",
            )
        )
    missing = named - aval.manual_axes
    return pvary_p.bind(x, axes=in_mesh_order(missing)) if missing else x


def _check_states(axes: Axes, spec: PartitionSpec, aval: Any, what: Any) -> None:
    own = spec_of(aval)
    for name, given, found in (
        ("unreduced", spec.unreduced, own.unreduced & axes),
        ("reduced", spec.reduced, own.reduced & axes),
    ):
        if given != found:
            raise ValueError(
                message(
                    "shard_map",
                    f"out_specs {spec!r} for {what}, which is {name} along "
                    f"{sorted(map(str, found))}",
                    f"the same {name} axes in both",
                    "Cast the value inside with lax.pcast, or reduce it with lax.psum.",
                )
            )


def check_names(axis_names: Any, mesh: Any) -> Axes:
    """Return the axes to map.

    Raises:
      TypeError: not a set.
      ValueError: an unknown axis, or one that is manual already.
    """
    if not isinstance(axis_names, set | frozenset):
        raise TypeError(
            message(
                "shard_map",
                f"axis_names={axis_names!r} of type {type(axis_names).__name__}",
                "a set of axis names",
                "Write axis_names={'x'}.",
            )
        )
    unknown = [a for a in axis_names if a not in mesh.axis_positions]
    if unknown:
        raise ValueError(
            message(
                "shard_map",
                f"axis_names={set(axis_names)!r}, of which {unknown[0]!r} is no axis of {mesh}",
                f"axes among {mesh.axis_names!r}",
                "Name axes of the mesh.",
            )
        )
    again = [a for a in axis_names if a in mesh.manual_axes]
    axes = frozenset(axis_names) or frozenset(mesh.axis_names) - frozenset(mesh.manual_axes)
    if again or not axes:
        raise ValueError(
            message(
                "shard_map",
                f"axes {again or list(mesh.axis_names)!r}, which are manual already in {mesh}",
                "axes that no shard_map around maps",
                "Map other axes inside, with axis_names.",
            )
        )
    return axes


def check_inferable(mesh: Any, axes: Axes) -> None:
    """Raise TypeError unless all mapped axes are Explicit."""
    other: Sequence[Any] = [a for a in axes if mesh.axis_type(a) is not AxisType.Explicit]
    if other:
        raise TypeError(
            message(
                "shard_map",
                f"no in_specs, while the axes {sorted(map(str, other))} of {mesh} are not Explicit",
                "a PartitionSpec per argument, since types do not say how values lie",
                "Pass in_specs=P(...).",
            )
        )
