"""Geometry in space."""

from tans_scipy.spatial import transform

__all__ = ["transform"]
