"""Names that JAX removed, and what to write instead; they stay absent for `hasattr`."""

from typing import Final

REMOVED: Final = {
    "tans": {
        "device_put_sharded": "tans.device_put(tans.numpy.stack(shards), sharding)",
        "device_put_replicated": "tans.device_put(x, sharding)",
        "tree_map": "tans.tree.map",
        "tree_flatten": "tans.tree.flatten",
        "tree_unflatten": "tans.tree.unflatten",
        "tree_leaves": "tans.tree.leaves",
        "tree_structure": "tans.tree.structure",
        "tree_transpose": "tans.tree.transpose",
        "tree_reduce": "tans.tree.reduce",
        "tree_all": "tans.tree.all",
        "tree_multimap": "tans.tree.map",
        "treedef_is_leaf": "tans.tree_util.treedef_is_leaf",
        "xla_computation": "tans.jit(f).lower(*args).compiler_ir('hlo')",
        "clear_backends": "tans.clear_caches",
        "soft_pmap": "tans.vmap, or tans.shard_map",
        "xmap": "tans.shard_map",
        "pjit": "tans.jit",
        "linear_util": "plain functions",
        "abstract_arrays": "tans.core",
        "ShapedArray": "tans.ShapeDtypeStruct, or tans.core.ShapedArray",
        "DeviceArray": "tans.Array",
        "KeyArray": "tans.Array",
    },
    "tans.lax": {
        "pjit": "tans.jit",
        "tie_in": "the value itself",
        "infeed": "tans.pure_callback, or an argument",
        "outfeed": "tans.debug.callback",
        "pvary": "tans.lax.pcast(x, axis_name, to='varying')",
        "pdot": "tans.lax.psum of a product",
        "xeinsum": "tans.numpy.einsum",
        "shaped_identity": "tans.numpy.eye",
        "zeros_like_array": "tans.numpy.zeros_like",
        "linspace": "tans.numpy.linspace",
        "cholesky": "tans.lax.linalg.cholesky",
        "qr": "tans.lax.linalg.qr",
        "eigh": "tans.lax.linalg.eigh",
        "eig": "tans.lax.linalg.eig",
        "lu": "tans.lax.linalg.lu",
        "svd": "tans.lax.linalg.svd",
        "triangular_solve": "tans.lax.linalg.triangular_solve",
    },
    "tans.sharding": {
        "PositionalSharding": "tans.NamedSharding(tans.make_mesh(sizes, names), tans.P(...))",
        "GSPMDSharding": "tans.NamedSharding",
        "PmapSharding": "tans.NamedSharding",
        "XLACompatibleSharding": "tans.sharding.Sharding",
        "MeshPspecSharding": "tans.NamedSharding",
        "OpShardingSharding": "tans.NamedSharding",
        "AxisTypes": "tans.sharding.AxisType",
        "use_mesh": "tans.set_mesh",
    },
    "tans.dlpack": {"to_dlpack": "the array itself: from_dlpack(x) calls x.__dlpack__()"},
    "tans.core": {
        "raise_to_shaped": "tans.typeof",
        "get_aval": "tans.typeof",
        "concrete_or_error": "tans.core.is_concrete, or int(x)",
        "AxisSize": "int",
        "gensym": "tans.make_jaxpr",
    },
    "tans.experimental": {
        "maps": "tans.shard_map",
        "host_callback": "tans.pure_callback and tans.debug.callback",
        "global_device_array": "tans.Array",
        "stax": "a neural-network library",
        "optimizers": "an optimiser library",
        "enable_x64": "tans.enable_x64(True)",
        "disable_x64": "tans.enable_x64(False)",
        "array_api": "tans.numpy",
        "export": "tans.export",
        "callback": "tans.pure_callback",
    },
}


def absent(module: str, name: str) -> str:
    """Return the text of the AttributeError for a name that a module lacks."""
    remedy = REMOVED.get(module, {}).get(name)
    hint = "" if remedy is None else f": JAX removed it, expected {remedy}"
    return f"module {module!r} has no attribute {name!r}{hint}"
