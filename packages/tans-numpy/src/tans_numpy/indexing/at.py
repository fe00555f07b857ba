"""``x.at[index]``: updates of single places, as functions that return a new array."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core import Array, tree, typeof
from tans_core.promotion import join, weak_dtype_of
from tans_lax.axis_types.placed import with_out_sharding
from tans_lax.gather_scatter import GatherScatterMode
from tans_numpy.indexing.arguments import fill_scalar
from tans_numpy.indexing.eager import get_eager, is_eager
from tans_numpy.indexing.entries import parse
from tans_numpy.indexing.get import FILL, PROMISE, Options, get, get_parsed
from tans_numpy.indexing.strategies import STRATEGIES, check_strategy, with_known_windows
from tans_numpy.indexing.update import apply_repeated, is_unrepeated
from tans_numpy.indexing.writes import write

type Value = Any  # an array, a Python scalar or a tracer
type Mode = str | GatherScatterMode | None

_WRITE: Final = Options(mode=FILL)


def _method(name: str, summary: str, values: str, example: str) -> Callable[..., Array]:
    def update(
        self: Any,
        values: Value,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        return self._write(
            name,
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    update.__name__ = name
    update.__qualname__ = f"_IndexUpdateRef.{name}"
    update.__doc__ = f"""{summary}

        Args:
          values: {values}; broadcast to the shape of ``x[index]`` and converted to the dtype of the
            array, with a FutureWarning if that loses information.
          indices_are_sorted: promise that the indices ascend.
          unique_indices: promise that no place is named twice.
          mode: see the class.
          out_sharding: sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          A new array of the shape{" and dtype" if name != "divide" else ""} of the array.

        Raises:
          ValueError: unknown mode, or values that do not broadcast.

        Example:
          >>> {example}
        """
    return update


class _IndexUpdateHelper:
    """What ``x.at`` returns; index it."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> "_IndexUpdateRef":
        return _IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class _IndexUpdateRef:
    """Places of an array; the methods return a new array or what is at the places.

    Keywords that the methods share:

    * `indices_are_sorted`, `unique_indices`: promises that allow faster code.
    * `mode`: what happens out of bounds: ``'clip'`` moves indices inside; ``'fill'`` or ``'drop'``
      fills what is read and drops what is written; ``'promise_in_bounds'`` does not check. None
      clips what is read and drops what is written.
    * `wrap_negative_indices`: whether negative indices count from the end.
    * `out_sharding`: sharding of the result.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Value, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
        strategy: str = "auto",
    ) -> Array:
        """Read the places; ``x[index]`` with control over what happens out of bounds.

        Args:
          indices_are_sorted: promise that the indices ascend.
          unique_indices: promise that no place is read twice.
          mode: see the class.
          fill_value: scalar for places out of bounds if `mode` is ``'fill'``; None is nan, the
            lowest signed, the highest unsigned integer, or True.
          out_sharding: sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.
          strategy: "auto" or "gather" for any index; "static_slice" for ints in bounds and slices
            that are known while tracing; "dynamic_slice" for scalars and slices without steps.
            The fastest operation for the index is chosen in any case. Windows made by `ds` are
            slices, which end where the array does, if all of the index is known, unless it is
            "gather".

        Raises:
          IndexError: an int out of bounds for a static slice.
          TypeError: an index that is not of the kind that `strategy` says.
          ValueError: unknown mode or strategy, a fill value that is not a scalar, or a mode that
            slices do not have.

        Example:
          >>> jnp.arange(3.0).at[7].get(mode="fill", fill_value=-1).tolist()
          -1.0
        """
        if strategy not in STRATEGIES:
            raise ValueError(
                f"get: given strategy={strategy!r}, expected 'auto', 'gather', 'static_slice' or "
                "'dynamic_slice'. Leave it out."
            )
        options = Options(
            PROMISE if mode is None else GatherScatterMode.from_any(mode),
            fill_scalar(fill_value),
            indices_are_sorted,
            unique_indices,
            wrap_negative_indices,
        )
        x, index = self.array, self.index
        if strategy != "gather" and options.mode is not FILL:
            index = with_known_windows(index)
        if strategy not in ("auto", "gather"):
            parsed = parse(index, x.shape)
            check_strategy(
                strategy, parsed.entries, parsed.expanded(x.shape), options.mode, options.wrap
            )
        if out_sharding is not None:
            return _placed("get", x, index, (), options, out_sharding)
        return get_eager(x, index, options) if is_eager(x) else get(x, index, options)

    def apply(
        self,
        func: Callable[[Value], Value],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Apply an elementwise function at the places, once for each time a place is named.

        Args:
          func: maps an array to one of the same shape and dtype, element by element.
          indices_are_sorted: promise that the indices ascend.
          unique_indices: promise that no place is named twice.
          mode: see the class.
          wrap_negative_indices: whether negative indices count from the end.

        Raises:
          TypeError: `func` changes the dtype.
          ValueError: unknown mode, or `func` changes the shape.

        Example:
          >>> jnp.arange(3.0).at[1:].apply(lambda v: v * v).tolist()
          [0.0, 1.0, 4.0]
        """
        mode = GatherScatterMode.from_any(mode)
        options = Options(mode, None, indices_are_sorted, unique_indices, wrap_negative_indices)
        x = self.array
        parsed = parse(self.index, x.shape)
        if not is_unrepeated(parsed, options):
            return apply_repeated(x, parsed, func, options)
        read = options._replace(mode=GatherScatterMode.CLIP)
        old = get_eager(x, self.index, read) if is_eager(x) else get_parsed(x, parsed, read)
        new = func(old)
        if join(weak_dtype_of(x), weak_dtype_of(new))[0] != x.dtype:
            raise TypeError(
                f"x.at[...].apply: given a function that returns {typeof(new).str_short()} for an "
                f"array of dtype {x.dtype}, expected that dtype. Convert its result with astype."
            )
        return write(x, self.index, "set", new, options)

    def _write(
        self,
        method: str,
        values: Value,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Mode,
        out_sharding: Any,
        wrap: bool,
    ) -> Array:
        options = _WRITE
        if mode is not None or indices_are_sorted or unique_indices or not wrap:
            mode = GatherScatterMode.from_any(mode)
            options = Options(mode, None, indices_are_sorted, unique_indices, wrap)
        if out_sharding is not None:
            return _placed(method, self.array, self.index, (values,), options, out_sharding)
        return write(self.array, self.index, method, values, options)

    set = _method(
        "set",
        "Write values; which write lasts at a place named twice is unspecified.",
        "array or scalar",
        "jnp.arange(3).at[0].set(7).tolist()\n          [7, 1, 2]",
    )
    add = _method(
        "add",
        "Add values; those for one place add up.",
        "array or scalar",
        "jnp.arange(3).at[jnp.array([0, 0])].add(1).tolist()\n          [2, 1, 2]",
    )
    subtract = _method(
        "subtract",
        "Subtract values; those for one place all count.",
        "array or scalar",
        "jnp.arange(3).at[1:].subtract(1).tolist()\n          [0, 0, 1]",
    )
    multiply = _method(
        "multiply",
        "Multiply by values; those for one place all count.",
        "array or scalar",
        "jnp.arange(3).at[1:].multiply(3).tolist()\n          [0, 3, 6]",
    )
    mul = multiply
    divide = _method(
        "divide",
        "Divide by values; an integer array becomes one of floats.",
        "array or scalar",
        "jnp.arange(3).at[1].divide(2).tolist()\n          [0.0, 0.5, 2.0]",
    )
    power = _method(
        "power",
        "Raise to powers; those for one place multiply.",
        "array or scalar",
        "jnp.arange(3).at[2].power(3).tolist()\n          [0, 1, 8]",
    )
    min = _method(
        "min",
        "Take the minimum with values.",
        "array or scalar",
        "jnp.arange(3).at[2].min(1).tolist()\n          [0, 1, 1]",
    )
    max = _method(
        "max",
        "Take the maximum with values.",
        "array or scalar",
        "jnp.arange(3).at[0].max(5).tolist()\n          [5, 1, 2]",
    )


def _placed(
    method: str, x: Value, index: Any, values: tuple[Value, ...], options: Options, sharding: Any
) -> Array:
    """Read or write places so that the result lies as `sharding` says."""
    leaves, treedef = tree.flatten(index, is_leaf=_is_index)
    # Masks are part of the program: the shape of what they select depends on them.
    moving = [_is_array(v) and v.dtype != np.bool_ for v in leaves]
    fixed = tuple(_Fixed(_HERE if m else v) for v, m in zip(leaves, moving, strict=True))
    arrays = [v for v, m in zip(leaves, moving, strict=True) if m]
    static = _Places(method, len(values), treedef, fixed, options)
    return with_out_sharding(_at_places, [x, *values, *arrays], static, sharding)


class _Places(NamedTuple):
    """What is done where: all but the arrays."""

    method: str
    num_values: int
    treedef: Any
    fixed: tuple["_Fixed", ...]
    options: Options


class _Fixed:
    """A part of an index that is not traced: an integer, a slice, a mask."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        mask = np.asarray(value) if _is_array(value) else None
        self.key = (type(value), value if mask is None else (mask.shape, mask.tobytes()))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self.key == other.key


_HERE: Final = "an array"


def _is_array(x: Any) -> bool:
    return isinstance(x, Array | np.ndarray)


def _at_places(static: _Places, x: Value, *rest: Value) -> Array:
    values, arrays = rest[: static.num_values], iter(rest[static.num_values :])
    leaves = [next(arrays) if f.value is _HERE else f.value for f in static.fixed]
    index = tree.unflatten(static.treedef, leaves)
    if static.method == "get":
        return get_parsed(x, parse(index, x.shape), static.options)
    return write(x, index, static.method, values[0], static.options)


def _is_index(x: Any) -> bool:
    # Slices may hold arrays nowhere; None and Ellipsis are indices and not empty trees.
    return x is None or isinstance(x, slice)


at: Final = property(_IndexUpdateHelper, doc="Updates of single places: ``x.at[index].set(y)``.")
