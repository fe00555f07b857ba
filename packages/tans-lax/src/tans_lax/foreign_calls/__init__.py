"""`ffi_call`: call a registered foreign function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.foreign_calls.checks import (
    alias_pairs,
    check_options,
    check_untyped,
    orders,
    result_type,
)
from tans_xla.ffi.attributes import frozen
from tans_xla.ffi.lowering import in_memory

type Layout = Sequence[int] | None
type Result = Any

ffi_call_p: Final = Primitive("ffi_call", family=__name__, multiple_results=True)


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Layout] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
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
    name = target_name
    single = not isinstance(result_shape_dtypes, tuple | list)
    results = [result_shape_dtypes] if single else list(result_shape_dtypes)
    avals = tuple(result_type(name, i, r) for i, r in enumerate(results))
    check_options(name, vmap_method, custom_call_api_version, legacy_backend_config)
    if single and output_layouts is not None:
        output_layouts = [output_layouts]

    def call(*args: Any, **attributes: Any) -> Result:
        check_untyped(name, custom_call_api_version, attributes)
        in_avals = [in_memory(typeof(x)) for x in args]
        outs = ffi_call_p.bind(
            *args,
            result_avals=avals,
            target_name=name,
            has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method,
            input_layouts=orders(name, "input", input_layouts, in_avals),
            output_layouts=orders(name, "output", output_layouts, avals),
            input_output_aliases=alias_pairs(name, input_output_aliases, in_avals, avals),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=frozen(name, attributes),
        )
        if single:
            return outs[0]
        make: Any = type(result_shape_dtypes)
        return make(*outs) if hasattr(make, "_fields") else make(outs)

    return call
