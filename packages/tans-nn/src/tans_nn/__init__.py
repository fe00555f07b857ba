"""Functions of neural networks: activations, normalisation, attention and initial weights."""

from typing import Final

from tans_core import require_interface

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-nn", built_for=_INTERFACE_BUILT_FOR)

from tans_nn import initializers as initializers  # noqa: E402  (after the handshake)
from tans_nn.attention import dot_product_attention  # noqa: E402
from tans_nn.block_scaling import (  # noqa: E402
    get_scaled_dot_general_config,
    scaled_dot_general,
)
from tans_nn.linear_units import celu, elu, gelu, glu, selu  # noqa: E402
from tans_nn.normalization import (  # noqa: E402
    log_softmax,
    logmeanexp,
    logsumexp,
    one_hot,
    softmax,
    standardize,
)
from tans_nn.rectifiers import (  # noqa: E402
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    relu,
    relu6,
    sparse_plus,
    sparse_sigmoid,
)
from tans_nn.saturating import (  # noqa: E402
    log1mexp,
    log_sigmoid,
    mish,
    sigmoid,
    silu,
    soft_sign,
    softplus,
    squareplus,
    swish,
    tanh,
)
from tans_nn.scaled_products import scaled_matmul  # noqa: E402

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "get_scaled_dot_general_config",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "scaled_dot_general",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]
