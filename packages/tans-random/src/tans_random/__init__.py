"""Random numbers from explicit keys: typed and raw keys, and samplers."""

from typing import Final

from tans_core import require_interface

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-random", built_for=_INTERFACE_BUILT_FOR)

from tans_random import key_methods  # noqa: E402  (after the handshake)
from tans_random.keys import (  # noqa: E402
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_impl,
    split,
    wrap_key_data,
)
from tans_random.samplers import (  # noqa: E402
    bernoulli,
    bits,
    categorical,
    gumbel,
    normal,
    permutation,
    randint,
    uniform,
)

key_methods.install()

__all__ = [
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "clone",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
    "wrap_key_data",
]
