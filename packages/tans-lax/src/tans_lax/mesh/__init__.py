"""Operations that move values between shardings: `reshard` and `with_sharding_constraint`."""

from typing import Any, Final

from tans_core import Primitive, tree, typeof
from tans_core.explicit_mode import spec_of
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.sharding import NamedSharding, named_sharding
from tans_lax.mesh.specs import as_named, check_axes, mesh_of

type Value = Any

reshard_p: Final = Primitive("reshard", family=__name__)
"""Params: dst_sharding, a `NamedSharding` over an abstract mesh. Changes the type."""
sharding_constraint_p: Final = Primitive("sharding_constraint", family=__name__)
"""Params: sharding, a `NamedSharding`. The compiler must follow it; the type stays."""


def reshard_array(x: Value, sharding: PartitionSpec | NamedSharding) -> Value:
    """Give one array a type with another sharding; its value stays.

    Args:
      x: array, any shape; may be unreduced or reduced.
      sharding: a spec under a mesh in context, or a `NamedSharding`. It names explicit axes only.

    Returns:
      The array; the compiler inserts the collective that the change needs.

    Raises:
      ValueError: a spec without a mesh, an axis that is not explicit, a spec longer than the
        rank, or a change between unreduced states that can't be made.
    """
    target = as_named(sharding, x, "reshard")
    check_axes(target, "reshard")
    return reshard_p.bind(x, dst_sharding=target)


def reshard_to_type(x: Value, aval: Any) -> Value:
    """Give an array the sharding of a type of the same shape; free when it has it."""
    own = typeof(x)
    target = getattr(aval, "_sharding", None)
    current = getattr(own, "_sharding", None)
    if current is target:
        return x
    if target is None:
        target = named_sharding(current.mesh, PartitionSpec(*(None,) * own.ndim))
    return reshard_p.bind(x, dst_sharding=target)


def whole(x: Value) -> Value:
    """Return a value with a type without sharding; values of other classes as they are.

    An operation whose result's sharding is asked for, but that has no rule for it, works on these.
    """
    sharding = getattr(getattr(x, "aval", None), "_sharding", None)
    return x if sharding is None else reshard_to_type(x, x.aval.update(sharding=None))


def as_factor(x: Value, ct: Value) -> Value:
    """Return the factor of a cotangent: reduced along the axes along which that is unreduced.

    A scalar that multiplied a reduced value is replicated, and counts as reduced there.
    """
    sharding = getattr(getattr(ct, "aval", None), "_sharding", None)
    if sharding is None or not sharding.spec.unreduced:
        return x
    own = spec_of(typeof(x))
    missing = sharding.spec.unreduced - own.reduced - own.unreduced
    if not missing:
        return x
    target = own.update(reduced=own.reduced | missing)
    return reshard_p.bind(x, dst_sharding=named_sharding(sharding.mesh, target))


def reshard_seed(x: Value, aval: Any) -> Value:
    """Return the constant that starts a backward pass, with the sharding of the type `aval`.

    In explicit mode the change is an equation even when it is free, so that where a backward pass
    starts can be seen.
    """
    mesh = mesh_of(aval)
    if mesh is None or not mesh.explicit_axes:
        return x
    target = aval._sharding or named_sharding(mesh, PartitionSpec(*(None,) * aval.ndim))
    return reshard_p.bind(x, dst_sharding=target)


def with_sharding_constraint(x: Value, shardings: Any) -> Value:
    """Constrain how the compiler shards values over Auto axes; assert it for Explicit ones.

    Args:
      x: tree of arrays, any shapes.
      shardings: tree prefix of specs (under a mesh in context) or `NamedSharding`.

    Returns:
      A tree like `x`.

    Raises:
      AssertionError: all axes are explicit, and an array's type has another spec.
      ValueError: a spec without a mesh, or one that names an Explicit axis of a mixed mesh.
    """
    leaves, treedef = tree.flatten(x)
    targets = tree.broadcast_prefix(shardings, x, is_leaf=_is_sharding)
    pairs = zip(leaves, targets, strict=True)
    return tree.unflatten(treedef, [x if s is None else _constrain(x, s) for x, s in pairs])


def _is_sharding(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec | NamedSharding)


def _constrain(x: Value, sharding: Any) -> Value:
    target = as_named(sharding, x, "with_sharding_constraint")
    mesh = target.mesh
    if mesh.are_all_axes_explicit:
        own = spec_of(typeof(x))
        if own is not target.spec.padded(typeof(x).ndim):
            raise AssertionError(
                f"with_sharding_constraint: given {target.spec!r} for a value of type "
                f"{typeof(x).str_short()}; on a mesh of Explicit axes it acts as an assert, and "
                f"expected the spec {own!r}. Use reshard to change the sharding."
            )
        return x
    named = [a for a in (*mesh.explicit_axes, *mesh.manual_axes) if a in _axes(target.spec)]
    if named:
        raise ValueError(
            f"with_sharding_constraint: given {target.spec!r}, which names the "
            f"{mesh.axis_type(named[0])!r} axis {named[0]!r} of {mesh}; expected Auto axes. Use "
            "reshard for Explicit axes; along Manual axes the program sees its own part only."
        )
    return sharding_constraint_p.bind(x, sharding=target)


def _axes(spec: PartitionSpec) -> set[Any]:
    return {a for p in spec.partitions for a in partition_axes(p)} | spec.unreduced | spec.reduced
