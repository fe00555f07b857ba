"""`ffi_call`: call a registered foreign function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tans_core import Primitive, ShapedArray, typeof
from tans_core.errors import message
from tans_core.explicit_mode import type_sharding
from tans_core.types import AbstractValue
from tans_xla.ffi.attributes import frozen

type Layout = Sequence[int] | None
type Result = Any

ffi_call_p: Final = Primitive("ffi_call", family=__name__, multiple_results=True)
VMAP_METHODS: Final = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)
_TYPED: Final = 4


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Layout] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = _TYPED,
    legacy_backend_config: str | None = None,
) -> Callable[..., Result]:
    """Return a function that calls a registered foreign function.

    Args:
      target_name: name given to `register_ffi_target`.
      result_shape_dtypes: an object with `shape` and `dtype` for one result, or a sequence of them.
      has_side_effect: whether the call stays when its results are unused.
      vmap_method: what vmap does: "sequential" and "sequential_unrolled" loop; "expand_dims" gives
        operands that are not mapped a leading dimension of size 1, "broadcast_all" of the full
        size, "legacy_vectorized" none. None refuses vmap.
      input_layouts: per operand its dimensions from major to minor, or None for row-major.
      output_layouts: the same for results.
      input_output_aliases: operand index to the index of the result that takes over its buffer; the
        types are the same.
      custom_call_api_version: 4 for typed handlers; lower for untyped ones, without attributes.
      legacy_backend_config: configuration of untyped handlers.

    Returns:
      A function of arrays by position, and of attributes by name: bool, int (64 bits), float (64
      bits), str, NumPy scalars and arrays, and dicts. It returns an array, or a tuple or list as
      `result_shape_dtypes` is one.

    Raises:
      ValueError: a result has no shape and dtype, layouts or aliases don't fit, or options of typed
        and untyped handlers are mixed.
      TypeError: an attribute has no form in the program.

    The call has no derivative, and is not split over devices; wrap it in a HiPrim for both.
    """
    single = not isinstance(result_shape_dtypes, tuple | list)
    results = [result_shape_dtypes] if single else list(result_shape_dtypes)
    avals = tuple(_result_type(i, r) for i, r in enumerate(results))
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            _text(
                target_name,
                f"vmap_method={vmap_method!r}",
                f"None or one of {', '.join(map(repr, VMAP_METHODS))}",
                "'sequential' works for every function.",
            )
        )
    if custom_call_api_version >= _TYPED and legacy_backend_config is not None:
        raise ValueError(
            _text(
                target_name,
                f"legacy_backend_config with custom_call_api_version={custom_call_api_version}",
                "attributes as keyword arguments of the call",
                "Leave legacy_backend_config out, or call an untyped handler (version below 4).",
            )
        )
    if single and output_layouts is not None:
        output_layouts = [output_layouts]

    def call(*args: Any, **attributes: Any) -> Result:
        if attributes and custom_call_api_version < _TYPED:
            raise ValueError(
                _text(
                    target_name,
                    f"the attributes {sorted(attributes)} with "
                    f"custom_call_api_version={custom_call_api_version}",
                    "no attributes: untyped handlers take none",
                    "Use legacy_backend_config, or a typed handler (version 4).",
                )
            )
        in_avals = [typeof(x) for x in args]
        outs = ffi_call_p.bind(
            *args,
            result_avals=avals,
            target_name=target_name,
            has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method,
            input_layouts=_orders(target_name, "input", input_layouts, in_avals),
            output_layouts=_orders(target_name, "output", output_layouts, avals),
            input_output_aliases=_aliases(target_name, input_output_aliases, in_avals, avals),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=frozen(target_name, attributes),
        )
        return outs[0] if single else type(result_shape_dtypes)(outs)

    return call


def _result_type(position: int, result: Any) -> AbstractValue:
    if isinstance(result, AbstractValue) and not isinstance(result, ShapedArray):
        return result
    if not (hasattr(result, "shape") and hasattr(result, "dtype")):
        raise ValueError(
            message(
                "ffi_call",
                f"result_shape_dtypes with {result!r} of type {type(result).__name__} at position "
                f"{position}",
                "objects that have a shape and a dtype",
                "Write jax.ShapeDtypeStruct(shape, dtype).",
            )
        )
    if isinstance(result, ShapedArray):
        return result.update(weak_type=False, manual_axes=frozenset())
    sharding = getattr(result, "sharding", None)
    if sharding is not None and hasattr(sharding, "spec"):
        sharding = type_sharding(sharding.mesh.abstract_mesh, sharding.spec, len(result.shape))
        return ShapedArray(result.shape, result.dtype, sharding=sharding)
    return ShapedArray(result.shape, result.dtype)


def _orders(
    target: str, what: str, layouts: Any, avals: Sequence[Any]
) -> tuple[tuple[int, ...], ...]:
    """Return layouts from minor to major, as the compiler has them."""
    if layouts is None:
        layouts = [None] * len(avals)
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
    order = tuple(range(ndim)) if layout is None else tuple(layout)
    if sorted(order) != list(range(ndim)):
        raise ValueError(
            _text(
                target,
                f"the layout {order} of {what}, of type {aval.str_short(False)}",
                f"an order of its {ndim} dimensions",
                "List each dimension once, from major to minor.",
            )
        )
    return order[::-1]


def _aliases(
    target: str, aliases: Mapping[int, int] | None, ins: Sequence[Any], outs: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    items = tuple((aliases or {}).items())
    for i, o in items:
        for what, index, avals in (("input", i, ins), ("output", o, outs)):
            if not 0 <= index < len(avals):
                raise ValueError(
                    _text(
                        target,
                        f"input_output_aliases with the {what} index {index}, outside range",
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
