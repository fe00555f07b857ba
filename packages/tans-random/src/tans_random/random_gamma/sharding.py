"""Sharding rule of gamma samples: that of the parameters, one element at a time."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, batch_entries
from tans_random.implementations import Implementation
from tans_random.random_gamma import random_gamma_p


def _gamma(
    ctx: ShardingContext, words: Any, a: Any, *, impl: Implementation, log_space: bool
) -> Spec:
    del log_space
    width = len(impl.key_shape)
    keys = batch_entries(ctx, (words,), (width,))
    parameters = batch_entries(ctx, (a,), (0,))
    # One key is for all parameters behind its own dimensions, wherever they lie.
    if parameters[: words.ndim - width] != keys:
        ctx.refuse(
            "expected keys sharded as the parameters that they are for. Reshard one of them."
        )
    return spec_of(a)


SHARDING: Final[dict[Primitive, Rule]] = {
    random_gamma_p: _gamma,
}
