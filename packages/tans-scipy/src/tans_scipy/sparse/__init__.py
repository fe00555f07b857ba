"""Solvers for operators that are known only by their products."""

from tans_scipy.sparse import linalg

__all__ = ["linalg"]
