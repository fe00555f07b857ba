"""`Exported`: a compiled function's program as an object that can be kept and called."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff import custom_vjp
from tans_compiler._jaxlib import from_portable
from tans_compiler.exporting.calls import call_exported_p
from tans_compiler.exporting.checks import DisabledSafetyCheck
from tans_compiler.exporting.serialization import pack
from tans_compiler.symbolic import is_symbolic_dim
from tans_compiler.symbolic.solving import solve
from tans_core import ShapedArray, dtypes, tree, typeof
from tans_core.mesh import AbstractMesh, Mesh
from tans_core.sharding import named_sharding
from tans_xla.mlir_context import use_context
from tans_xla.sizes import is_always_at_least


@dataclasses.dataclass(frozen=True, eq=False)
class Exported:
    """A program with its calling convention.

    Attributes:
      fun_name: name of the function.
      in_tree: structure of ``(args, kwargs)``.
      in_avals: types of the flat arguments.
      out_tree: structure of the result.
      out_avals: types of the flat results.
      in_shardings_hlo: compiler's sharding per argument; None where there is none.
      out_shardings_hlo: the same for results.
      nr_devices: number of devices that it runs on.
      platforms: names of the platforms that it runs on.
      ordered_effects: always empty: programs with effects can't be exported.
      unordered_effects: the same.
      disabled_safety_checks: the checks that were left out.
      mlir_module_serialized: the program as portable StableHLO.
      calling_convention_version: of main's arguments.
      module_kept_var_idx: numbers of the arguments that main takes.
      uses_global_constants: whether main takes the number of the platform first.
    """

    fun_name: str
    in_tree: Any
    in_avals: tuple[ShapedArray, ...]
    out_tree: Any
    out_avals: tuple[ShapedArray, ...]
    _in_named_shardings: tuple[Any, ...]
    _out_named_shardings: tuple[Any, ...]
    in_shardings_hlo: tuple[Any, ...]
    out_shardings_hlo: tuple[Any, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Any, ...]
    unordered_effects: tuple[Any, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[["Exported"], "Exported"] | None

    def __repr__(self) -> str:
        types = ", ".join(a.str_short() for a in self.in_avals)
        return f"<Exported {self.fun_name}({types}) for {', '.join(self.platforms)}>"

    def mlir_module(self, serialized: bool = True) -> Any:
        """Return the StableHLO module as text, or as an MLIR module with ``serialized=False``."""
        with use_context() as mlir:
            module = self.module_in(mlir.context)
            return str(module) if serialized else module

    def module_in(self, context: Any) -> Any:
        """Return the module in an MLIR context."""
        return from_portable(self.mlir_module_serialized, context)

    def has_vjp(self) -> bool:
        """Whether there is a backward pass."""
        return self._get_vjp is not None

    def vjp(self) -> "Exported":
        """Return the backward pass: from flat arguments and cotangents to cotangents.

        It takes the flat arguments, then a cotangent for each result of inexact dtype, and returns
        a cotangent for each argument of inexact dtype.

        Raises:
          ValueError: the program was serialised without it.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"vjp of exported {self.fun_name}: given a program without a backward pass (No VJP "
                "is available), expected one that was serialised with it. Write "
                "exported.serialize(vjp_order=1)."
            )
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the program as bytes, for `deserialize`.

        Args:
          vjp_order: how often what is loaded can be differentiated.

        Raises:
          ValueError: a container class is not registered, there is no backward pass, or a
            negative order.
          TypeError: an order that is no int.
        """
        if not isinstance(vjp_order, int) or isinstance(vjp_order, bool):
            raise TypeError(
                f"exported.serialize: given vjp_order={vjp_order!r} of type "
                f"{type(vjp_order).__name__}, expected an int. Write vjp_order=1 for gradients."
            )
        if vjp_order < 0:
            raise ValueError(
                f"exported.serialize: given vjp_order={vjp_order}, expected 0 or more. Write "
                "vjp_order=1 for gradients."
            )
        return pack(self, vjp_order)

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh | None = None) -> Sequence[Any]:
        """Return the shardings of the arguments over a mesh; None where there is none."""
        return [_over(s, mesh) for s in self._in_named_shardings]

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> Sequence[Any]:
        """Return the shardings of the results over a mesh; None where there is none."""
        return [_over(s, mesh) for s in self._out_named_shardings]

    def in_placement(self, i: int) -> Any:
        """Return the sharding that argument `i` is brought to in a call, or None."""
        return self._in_named_shardings[i] if self.nr_devices > 1 else None

    def out_placement(self, i: int) -> Any:
        """Return the sharding of result `i` after a call, or None."""
        return self._out_named_shardings[i] if self.nr_devices > 1 else None

    def result_types(self, in_avals: Sequence[Any]) -> tuple[Any, ...]:
        """Return the types of the results of a call with arguments of these types.

        Raises:
          ValueError: the types are not those that it was exported for.
        """
        if not self.is_symbolic:
            return self.out_avals
        sizes = self._sizes(in_avals)
        return tuple(
            a.update(shape=tuple(d.evaluate(sizes) if is_symbolic_dim(d) else d for d in a.shape))
            for a in self.out_avals
        )

    @property
    def is_symbolic(self) -> bool:
        """Whether some argument has a symbolic size."""
        return any(is_symbolic_dim(d) for a in self.in_avals for d in a.shape)

    def _sizes(self, given: Sequence[Any]) -> dict[str, Any]:
        """Return the size of each name in a call with arguments of these types.

        Raises:
          ValueError: no sizes give these shapes, or they violate a constraint.
        """
        where = f"call of exported {self.fun_name}"
        pairs = [
            (dim, size)
            for own, aval in zip(self.in_avals, given, strict=True)
            for dim, size in zip(own.shape, aval.shape, strict=True)
            if is_symbolic_dim(dim)
        ]

        def divide(value: Any, factor: int, name: str) -> Any:
            quotient, remainder = divmod(value, factor)
            if remainder:
                raise ValueError(
                    f"{where}: given a size for which '{name}' is {value} / {factor}, which leaves "
                    f"a remainder of {remainder}; expected a multiple of {factor}. Pad it."
                )
            return quotient

        sizes = solve(pairs, divide)
        wrong = [
            f"'{dim}' is {dim.evaluate(sizes)} for {sizes}, but the argument has size {size}"
            for dim, size in pairs
            if dim.evaluate(sizes) != size
        ]
        for dim, sign, text in pairs[0][0].scope.checks(set(sizes)):
            value = dim.evaluate(sizes)
            if not (is_always_at_least(value, 0) if sign == ">=" else value == 0):
                wrong.append(f"{text} ('{dim}' {sign} 0), but '{dim}' is {value}")
        if wrong:
            own = ", ".join(a.str_short() for a in self.in_avals)
            raise ValueError(
                f"{where}: given shapes for which {'; '.join(wrong)}; expected shapes that fit "
                f"{own}. Change the argument, or export the function with other constraints."
            )
        return sizes

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, or put it into the program that is being traced.

        Raises:
          ValueError: other structure, shapes or dtypes than it was exported for, another platform
            or number of devices; or it is differentiated and has no backward pass.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise ValueError(
                f"call of exported {self.fun_name}: given arguments of structure {in_tree}, "
                f"expected {self.in_tree}. Pass what it was exported with."
            )
        given = [typeof(x) for x in leaves]
        self._check_types(given)
        if self.is_symbolic:
            self._sizes(given)
        return self.out_tree.unflatten(_differentiable(self)(*leaves))

    def _check_types(self, given: Sequence[Any]) -> None:
        names = argument_names(self.in_tree)
        for name, aval, own in zip(names, given, self.in_avals, strict=True):
            if aval.dtype != own.dtype:
                raise ValueError(
                    f"call of exported {self.fun_name}: Dtype mismatch for {name}: given "
                    f"{aval.dtype}, expected {own.dtype}. Convert it with .astype, or export the "
                    "function for this dtype."
                )
            if len(aval.shape) != len(own.shape):
                raise ValueError(
                    f"call of exported {self.fun_name}: Rank mismatch for {name}: given shape "
                    f"{aval.shape}, expected {own.shape}. Reshape it."
                )
            for i, (size, expected) in enumerate(zip(aval.shape, own.shape, strict=True)):
                if isinstance(expected, int) and size != expected:
                    raise ValueError(
                        f"call of exported {self.fun_name}: Shape mismatch for {name}.shape[{i}] "
                        f"(a constant): given shape {aval.shape}, expected {own.shape}. Export the "
                        "function for this shape, or with a symbolic dimension there."
                    )


def argument_names(in_tree: Any) -> list[str]:
    """Return the name of each argument, such as ``args[0]['w']``."""
    marked = in_tree.unflatten(range(in_tree.num_leaves))
    paths = tree.registry.flatten_with_path(marked)[0]
    return [
        f"{'kwargs' if path[0].idx else 'args'}{''.join(map(str, path[1:]))}" for path, _ in paths
    ]


def is_inexact(aval: Any) -> bool:
    """Whether values of a type have tangents."""
    return dtypes.is_inexact(aval.dtype)


def _differentiable(exported: Exported) -> Callable[..., list[Any]]:
    def call(*flat: Any) -> list[Any]:
        return list(call_exported_p.bind(*flat, exported=exported))

    call.__name__ = f"exported_{exported.fun_name}"
    run = custom_vjp(call)

    def forward(*flat: Any) -> tuple[list[Any], tuple[Any, ...]]:
        exported.vjp()  # raises here, where the user differentiates
        return run(*flat), flat

    def backward(flat: tuple[Any, ...], cts: list[Any]) -> tuple[Any, ...]:
        pairs = zip(cts, exported.out_avals, strict=True)
        found = iter(exported.vjp().call(*flat, *[ct for ct, a in pairs if is_inexact(a)]))
        return tuple([next(found) if is_inexact(a) else None for a in exported.in_avals])

    run.defvjp(forward, backward)
    return run


def _over(sharding: Any, mesh: Any) -> Any:
    if sharding is None:
        return None
    return named_sharding(sharding.mesh if mesh is None else mesh, sharding.spec)
