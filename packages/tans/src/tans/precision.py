"""Precision of matrix products: levels, algorithms, the default, and what a function needs."""

from tans_core.config import default_matmul_precision
from tans_lax import DotAlgorithm, DotAlgorithmPreset, Precision
from tans_precision import Audit, audit, emulated_matmul

__all__ = [
    "Audit",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "Precision",
    "audit",
    "default_matmul_precision",
    "emulated_matmul",
]
