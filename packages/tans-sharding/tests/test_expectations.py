"""`communication` and `expect_communication` on programs that are compiled here."""

import json
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import communication, expect_communication


@pytest.fixture
def x(mesh: Any) -> Any:
    return tans.reshard(np.ones((8, 8), np.float32), P("X", "Y"))


def sums(x: Any) -> Any:
    return x.sum(0)


def test_report_of_every_stage(x: Any) -> None:
    jitted = tans.jit(sums)
    stages = [
        jitted.lower(x).compile(), jitted.lower(x), jitted.trace(x), communication(sums, x)
    ]  # fmt: skip
    reports = [communication(stage) for stage in stages]
    reports += [communication(jitted, x), communication(sums, x)]
    for report in reports:
        assert [(c.kind, c.axes, c.bytes) for c in report] == [("all-reduce", ("X",), 2 * 4)]


def test_report_from_types_alone(mesh: Any) -> None:
    x = tans.ShapeDtypeStruct((8, 8), np.float32, sharding=tans.NamedSharding(mesh, P("X")))
    assert communication(sums, x).executions("all-reduce", "X") == 1


def test_report_names_the_user_line(x: Any) -> None:
    (found,) = communication(sums, x)
    assert found.source.file == __file__
    assert found.source.function == "sums"
    assert found.source.line == sums.__code__.co_firstlineno + 1
    assert "test_expectations.py" in str(communication(sums, x))


def test_loops_in_loops_multiply(x: Any) -> None:
    def inner(c: Any, _: Any) -> Any:
        return c + c.sum(0), None

    def outer(c: Any, _: Any) -> Any:
        return lax.scan(inner, c, None, length=3)[0], c.sum()

    def program(x: Any) -> Any:
        c, totals = lax.scan(outer, x, None, length=5)
        return lax.fori_loop(0, 7, lambda i, c: c * c.max(), c), totals

    report = communication(program, x)
    counts = {
        (tuple(loop.trips for loop in c.loops), c.axes): c.executions
        for c in report
        if c.axes == ("X",)
    }
    assert counts[(5, 3), ("X",)] == 15
    assert counts[(5,), ("X",)] == 5
    assert counts[(7,), ("X",)] == 7


def test_loops_without_a_known_count_are_unknown(x: Any) -> None:
    def program(x: Any, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, c: c * c.sum(), x)

    report = communication(program, x, tans.reshard(jnp.int32(3), P()))
    assert len(report) > 0
    assert all(c.executions is None for c in report)
    assert report.executions() is None
    assert json.loads(report.to_json())["executions_per_call"] is None
    with pytest.raises(AssertionError, match="unknown"):
        expect_communication({"all-reduce": 3}, report)


def test_branches_are_marked(x: Any) -> None:
    def program(x: Any, p: Any) -> Any:
        return lax.cond(p, lambda x: x.sum(0), lambda x: x.max(0) * 2, x)

    report = communication(program, x, tans.reshard(jnp.array(True), P()))
    assert [(c.kind, c.axes, c.conditional, c.at_most) for c in report] == [
        ("all-reduce", ("X",), True, 1)
    ] * 2


def test_all_collectives_of_reshards(mesh: Any) -> None:
    x = tans.reshard(np.ones((8, 8), np.float32), P("X"))
    assert communication(lambda x: tans.reshard(x, P()), x).executions("all-gather", "X") == 1
    assert communication(lambda x: tans.reshard(x, P(None, "X")), x).executions("all-to-all") == 1
    moved = communication(lambda x: tans.reshard(x, P("Y")), x)
    assert [(c.kind, c.axes, c.whole_axes) for c in moved] == [
        ("collective-permute", ("X", "Y"), False)
    ]
    both = tans.reshard(np.ones((8, 8), np.float32), P(("Y", "X")))
    assert communication(lambda x: tans.reshard(x, P()), both).executions(axes=("X", "Y")) == 1


def test_report_of_something_else() -> None:
    with pytest.raises(TypeError, match="expected a function"):
        communication(3)


# ---- expect_communication -----------------------------------------------------------------------


def test_expectations_that_hold(x: Any) -> None:
    for expected in (
        "all-reduce over X", ["all-reduce over X"], {"all-reduce": 1},
        {"all-reduce over X": 1, "all-gather": 0},
    ):  # fmt: skip
        assert expect_communication(expected, sums, x).executions() == 1
    expect_communication(None, lambda x: x + 1, x)


def test_difference_names_what_differs_and_where_it_is_from(x: Any) -> None:
    with pytest.raises(AssertionError) as caught:
        expect_communication({"all-reduce over Y": 2, "all-gather": 1}, sums, x)
    lines = str(caught.value).splitlines()
    assert "of sums" in lines[0]
    table = {tuple(line.split()) for line in lines[1:]}
    assert ("all-reduce", "over", "Y", "2", "0") in table
    assert ("all-reduce", "over", "X", "0", "1") in table
    assert ("all-gather", "1", "0") in table
    assert "8 bytes, from" in str(caught.value)
    assert "test_expectations.py" in str(caught.value)


def test_block_counts_what_runs_also_when_it_was_compiled_before(x: Any) -> None:
    f = tans.jit(sums)
    f(x)
    f(x)
    with expect_communication({"all-reduce over X": 3}):
        for _ in range(3):
            f(x)
    with pytest.raises(AssertionError, match="differ"), expect_communication(None):
        f(x)
    f(x)
    twice = {"all-reduce over X": 2}
    with pytest.raises(AssertionError, match="differ"), expect_communication(twice):
        x.sum(0)


def test_block_leaves_other_errors_alone(x: Any) -> None:
    with pytest.raises(ZeroDivisionError), expect_communication("all-reduce over X"):
        1 / 0  # noqa: B018
    with expect_communication("all-reduce over X"):
        tans.jit(sums)(x)


def test_decorated_function_is_checked_at_each_call(x: Any) -> None:
    checked = expect_communication("all-reduce over X")(tans.jit(sums))
    checked(x)
    checked(x)
    with pytest.raises(AssertionError, match="differ"):
        checked(tans.reshard(x, P()))
    assert communication(lambda x: checked(x) + checked(x), x).executions() is not None


@pytest.mark.parametrize(
    "expected",
    [{"all-reduce": -1}, {"all-reduce": 1.5}, {"all-reduce": True}, {3: 1}, {"All Reduce": 1}],
    ids=str,
)
def test_expectations_of_another_form(expected: Any) -> None:
    with pytest.raises(ValueError, match="expected a kind and a number"):
        expect_communication(expected)
