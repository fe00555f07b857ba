"""The bars of the comparison with JAX 0.12: the ratio to JAX that each figure must stay within.

They come from floors measured on bare jaxlib and from JAX's own cost; ``stretch`` is what a careful
front end can reach.
"""

from typing import Final, NamedTuple


class Bar(NamedTuple):
    """One row: the figure ``metric`` of ``program``, and the greatest ratio Tans/JAX allowed."""

    title: str
    program: str
    metric: str
    bar: float
    stretch: float


# Functions of small arrays that run as one program, and indexing: JAX takes much longer for this.
COMPOSITES: Final = (
    "jnp.sin", "jnp.where", "jnp.sum", "jnp.sum(axis)", "x.sum()", "jnp.max", "jnp.mean",
    "jnp.mean(axis)", "jnp.var", "jnp.std", "jnp.argmax", "jnp.cumsum", "jnp.sort", "jnp.median",
    "jnp.clip", "jnp.take", "jnp.take_along_axis", "jnp.linalg.norm", "jnp.linalg.norm(axis)",
    "jnp.dot", "jnp.outer", "jnp.isclose", "jnp.concatenate", "jnp.pad", "jnp.roll",
    "jnp.swapaxes", "nn.softmax", "nn.log_softmax",
)  # fmt: skip
INDEXING: Final = (
    "x[2:5]", "x[::2]", "x[:, 1]", "x[1, 2]", "x[1:3, 2:4]", "x[None]", "x[rows] integer array",
    "x[:, rows]", "x[mask] boolean array", "x.at[2].get()", "x.at[i].set(1)", "x.at[2].add(1)",
    "x.at[rows].add(1)", "x.at[:, 1].set(0)", "x.at[mask].set(0)",
)  # fmt: skip
BARS: Final = (
    Bar("import F + F.numpy, wall", "import_time", "import F, F.numpy", 0.55, 0.45),
    Bar("import, peak RSS", "import_time", "import F, F.numpy peak RSS", 0.85, 0.80),
    Bar("jit call, 1 array", "dispatch", "scalar array arg", 1.10, 1.00),
    Bar("jit call, 200-leaf dict, all used", "dispatch", "200-leaf dict in, all used", 1.10, 1.00),
    Bar("eager x + y", "eager", "x+y", 1.10, 0.85),
    Bar("eager x[3]", "eager", "x[3]", 0.35, 0.20),
    Bar("eager x[i]", "eager", "x[i] array index", 0.25, 0.12),
    Bar("eager x.at[2].set(1)", "eager", "x.at[2].set(1)", 0.25, 0.10),
    Bar("eager jnp.zeros(8)", "eager", "jnp.zeros", 0.35, 0.20),
    Bar("eager grad of 3 ops", "eager", "eager grad 3 ops", 0.33, 0.20),
    *(Bar(f"eager {name}", "eager", name, 1.10, 1.00) for name in COMPOSITES),
    *(Bar(f"eager {name}", "eager", name, 0.25, 0.12) for name in INDEXING),
    Bar("device_put of 500 arrays", "transfer", "device_put 500 small arrays", 0.50, 0.33),
    Bar("trace, 12-layer forward", "stages", "transformer_fwd.trace_warm_cpu", 0.40, 0.25),
    Bar("trace, its gradient", "stages", "transformer_grad.trace_warm_cpu", 0.33, 0.15),
    Bar("trace, 1000-op chain", "stages", "chain1000.trace_warm_cpu", 0.33, 0.20),
    Bar("trace, its gradient", "stages", "chain1000_grad.trace_warm_cpu", 0.30, 0.12),
    Bar("trace cold, numpy-heavy", "stages", "numpy_heavy.trace_cold_cpu", 0.33, 0.20),
    Bar("lower, 12-layer gradient", "stages", "transformer_grad.lower_warm_cpu", 0.50, 0.30),
    Bar("lower, 1000-op chain", "stages", "chain1000.lower_warm_cpu", 0.60, 0.40),
    Bar("lower, scanned gradient", "stages", "scan_transformer_grad.lower_warm_cpu", 0.35, 0.20),
    Bar("lower, numpy-heavy", "stages", "numpy_heavy.lower_warm_cpu", 0.40, 0.25),
    Bar("trace, shard_map layer", "shardmap", "shard_map layer.trace_warm_cpu", 0.40, 0.25),
    Bar("trace, its gradient", "shardmap", "shard_map layer grad.trace_warm_cpu", 0.40, 0.20),
    Bar("lower, shard_map layer", "shardmap", "shard_map layer.lower_warm_cpu", 0.50, 0.20),
    Bar("lower, its gradient", "shardmap", "shard_map layer grad.lower_warm_cpu", 0.50, 0.25),
)
MODELS: Final = (
    "transformer_fwd",
    "transformer_grad",
    "transformer_nn_grad",
    "scan_transformer_grad",
    "resnet18ish_grad",
    "chain1000",
    "chain1000_grad",
    "vmap_grad_mlp",
    "numpy_heavy",
)
# XLA's compile and run time are not ours: the programs handed to it are held equal instead.
PROGRAM_BARS: Final = tuple(
    bar
    for model in MODELS
    for bar in (
        Bar(f"optimised HLO, {model}", "stages", f"{model}.hlo_instructions", 1.02, 1.00),
        Bar(f"StableHLO inlined, {model}", "stages", f"{model}.stablehlo_ops_inlined", 1.0, 1.0),
    )
)
