"""Initial values of weights: functions of (key, shape, dtype) that draw an array."""

from tans_nn.initializers.orthonormal import delta_orthogonal, orthogonal
from tans_nn.initializers.plain import constant, normal, ones, truncated_normal, uniform, zeros
from tans_nn.initializers.protocol import Initializer
from tans_nn.initializers.scaled import (
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    kaiming_normal,
    kaiming_uniform,
    lecun_normal,
    lecun_uniform,
    variance_scaling,
    xavier_normal,
    xavier_uniform,
)

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
