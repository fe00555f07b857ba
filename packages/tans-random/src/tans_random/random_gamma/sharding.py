"""Sharding rule of gamma samples: that of the parameters, one element at a time."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext, spec_of
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, Spec, batch_entries
from tans_random.random_gamma import random_gamma_p


def _gamma(ctx: ShardingContext, words: Any, a: Any, **params: Any) -> Spec:
    del params
    batch_entries(ctx, (words, a), (words.ndim - a.ndim, 0))
    return spec_of(a)


SHARDING: Final[dict[Primitive, Rule]] = {
    random_gamma_p: _gamma,
}
