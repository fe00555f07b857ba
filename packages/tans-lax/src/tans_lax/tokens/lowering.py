"""StableHLO of tokens: arrays without elements, which a barrier joins."""

from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_lax.tokens import after_all_p, create_token_p, token_type
from tans_xla import hlo


def _create(ctx: Any) -> Any:
    del ctx
    return hlo.constant(np.zeros((0,), np.bool_), token_type)


def _after_all(ctx: Any, *tokens: Any) -> Any:
    if not tokens:
        return _create(ctx)
    kinds = [token.type for token in tokens]
    return hlo.op("stablehlo.optimization_barrier", kinds, tokens).results[0]


LOWERING: Final[dict[Primitive, Any]] = {create_token_p: _create, after_all_p: _after_all}
