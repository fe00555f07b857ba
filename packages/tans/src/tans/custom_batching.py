"""Batching rules of the user's own."""

from tans_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
