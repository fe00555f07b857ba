"""Data between two processes."""

import numpy as np
import pytest

from tans_fault import multihost_utils


def test_the_utilities_on_two_processes(job):
    first, second = job(2).start_all("utilities")
    sent = np.array([0.5, np.nan, -0.0]).tobytes().hex()
    for process, me in ((first, 0), (second, 1)):
        for pattern in (
            rf"broadcast float64 {sent} 1 \[ True  True\] \(0, 2\)",
            "source gave 1",
            r"stacked gave \[\[0, 7\], \[1, 7\]\]",
            r"scalars gave \[0\.0, 1\.0\]",
            r"tiled gave \[0, 7, 1, 7\]",
            "sync gave None",
            "differs AssertionError.*'name 1'" if me else "differs gave None",
            "equal gave None",
            "unequal AssertionError the step differs.*given 1, expected 0"
            if me
            else "unequal gave",
            r"whole \(4,\) False P\('i',\)",
            r"gathered gave \[0, 10, 1, 11\]",
            "untiled ValueError.*tiled=True",
            rf"local gave \[{me}, {me + 10}\]",
            r"nospec ValueError.*P\(\)",
            rf"traced ValueError.*other processes \(\[{1 - me}\]\), expected.*Call it outside",
            r"made \(6,\) \[0, 0, 0, 1, 1, 1\]",
            "reading JaxRuntimeError.*process_allgather",
            rf"shapes .*TreesError.*float64\[{2 + me}\].* on processes \[{1 - me}\]; expected",
            "dtypes .*TreesError",
            "trees .*TreesError",
            "functions .*TreesError.*another function",
            rf"sizes AssertionError the weights: .*float64\[{2 + me}\]",
            "object TypeError.*expected arrays of numbers",
            "foreign ValueError.*none of them of this process",
            r"after gave \[0, 1\]",
            "preempted gave False",
            rf"processes \[0, 1\] \[{2048 * (1 - me)}\]",
            "done",
        ):
            process.expect(pattern)
        assert process.wait() == 0


def test_alone_the_utilities_need_no_job():
    assert multihost_utils.process_allgather(np.ones(2)).shape == (1, 2)
    assert multihost_utils.process_allgather(np.ones((2, 3)), tiled=True).shape == (2, 3)
    assert multihost_utils.broadcast_one_to_all({"a": np.float64(3)})["a"].dtype == np.float64
    assert multihost_utils.reached_preemption_sync_point(1) is False
    multihost_utils.sync_global_devices("x")
    multihost_utils.assert_equal(np.ones(2), "x")


def test_what_no_process_can_send_is_refused():
    with pytest.raises(TypeError, match="given a object, expected arrays of numbers"):
        multihost_utils.process_allgather(object())
    with pytest.raises(ValueError, match=r"processes \[\], none of them of this process, 0"):
        multihost_utils.process_allgather(1.0, devices=[])
    with pytest.raises(TypeError, match="name=3 is a int, expected a str"):
        multihost_utils.sync_global_devices(3)


def test_arrays_of_numpy_become_local_ones():
    import tans

    mesh = tans.make_mesh((1,), ("i",))
    local = multihost_utils.global_array_to_host_local_array(np.ones(2), mesh, tans.P("i"))
    assert local.tolist() == [1, 1]
    for convert in (
        multihost_utils.host_local_array_to_global_array,
        multihost_utils.global_array_to_host_local_array,
    ):
        with pytest.raises(TypeError, match="global_mesh is a NoneType, expected a Mesh"):
            convert(np.ones(2), None, tans.P("i"))


@pytest.mark.parametrize(
    "convert",
    [
        multihost_utils.host_local_array_to_global_array,
        multihost_utils.global_array_to_host_local_array,
    ],
)
def test_on_one_process_the_conversions_can_be_transformed(convert):
    import tans

    mesh = tans.make_mesh((1,), ("i",))
    function = lambda x: 2 * convert(x, mesh, tans.P("i"))  # noqa: E731
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(tans.jit(function)(x), 2 * x)
    np.testing.assert_array_equal(tans.vmap(function)(np.stack([x, x])), 2 * np.stack([x, x]))
    np.testing.assert_array_equal(tans.grad(lambda x: function(x).sum())(x), [2, 2, 2])


def test_a_missing_spec_is_an_error():
    import tans

    mesh = tans.make_mesh((1,), ("i",))
    for convert in (
        multihost_utils.host_local_array_to_global_array,
        multihost_utils.global_array_to_host_local_array,
    ):
        with pytest.raises(ValueError, match=r"pspecs is None.*expected a PartitionSpec"):
            convert(np.ones(2), mesh, None)
