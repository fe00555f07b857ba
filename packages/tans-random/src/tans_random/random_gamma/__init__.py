"""The primitive that samples from the gamma distribution.

It is a primitive, and not a plain function of `while_loop`, because its derivative in the shape
parameter is known (it is that of the distribution function at a fixed probability), while that of
the rejection loop does not exist.
"""

from typing import Any, Final

from tans_core import Primitive
from tans_random.implementations import Implementation

type Value = Any  # an array, a Python scalar or a tracer

random_gamma_p: Final = Primitive("random_gamma", family=__name__)


def random_gamma(words: Value, a: Value, impl: Implementation, log_space: bool = False) -> Value:
    """Sample from the gamma distribution with scale 1.

    Args:
      words: words of the keys, uint32 [*batch, *key_shape].
      a: shape parameters, floats [*batch, ...]; each key serves all elements of its part.
      impl: generator of the keys.
      log_space: whether to return logarithms, which do not underflow for small `a`.

    Returns:
      Array of the shape and dtype of `a`.
    """
    return random_gamma_p.bind(words, a, impl=impl, log_space=log_space)
