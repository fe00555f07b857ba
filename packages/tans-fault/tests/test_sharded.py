"""States that no process holds whole: saved in pieces, restored over other devices."""

import re

import ml_dtypes
import numpy as np
import pytest
from conftest import BUSY, COLLECTIVE, GRACE, HEARTBEAT

import tans
from tans import P
from tans_fault import ShardedCheckpoints
from tans_xla import backend

BOUND = 2 * max(HEARTBEAT, COLLECTIVE) + GRACE + BUSY
MANY = "1000000"


@pytest.fixture(scope="module", autouse=True)
def eight_devices():
    """Eight devices for the tests of this file."""
    backend.drop_backend()
    tans.config.update("jax_num_cpu_devices", 8)
    yield
    backend.drop_backend()
    tans.config.update("jax_num_cpu_devices", -1)


def mesh(*shape):
    count = int(np.prod(shape))
    return tans.make_mesh(shape, ("a", "b")[: len(shape)], devices=tans.devices()[:count])


def place(values, a_mesh, spec):
    return tans.device_put(values, tans.NamedSharding(a_mesh, spec))


VALUES = np.arange(48, dtype=np.float32).reshape(8, 6)
PLACES = [((4, 2), P("a", "b")), ((2, 2), P(None, "a")), ((8,), P("a")), ((1,), P()), ((4,), P())]


@pytest.mark.parametrize(("shape", "spec"), PLACES)
@pytest.mark.parametrize(("to_shape", "to_spec"), PLACES)
def test_a_state_comes_back_over_another_mesh(tmp_path, shape, spec, to_shape, to_spec):
    saved = ShardedCheckpoints(tmp_path)
    saved.save(3, {"w": place(VALUES, mesh(*shape), spec), "n": 7})
    like = tans.ShapeDtypeStruct(
        (8, 6), np.float32, sharding=place(VALUES, mesh(*to_shape), to_spec).sharding
    )
    step, state = saved.restore({"w": like, "n": None})
    assert (step, state["n"]) == (3, 7)
    assert state["w"].sharding == like.sharding
    np.testing.assert_array_equal(state["w"], VALUES)
    whole = saved.restore({"w": None, "n": None})[1]["w"]
    assert isinstance(whole, np.ndarray)
    np.testing.assert_array_equal(whole, VALUES)


@pytest.mark.parametrize(
    "leaf",
    [
        np.array([1.5, np.nan], ml_dtypes.bfloat16),
        np.ones((2, 2), ml_dtypes.float8_e4m3fn),
        np.zeros((0, 4), np.float32),
        np.float32(2),
        np.array([1 + 2j], np.complex64),
        True,
    ],
)
def test_leaves_of_all_kinds(tmp_path, leaf):
    saved = ShardedCheckpoints(tmp_path)
    saved.save(1, [leaf])
    (found,) = saved.restore([None])[1]
    expected = np.asarray(leaf)
    assert (found.dtype, found.shape, found.tobytes()) == (
        expected.dtype,
        expected.shape,
        expected.tobytes(),
    )


def pieces_of_two(folder, step, rows=(0, 5, 8)):
    """Save as two processes would, each with some rows of `VALUES`."""
    saved = ShardedCheckpoints(folder)
    for part in (1, 0):
        start, stop = rows[part : part + 2]
        _save_rows(saved, step, part, start, stop)
    return saved


def _save_rows(saved, step, part, start, stop):
    class Spread:
        """Rows of an array over two processes."""

        is_fully_addressable = False
        shape, dtype, sharding = VALUES.shape, VALUES.dtype, None

        @property
        def addressable_shards(self):
            index = (slice(start, stop), slice(None))
            piece = type("Shard", (), {"index": index, "data": VALUES[index], "replica_id": 0})
            return [piece]

    from tans_fault import sharded

    original = sharded.ArrayImpl
    sharded.ArrayImpl = Spread
    try:
        saved.save(step, {"w": Spread(), "n": np.int32(7)}, place=(part, 2), meet=lambda: None)
    finally:
        sharded.ArrayImpl = original


def test_pieces_of_several_processes_make_a_whole(tmp_path):
    saved = pieces_of_two(tmp_path, 5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000000000005"]
    like = place(VALUES, mesh(4, 2), P("a", "b"))
    step, state = saved.restore({"w": like, "n": None})
    assert step == 5
    np.testing.assert_array_equal(state["w"], VALUES)


def test_damaged_or_missing_parts_are_passed_over(tmp_path):
    saved = pieces_of_two(tmp_path, 5)
    for damage, why in (
        (lambda path: path.write_bytes(path.read_bytes()[:300]), "no archive"),
        (lambda path: path.unlink(), r"parts \[0\] of 2"),
    ):
        pieces_of_two(tmp_path, 6)
        damage(tmp_path / "step-000000000006" / "part-1-of-2.npz")
        with pytest.warns(UserWarning, match=f"step 6 .*damaged .*{why}.*before it is taken"):
            step, state = saved.restore({"w": None, "n": None})
        assert step == 5
        np.testing.assert_array_equal(state["w"], VALUES)
    pieces_of_two(tmp_path, 6, rows=(0, 4, 7))
    with pytest.warns(UserWarning, match=r"pieces of state\['w'\] are missing"):
        assert saved.restore({"w": None, "n": None})[0] == 5


def test_the_newest_are_kept_and_what_is_not_finished_is_ignored(tmp_path):
    saved = ShardedCheckpoints(tmp_path, keep=1)
    (tmp_path / "partial-step-000000000009").mkdir()
    for step in (1, 2, 2):
        saved.save(step, {"a": np.full(2, step)})
    assert saved.steps() == [2]
    assert saved.restore({"a": None})[1]["a"].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("like", "facts"),
    [
        ({"b": None}, r"it lacks state\['b'\]"),
        ({"a": np.zeros(3)}, r"shape \(2,\) there, expected \(3,\)"),
    ],
)
def test_another_structure_is_an_error(tmp_path, like, facts):
    saved = ShardedCheckpoints(tmp_path)
    saved.save(1, {"a": np.zeros(2)})
    with pytest.raises(ValueError, match=rf"does not fit .*{facts}.*Give another folder"):
        saved.restore(like)


@pytest.mark.parametrize(
    ("leaf", "facts"), [("x", "is a str"), (tans.random.key(0), "key<fry>.*key_data")]
)
def test_what_is_no_array_is_refused(tmp_path, leaf, facts):
    with pytest.raises(TypeError, match=rf"state\['a'\] .*{facts}"):
        ShardedCheckpoints(tmp_path).save(1, {"a": leaf})


def test_several_processes_must_meet(tmp_path):
    with pytest.raises(ValueError, match=r"no meet in a job of 2 processes, expected a function"):
        ShardedCheckpoints(tmp_path).save(1, {"a": 1}, place=(0, 2))


def test_a_loss_leads_back_to_the_checkpoint_and_a_newcomer_takes_part(job, tmp_path):
    made = job(2, standalone=True)
    first, second = made.start_all("sharded", MANY, str(tmp_path))
    for process in (first, second):
        process.expect(r"step 6 alive \[0, 1\] holds \(6, 3\)")
    second.kill()
    assert int(first.expect(r"synced (\d+) alive \[0\] holds \(12, 3\)", BOUND)[1]) % 4 == 0
    first.expect(r"step \d+ alive \[0\]")
    back = made.start("sharded", 1, MANY, str(tmp_path))
    at = int(back.expect(r"synced (\d+) alive \[0, 1\] holds \(6, 3\)")[1])
    assert at >= 4
    first.expect(rf"step {at + 5} alive \[0, 1\]")


def damage_of_process_1(folder, step):
    """Change a byte among those that only process 1 reads."""
    path = folder / f"step-{step:012d}" / "part-1-of-2.npz"
    data = bytearray(path.read_bytes())
    at = data.index(np.full(3, expected_row(step, 6), np.float32).tobytes())
    data[at] ^= 1
    path.write_bytes(data)


def expected_row(steps, row):
    """Return what `w` is in a row after so many steps, as in the program."""
    value = np.float32(1)
    for _ in range(steps):
        value = value * np.float32(0.5) + 12 + np.float32(row)
    return value


def test_all_pass_over_a_step_that_one_finds_damaged(job, tmp_path):
    def run(steps):
        return job(2, standalone=True).start_all("sharded", str(steps), str(tmp_path))

    for process in run(8):
        process.expect("final 8")
        assert process.wait() == 0
    damage_of_process_1(tmp_path, 8)
    for process in run(12):
        process.expect(r"synced 4 alive \[0, 1\] holds \(6, 3\)")
        process.expect("final 12")
        assert process.wait() == 0
    assert ShardedCheckpoints(tmp_path).steps() == [8, 12]  # the damaged one was written anew
    for step in (8, 12):
        damage_of_process_1(tmp_path, step)
    for process in run(16):
        process.expect(r"DamagedError.*all checkpoints in .* damaged \(steps \[8, 12\]\)")
        assert process.wait() == 1


@pytest.mark.faults
def test_a_job_of_another_size_goes_on_from_the_pieces(job, tmp_path):
    for process in job(3, standalone=True).start_all("sharded", "8", str(tmp_path)):
        process.expect("final 8")
        assert process.wait() == 0
    for process in job(2, standalone=True).start_all("sharded", "12", str(tmp_path)):
        process.expect(r"synced 8 alive \[0, 1\] holds \(6, 3\)")
        process.expect("final 12")
        assert process.wait() == 0


@pytest.mark.faults
def test_everything_lost_during_saves_again_and_again(job, tmp_path):
    newest = 0
    for attempt in range(3):
        processes = job(2, standalone=True).start_all("sharded", MANY, str(tmp_path))
        synced = {p.expect(r"synced (\d+) alive \[0, 1\]")[1] for p in processes}
        assert len(synced) == 1
        assert int(synced.pop()) >= newest
        for process in processes:
            process.expect(rf"step {newest + 5 + attempt} ")
        processes[attempt % 2].kill()
        processes[1 - attempt % 2].kill()
        newest = ShardedCheckpoints(tmp_path).steps()[-1]
        assert newest >= 4
        for process in processes:
            assert not re.search("AssertionError", "\n".join(process.lines))
