"""Rotations in space as unit quaternions (x, y, z, w), and interpolation between them."""

import re
from typing import Any, NamedTuple, Self

import numpy as np

import tans_numpy as jnp
import tans_random
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_xla import composite

__all__ = ("Rotation", "Slerp")

type Array = Any


def _inexact(x: Any) -> Array:
    (x,) = promote_dtypes_inexact("Rotation", jnp.asarray(x))
    return jnp.asarray(x)


def _check(name: str, x: Array, tail: tuple[int, ...]) -> None:
    if x.ndim not in (len(tail), len(tail) + 1) or x.shape[x.ndim - len(tail) :] != tail:
        raise ValueError(
            f"Rotation.{name}: given an array of shape {x.shape}, expected {tail} or "
            f"{('n', *tail)}."
        )


@composite
def _product(p: Array, q: Array) -> Array:
    """Return the quaternion of the rotation `q` followed by `p`."""
    pv, pw, qv, qw = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = pw * qv + qw * pv + jnp.cross(pv, qv)
    return jnp.concatenate([vector, pw * qw - jnp.sum(pv * qv, -1, keepdims=True)], -1)


@composite
def _matrix(q: Array) -> Array:
    x, y, z, w = (q[..., k] for k in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


@composite
def _from_matrix(m: Array) -> Array:
    """Divide by the largest of the four components, which is never small (Shepperd 1978)."""
    d = jnp.diagonal(m, axis1=-2, axis2=-1)
    trace = jnp.sum(d, -1)
    candidates = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * d[..., i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        candidates.append(jnp.stack(parts, -1))
    last = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    candidates.append(jnp.stack([*last, 1 + trace], -1))
    choice = jnp.argmax(jnp.concatenate([d, trace[..., None]], -1), -1)
    stacked = jnp.stack(candidates, -2)
    return _unit(jnp.take_along_axis(stacked, choice[..., None, None], -2)[..., 0, :])


def _unit(q: Array) -> Array:
    return q / jnp.sqrt(jnp.sum(q * q, -1, keepdims=True))


@composite
def _from_rotvec(v: Array) -> Array:
    square = jnp.sum(v * v, -1, keepdims=True)
    is_small = square < 1e-6
    angle = jnp.sqrt(jnp.where(is_small, 1, square))
    scale = jnp.where(is_small, 0.5 - square / 48, jnp.sin(angle / 2) / angle)
    cosine = jnp.where(is_small, 1 - square / 8, jnp.cos(angle / 2))
    return jnp.concatenate([scale * v, cosine], -1)


@composite
def _rotvec(q: Array) -> Array:
    q = jnp.where(q[..., 3:] < 0, -q, q)  # the shorter of two ways
    square = jnp.sum(q[..., :3] ** 2, -1, keepdims=True)
    is_small = square < 1e-6
    length = jnp.sqrt(jnp.where(is_small, 1, square))
    angle = 2 * jnp.arctan2(length, q[..., 3:])
    return jnp.where(is_small, 2 + square / 3, angle / length) * q[..., :3]


class Rotation(NamedTuple):
    """One rotation, or several.

    Attributes:
      quat: unit quaternions [4] or [n, 4], as (x, y, z, w).

    Example:
      >>> turn = Rotation.from_euler("z", 90, degrees=True)
      >>> turn.apply(jnp.array([1.0, 0.0, 0.0])).round(3).tolist()
      [0.0, 1.0, 0.0]
    """

    quat: Array

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Self:
        """Make rotations of quaternions [4] or [n, 4] of any length."""
        quat = _inexact(quat)
        _check("from_quat", quat, (4,))
        return cls(_unit(quat))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Self:
        """Make rotations of orthogonal matrices [3, 3] or [n, 3, 3]."""
        matrix = _inexact(matrix)
        _check("from_matrix", matrix, (3, 3))
        return cls(_from_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Self:
        """Make rotations of vectors [3] or [n, 3]: the axis, with the angle as length."""
        rotvec = _inexact(rotvec)
        _check("from_rotvec", rotvec, (3,))
        return cls(_from_rotvec(jnp.deg2rad(rotvec) if degrees else rotvec))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Self:
        """Make rotations of modified Rodrigues parameters [3] or [n, 3]."""
        mrp = _inexact(mrp)
        _check("from_mrp", mrp, (3,))
        square = jnp.sum(mrp * mrp, -1, keepdims=True)
        return cls(jnp.concatenate([2 * mrp, 1 - square], -1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Self:
        """Make rotations of angles about axes.

        Args:
          seq: one to three axes: "xyz" about fixed axes, "XYZ" about those that turn along.
          angles: a number, [k], or [n, k] for k axes; radians.
          degrees: whether angles are in degrees.

        Raises:
          ValueError: other axes, or another number of angles.
        """
        if not re.fullmatch(r"[xyz]{1,3}|[XYZ]{1,3}", seq):
            raise ValueError(
                f"Rotation.from_euler: given seq={seq!r}, expected one to three of 'xyz' or 'XYZ'."
            )
        angles = _inexact(angles)
        angles = jnp.deg2rad(angles) if degrees else angles
        if len(seq) == 1:
            angles = angles[..., None] if angles.ndim == 0 or angles.shape[-1] != 1 else angles
        if angles.ndim not in (1, 2) or angles.shape[-1] != len(seq):
            raise ValueError(
                f"Rotation.from_euler: given angles of shape {angles.shape} for the axes {seq!r}, "
                f"expected {len(seq)} angles in the last dimension."
            )
        out: Any = None
        for k, name in enumerate(seq.lower()):
            axis = jnp.asarray(np.eye(3)["xyz".index(name)], angles.dtype)
            q = _from_rotvec(angles[..., k : k + 1] * axis)
            pair = (q, out) if seq.islower() else (out, q)
            out = q if out is None else _product(*pair)
        return cls(out)

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Self:
        """Make rotations that change nothing: one, or `num`."""
        quat = jnp.asarray([0, 0, 0, 1], dtype)
        return cls(quat if num is None else jnp.tile(quat, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Self:
        """Draw rotations, all equally likely: one, or `num`."""
        shape = (4,) if num is None else (num, 4)
        return cls(_unit(tans_random.normal(random_key, shape)))

    @classmethod
    def concatenate(cls, rotations: Any) -> Self:
        """Join a sequence of rotations."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @property
    def single(self) -> bool:
        """Whether this is one rotation."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("len of one rotation: expected several. Use rotation.single.")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> "Rotation":  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.single:
            raise TypeError("one rotation can't be indexed: expected several.")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: "Rotation") -> "Rotation":  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the rotation by `other`, then by this one."""
        return Rotation(_product(self.quat, other.quat))

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Turn vectors [3] or [n, 3]; or turn them back, with `inverse`."""
        vectors = _inexact(vectors)
        _check("apply", vectors, (3,))
        matrix = self.as_matrix()
        matrix = jnp.swapaxes(matrix, -1, -2) if inverse else matrix
        return jnp.squeeze(matrix @ vectors[..., None], -1)

    def inv(self) -> "Rotation":
        """Return the rotations back."""
        return Rotation(self.quat * jnp.asarray([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """Return the angles, from 0 to pi."""
        length = jnp.sqrt(jnp.sum(self.quat[..., :3] ** 2, -1))
        return 2 * jnp.arctan2(length, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> "Rotation":
        """Return the rotation that is nearest to all, in the mean of squared chords.

        Args:
          weights: [n]; equal if None.

        Raises:
          ValueError: weights of another shape.
        """
        q = jnp.atleast_2d(self.quat)
        weights = jnp.ones(q.shape[0], q.dtype) if weights is None else _inexact(weights)
        if weights.shape != q.shape[:1]:
            raise ValueError(
                f"Rotation.mean: given weights of shape {weights.shape}, expected {q.shape[:1]}."
            )
        return Rotation(jnp.linalg.eigh((q * weights[:, None]).T @ q)[1][:, -1])

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Return quaternions [..., 4].

        Args:
          canonical: choose between q and -q: the scalar part positive.
          scalar_first: the order (w, x, y, z).
        """
        q = self.quat
        if canonical:
            # The first component that is not 0, from w on, is positive.
            order = jnp.concatenate([q[..., 3:], q[..., :3]], -1)
            first = jnp.argmax(order != 0, -1)
            q = q * jnp.sign(jnp.take_along_axis(order, first[..., None], -1))
        return jnp.concatenate([q[..., 3:], q[..., :3]], -1) if scalar_first else q

    def as_matrix(self) -> Array:
        """Return orthogonal matrices [..., 3, 3]."""
        return _matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Return vectors [..., 3]: the axis, with the angle as length."""
        v = _rotvec(self.quat)
        return jnp.rad2deg(v) if degrees else v

    def as_mrp(self) -> Array:
        """Return modified Rodrigues parameters [..., 3]."""
        q = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return q[..., :3] / (1 + q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Return angles about three axes, [..., 3].

        Args:
          seq: three axes, of which neighbours differ; see `from_euler`.
          degrees: whether to return degrees.

        Raises:
          ValueError: other axes.

        References:
          Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022.
        """
        if not re.fullmatch(r"[xyz]{3}|[XYZ]{3}", seq) or seq[0] == seq[1] or seq[1] == seq[2]:
            raise ValueError(
                f"Rotation.as_euler: given seq={seq!r}, expected three axes of which neighbours "
                "differ, such as 'xyz' or 'ZXZ'."
            )
        angles = _euler(self.quat, seq.lower() if seq.islower() else seq.lower()[::-1])
        angles = angles if seq.islower() else angles[..., ::-1]
        return jnp.rad2deg(angles) if degrees else angles


def _euler(q: Array, seq: str) -> Array:
    """Return angles about fixed axes."""
    i, j, k = ("xyz".index(name) for name in seq)
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    w, x, y, z = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    a, b, c, d = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_gap = jnp.arctan2(b, a), jnp.arctan2(d, c)
    # Where the middle axis folds the others onto each other, the last angle is taken as 0.
    eps = 1e-6 if q.dtype.itemsize <= 4 else 1e-7
    at_start, at_end = jnp.abs(middle) <= eps, jnp.abs(middle - np.pi) <= eps
    first = jnp.where(at_start, 2 * half_sum, half_sum - half_gap)
    first = jnp.where(at_end, -2 * half_gap, first)
    last = jnp.where(at_start | at_end, 0, half_sum + half_gap)
    if not symmetric:
        last, middle = last * sign, middle - np.pi / 2
    turns = [jnp.remainder(v + np.pi, 2 * np.pi) - np.pi for v in (first, middle, last)]
    return jnp.stack(turns, -1)


class Slerp(NamedTuple):
    """Interpolation between rotations at constant angular speed.

    Attributes:
      times: [n], ascending.
      timedelta: steps between them [n - 1].
      rotations: the first n - 1 rotations.
      rotvecs: the rotation during each step [n - 1, 3].

    Example:
      >>> ends = Rotation.from_euler("z", jnp.array([0.0, 90.0]), degrees=True)
      >>> Slerp.init(jnp.array([0.0, 1.0]), ends)(0.5).magnitude().item() < 0.79
      True
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Self:
        """Interpolate between rotations at given times.

        Raises:
          ValueError: one rotation, or another number of times.
        """
        times = _inexact(times)
        if rotations.single or times.shape != (len(rotations),) or len(rotations) < 2:
            raise ValueError(
                f"Slerp: given times of shape {times.shape} for rotations of shape "
                f"{rotations.quat.shape}, expected at least two rotations and as many times."
            )
        step = rotations[:-1].inv() * rotations[1:]
        return cls(times, jnp.diff(times), rotations[:-1], step.as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """Return the rotations at some times, a number or [m]."""
        times = _inexact(times)
        index = jnp.searchsorted(self.times, times, side="left") - 1
        index = jnp.clip(index, 0, self.rotvecs.shape[0] - 1)
        part = (times - self.times[index]) / self.timedelta[index]
        return Rotation(self.rotations.quat[index]) * Rotation(
            _from_rotvec(self.rotvecs[index] * part[..., None])
        )
