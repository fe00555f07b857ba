"""Rotations and interpolation between them against SciPy in float64."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial import transform as oracle

import tans_numpy as jnp
import tans_random
from tans_autodiff import grad
from tans_scipy.spatial.transform import Rotation, Slerp
from tans_xla import jit

SEQUENCES = [
    "".join(s) for low in product("xyz", repeat=3) for s in (low, [c.upper() for c in low])
    if low[0] != low[1] != low[2]
]  # fmt: skip


def close(out, expected, tolerance=5e-5):
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=[(4,), (6, 4)], ids=str)
def pair(request):
    q = np.random.default_rng(0).standard_normal(request.param)
    return Rotation.from_quat(q.astype("float32")), oracle.Rotation.from_quat(q)


def test_representations_equal_scipy(pair):
    ours, theirs = pair
    close(ours.as_quat(), theirs.as_quat())
    close(ours.as_quat(True, True), theirs.as_quat(True, scalar_first=True))
    close(ours.as_matrix(), theirs.as_matrix())
    close(ours.as_rotvec(True), theirs.as_rotvec(True))
    close(ours.as_mrp(), theirs.as_mrp())
    close(ours.magnitude(), theirs.magnitude())
    for name in ("matrix", "rotvec", "mrp", "quat"):
        given = getattr(theirs, f"as_{name}")()
        made = getattr(Rotation, f"from_{name}")(given.astype("float32"))
        close(made.as_matrix(), theirs.as_matrix())


def test_operations_equal_scipy(pair):
    ours, theirs = pair
    vector = np.array([0.3, -1.2, 2.0])
    close(ours.apply(vector), theirs.apply(vector))
    close(ours.apply(vector, inverse=True), theirs.apply(vector, inverse=True))
    close(jit(lambda r: r.apply(vector))(ours), theirs.apply(vector))
    close(ours.inv().as_matrix(), theirs.inv().as_matrix())
    turn = oracle.Rotation.from_euler("x", 0.3)
    close((ours * Rotation.from_euler("x", 0.3)).as_matrix(), (theirs * turn).as_matrix())
    assert ours.single == theirs.single


@pytest.mark.parametrize("seq", SEQUENCES)
def test_angles_about_three_axes(seq, pair):
    ours, theirs = pair
    close(ours.as_euler(seq), theirs.as_euler(seq), 5e-4)
    close(ours.as_euler(seq, degrees=True), theirs.as_euler(seq, degrees=True), 2e-2)
    angles = np.random.default_rng(1).standard_normal((*theirs.as_quat().shape[:-1], 3))
    expected = oracle.Rotation.from_euler(seq, angles).as_matrix()
    close(Rotation.from_euler(seq, angles).as_matrix(), expected)


def test_collections():
    q = np.random.default_rng(0).standard_normal((5, 4))
    ours, theirs = Rotation.from_quat(q), oracle.Rotation.from_quat(q)
    weights = np.arange(1, 6.0)
    close(ours.mean().as_matrix(), theirs.mean().as_matrix())
    close(ours.mean(weights).as_matrix(), theirs.mean(weights).as_matrix())
    assert len(ours) == 5
    close(ours[1:3].as_quat(), theirs[1:3].as_quat())
    joined = Rotation.concatenate([ours, Rotation.identity(), Rotation.identity(2)])
    assert len(joined) == 8
    drawn = Rotation.random(tans_random.key(0), 200)
    close(jnp.linalg.norm(drawn.quat, axis=-1), np.ones(200))
    assert np.abs(drawn.as_matrix().mean(0)).max() < 0.2
    assert Rotation.random(tans_random.key(0)).single


def test_interpolation_equals_scipy():
    q = np.random.default_rng(0).standard_normal((4, 4))
    times, wanted = np.array([0, 1, 2.5, 3]), np.array([0, 0.5, 1, 2.6, 3])
    ours = Slerp.init(times, Rotation.from_quat(q))
    theirs = oracle.Slerp(times, oracle.Rotation.from_quat(q))
    close(ours(wanted).as_matrix(), theirs(wanted).as_matrix())
    close(ours(0.7).as_matrix(), theirs(0.7).as_matrix())


def test_slopes_are_finite_at_no_rotation():
    slope = grad(lambda v: Rotation.from_rotvec(v).apply(jnp.array([1.0, 0, 0]))[1])(jnp.zeros(3))
    close(slope, [0, 0, 1])
    back = grad(lambda v: Rotation.from_rotvec(v).as_rotvec().sum())(jnp.zeros(3))
    close(back, [1, 1, 1])


ONE, THREE = Rotation.from_quat(np.ones(4)), Rotation.from_quat(np.ones((3, 4)))
BAD = {
    "shape": (lambda: Rotation.from_quat(jnp.ones(3)), ValueError, r"\(3,\)"),
    "axes": (lambda: Rotation.from_euler("xY", [1, 2]), ValueError, "'xY'"),
    "angles": (lambda: Rotation.from_euler("xy", [1, 2, 3]), ValueError, "2 angles"),
    "back": (lambda: ONE.as_euler("xxy"), ValueError, "'xxy'"),
    "len": (lambda: len(ONE), TypeError, "one rotation"),
    "index": (lambda: ONE[0], TypeError, "one rotation"),
    "weights": (lambda: THREE.mean(jnp.ones(2)), ValueError, r"\(2,\)"),
    "times": (lambda: Slerp.init(jnp.arange(2.0), THREE), ValueError, r"\(2,\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name):
    call, error, fact = BAD[name]
    with pytest.raises(error, match=fact):
        call()
