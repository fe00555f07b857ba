"""A pytree of arrays as one vector, and back."""

from tans_numpy.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
