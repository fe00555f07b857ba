"""Exported programs as bytes: what the header of the file holds, and reading it back."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tans_compiler._jaxlib import VERSION
from tans_compiler.exporting import container, trees
from tans_compiler.exporting.checks import DisabledSafetyCheck
from tans_compiler.symbolic import SymbolicScope, symbolic_shape
from tans_core import ShapedArray, dtypes
from tans_core.mesh import AbstractMesh
from tans_core.mesh_axes import AxisType
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import named_sharding

if TYPE_CHECKING:
    from tans_compiler.exporting.exported import Exported

FORMAT: Final = 1
CALLING_CONVENTION: Final = 10
OLDEST_CALLING_CONVENTION: Final = 9


def pack(exported: "Exported", vjp_order: int) -> bytearray:
    """Return the bytes of a program, with `vjp_order` backward passes."""
    parts = [exported.mlir_module_serialized]
    if vjp_order:
        parts.append(bytes(pack(exported.vjp(), vjp_order - 1)))
    scopes = [d.scope for a in exported.in_avals for d in a.shape if not isinstance(d, int)]
    header = {
        "format": FORMAT,
        "jaxlib": VERSION,
        "name": exported.fun_name,
        "in_tree": trees.to_json(exported.in_tree),
        "in_types": [aval_to_json(a) for a in exported.in_avals],
        "out_tree": trees.to_json(exported.out_tree),
        "out_types": [aval_to_json(a) for a in exported.out_avals],
        "in_shardings": [spec_to_json(s) for s in exported._in_named_shardings],
        "out_shardings": [spec_to_json(s) for s in exported._out_named_shardings],
        "devices": exported.nr_devices,
        "platforms": list(exported.platforms),
        "disabled_checks": [d._impl for d in exported.disabled_safety_checks],
        "calling_convention": exported.calling_convention_version,
        "kept": list(exported.module_kept_var_idx),
        "platform_index": exported.uses_global_constants,
        "constraints": list(scopes[0].constraint_texts) if scopes else [],
        "vjp": vjp_order > 0,
    }
    return container.pack(header, parts)


def fields_of(blob: bytes | bytearray) -> tuple[dict[str, Any], bytes | None]:
    """Return the fields of the program in `blob`, and the bytes of its backward pass.

    Raises:
      ValueError: it can't be read here.
    """
    header, parts = container.unpack(blob)
    if header["format"] != FORMAT or not (
        OLDEST_CALLING_CONVENTION <= header["calling_convention"] <= CALLING_CONVENTION
    ):
        raise ValueError(
            f"deserialize: given a program in form {header['format']} with calling convention "
            f"{header['calling_convention']}, expected form {FORMAT} and a convention of "
            f"{OLDEST_CALLING_CONVENTION} to {CALLING_CONVENTION}. Install the version of "
            "tans-compiler that wrote it, or a newer one."
        )
    dimension = _dimensions(header["constraints"])
    fields = {
        "fun_name": header["name"],
        "in_tree": trees.from_json(header["in_tree"]),
        "in_avals": tuple(aval_from_json(a, dimension) for a in header["in_types"]),
        "out_tree": trees.from_json(header["out_tree"]),
        "out_avals": tuple(aval_from_json(a, dimension) for a in header["out_types"]),
        "_in_named_shardings": tuple(map(spec_from_json, header["in_shardings"])),
        "_out_named_shardings": tuple(map(spec_from_json, header["out_shardings"])),
        "nr_devices": header["devices"],
        "platforms": tuple(header["platforms"]),
        "ordered_effects": (),
        "unordered_effects": (),
        "disabled_safety_checks": tuple(map(DisabledSafetyCheck, header["disabled_checks"])),
        "mlir_module_serialized": parts[0],
        "calling_convention_version": header["calling_convention"],
        "module_kept_var_idx": tuple(header["kept"]),
        "uses_global_constants": header["platform_index"],
    }
    return fields, parts[1] if header["vjp"] else None


def _dimensions(constraints: list[str]) -> Callable[[str], Any]:
    scope = SymbolicScope(constraints)
    return lambda text: symbolic_shape(text, scope=scope)[0]


def spec_to_json(sharding: Any) -> Any:
    """Return a named sharding as JSON: mesh axes, and per dimension the axes it is split over."""
    if sharding is None:
        return None
    mesh = sharding.mesh
    axes = [
        [str(name), int(size), kind.name]
        for name, size, kind in zip(mesh.axis_names, mesh.axis_sizes, mesh.axis_types, strict=True)
    ]
    parts = [p if p is None or isinstance(p, str) else list(p) for p in sharding.spec.partitions]
    return {"axes": axes, "spec": parts}


def spec_from_json(data: Any) -> Any:
    """Return the named sharding in JSON."""
    if data is None:
        return None
    names = tuple(name for name, _, _ in data["axes"])
    sizes = tuple(size for _, size, _ in data["axes"])
    kinds = tuple(AxisType[kind] for _, _, kind in data["axes"])
    parts = [tuple(p) if isinstance(p, list) else p for p in data["spec"]]
    return named_sharding(AbstractMesh(sizes, names, axis_types=kinds), PartitionSpec(*parts))


def aval_to_json(aval: Any) -> Any:
    """Return the type of an array as JSON."""
    return [
        [d if isinstance(d, int) else str(d) for d in aval.shape],
        aval.dtype.name,
        aval.weak_type,
    ]


def aval_from_json(data: Any, dim: Callable[[str], Any]) -> ShapedArray:
    """Return the type in JSON; `dim` reads a symbolic dimension."""
    shape, dtype, weak = data
    sizes = [d if isinstance(d, int) else dim(d) for d in shape]
    return ShapedArray(sizes, _dtype(dtype), weak)


def _dtype(name: str) -> Any:
    if name.startswith("key<"):
        return _key_dtype(name)
    found = {d.name: d for d in dtypes.ALL_DTYPES}
    return found.get(name) or np.dtype(name)


def _key_dtype(name: str) -> Any:
    """Return the dtype of random keys, whose package this one can do without."""
    try:
        keys = import_module("tans_random.key_array")
    except ModuleNotFoundError:
        raise ValueError(
            f"deserialize: given a program with values of dtype {name}, expected dtypes that are "
            "known here: those of random keys come with tans-random. Run: pip install tans-random"
        ) from None
    return keys.dtype_named(name)
