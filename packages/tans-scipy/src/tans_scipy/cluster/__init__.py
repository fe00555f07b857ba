"""Clustering."""

from tans_scipy.cluster import vq

__all__ = ["vq"]
