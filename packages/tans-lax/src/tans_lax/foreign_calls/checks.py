"""What `ffi_call` checks before it records a call, and the forms in which params are kept."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tans_core import ShapedArray
from tans_core.errors import message
from tans_core.explicit_mode import type_sharding
from tans_core.types import AbstractValue

type Layout = Sequence[int] | None

VMAP_METHODS: Final = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)
_TYPED: Final = 4


def check_options(target: str, vmap_method: Any, version: Any, legacy_config: Any) -> None:
    """Check options that don't depend on the operands.

    Raises:
      TypeError: the target's name is no string.
      ValueError: an unknown `vmap_method` or version, or options that exclude each other.
    """
    if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            message(
                "ffi_call",
                f"target_name={target!r} of type {type(target).__name__}",
                "a string",
                "Pass the name given to register_ffi_target.",
            )
        )
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            _text(
                target,
                f"vmap_method={vmap_method!r}",
                f"None or one of {', '.join(map(repr, VMAP_METHODS))}",
                "'sequential' works for every function.",
            )
        )
    if type(version) is not int or not 0 <= version <= _TYPED:
        raise ValueError(
            _text(
                target,
                f"custom_call_api_version={version!r}",
                f"an int from 0 to {_TYPED}",
                "Leave it out for a typed handler.",
            )
        )
    if version == _TYPED and legacy_config is not None:
        raise ValueError(
            _text(
                target,
                f"legacy_backend_config with custom_call_api_version={version}",
                "attributes as keyword arguments of the call",
                "Leave legacy_backend_config out, or call an untyped handler (version below 4).",
            )
        )


def check_untyped(target: str, version: int, attributes: Mapping[str, Any]) -> None:
    """Raise ValueError for attributes of an untyped handler."""
    if attributes and version < _TYPED:
        raise ValueError(
            _text(
                target,
                f"the attributes {sorted(attributes)} with custom_call_api_version={version}",
                "no attributes: untyped handlers take none",
                "Use legacy_backend_config, or a typed handler (version 4).",
            )
        )


def result_type(target: str, position: int, result: Any) -> AbstractValue:
    """Return the type that is announced for a result.

    Raises:
      ValueError: it has no shape or dtype, or a negative size.
    """
    if isinstance(result, AbstractValue) and not isinstance(result, ShapedArray):
        return result
    if not (hasattr(result, "shape") and hasattr(result, "dtype")):
        raise ValueError(
            _text(
                target,
                f"result_shape_dtypes with {result!r} of type {type(result).__name__} at position "
                f"{position}",
                "objects that have a shape and a dtype",
                "Write jax.ShapeDtypeStruct(shape, dtype).",
            )
        )
    shape = tuple(result.shape)
    if any(type(n) is int and n < 0 for n in shape):
        raise ValueError(
            _text(
                target,
                f"a result of shape {shape} at position {position}",
                "sizes of at least 0",
                "Compute the shape from those of the operands.",
            )
        )
    if isinstance(result, ShapedArray):
        return result.update(weak_type=False, manual_axes=frozenset())
    sharding = getattr(result, "sharding", None)
    if sharding is not None and hasattr(sharding, "spec"):
        sharding = type_sharding(sharding.mesh.abstract_mesh, sharding.spec, len(shape))
        return ShapedArray(shape, result.dtype, sharding=sharding)
    return ShapedArray(shape, result.dtype)


def orders(
    target: str, what: str, layouts: Any, avals: Sequence[Any]
) -> tuple[tuple[int, ...], ...]:
    """Return layouts from minor to major, as the compiler has them."""
    if layouts is None:
        layouts = [None] * len(avals)
    if not hasattr(layouts, "__len__"):
        raise TypeError(
            _text(
                target,
                f"{what} layouts {layouts!r} of type {type(layouts).__name__}",
                f"a sequence with an order of dimensions per {what}",
                "Give None for row-major.",
            )
        )
    if len(layouts) != len(avals):
        raise ValueError(
            _text(
                target,
                f"{len(avals)} {what}s and {len(layouts)} {what} layouts",
                "equal numbers",
                "Give None for row-major.",
            )
        )
    return tuple(
        _order(target, f"{what} {i}", x, a)
        for i, (x, a) in enumerate(zip(layouts, avals, strict=True))
    )


def _order(target: str, what: str, layout: Any, aval: Any) -> tuple[int, ...]:
    ndim = getattr(aval, "ndim", 0)
    if hasattr(layout, "major_to_minor"):
        if getattr(layout, "tiling", None):
            raise ValueError(
                _text(target, f"a tiled layout of {what}", "an order of dimensions", "Drop it.")
            )
        layout = layout.major_to_minor
    order = tuple(layout) if hasattr(layout, "__iter__") else (layout,)
    if layout is None:
        order = range(ndim)
    if not all(hasattr(d, "__index__") for d in order) or sorted(order) != list(range(ndim)):
        raise ValueError(
            _text(
                target,
                f"the layout {layout!r} of {what}, of type {aval.str_short(False)}",
                f"an order of its {ndim} dimensions",
                "List each dimension once, from major to minor.",
            )
        )
    return tuple(map(int, order))[::-1]


def alias_pairs(
    target: str, aliases: Mapping[int, int] | None, ins: Sequence[Any], outs: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    """Return pairs of an operand's and a result's index.

    Raises:
      TypeError: it is no mapping.
      ValueError: an index is out of range, a result is aliased twice, or types differ.
    """
    if not isinstance(aliases, Mapping | None):
        raise TypeError(
            _text(
                target,
                f"input_output_aliases={aliases!r} of type {type(aliases).__name__}",
                "a dict from the index of an operand to that of a result",
                "Write {0: 0}.",
            )
        )
    items = tuple((aliases or {}).items())
    if len({o for _, o in items}) < len(items):
        raise ValueError(
            _text(
                target,
                f"input_output_aliases={dict(items)} with one result for two operands",
                "another result for each operand",
                "Alias one of the operands.",
            )
        )
    for i, o in items:
        for what, index, avals in (("input", i, ins), ("output", o, outs)):
            if type(index) is not int or not 0 <= index < len(avals):
                raise ValueError(
                    _text(
                        target,
                        f"input_output_aliases with the {what} index {index!r}, outside range",
                        f"at least 0 and less than {len(avals)}, the number of {what}s",
                        "Write {operand: result}.",
                    )
                )
        given, wanted = ins[i], outs[o]
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(
                _text(
                    target,
                    f"input_output_aliases of operand {i} of type {given.str_short(False)} and "
                    f"result {o} of type {wanted.str_short(False)}",
                    "equal types",
                    "Alias buffers of one type only.",
                )
            )
    return items


def _text(target: str, given: str, expected: str, remedy: str) -> str:
    return message(f"ffi_call of {target!r}", given, expected, remedy)
