"""The communication report: reading compiled programs whose communication is known."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tans_xla.communication import Communication, collectives_of
from tans_xla.communication.hlo_text import Module, num_bytes
from tans_xla.communication.replica_groups import axes_of, covers_axes, parse_groups

AXES = ("x", "y")
SIZES = (2, 4)


def module(*body: str, more: str = "") -> str:
    """Return a module whose entry has the given instructions."""
    lines = "\n".join(f"  {line}" for line in body)
    return f"""HloModule test, num_partitions=8

FileNames
1 "/home/user/train.py"

FunctionNames
1 "step"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=12 end_line=12 column=2 end_column=2}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}


%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}}

{more}
ENTRY %main (p: f32[8,4]) -> f32[8,4] {{
  %p = f32[8,4]{{1,0}} parameter(0)
{lines}
}}
"""


def read(*body: str, more: str = "") -> Communication:
    """Return the report of a module."""
    found = collectives_of(module(*body, more=more), AXES, SIZES)
    return Communication("test", list(zip(AXES, SIZES, strict=True)), found)


GROUPS = {
    "lists": ("{{0,4},{1,5},{2,6},{3,7}}", ("x",)),
    "iota": ("[2,4]<=[8]", ("y",)),
    "transposed iota": ("[4,2]<=[2,4]T(1,0)", ("x",)),
    "all": ("{}", ("x", "y")),
    "named mesh": ("mesh['x'=2,'y'=4] {'y'}", ("y",)),
    "two axes of a mesh": ("mesh['x'=2,'y'=4] {'x','y'}", ("x", "y")),
    "unnamed mesh": ("mesh['axis_0'=2,'axis_1'=4] {'axis_0'}", ("x",)),
    "finer mesh": ("mesh['a'=2,'b'=2,'c'=2] {'b','c'}", ("y",)),
    "parts of one axis": ("mesh['a'=8] {'a':(2)4}", ("y",)),
}


@pytest.mark.parametrize(("text", "axes"), GROUPS.values(), ids=GROUPS.keys())
def test_groups_of_devices_become_mesh_axes(text: str, axes: tuple[str, ...]) -> None:
    groups = parse_groups(text, 8)
    assert sorted(i for group in groups for i in group) == list(range(8))
    assert tuple(AXES[i] for i in axes_of(groups, SIZES)) == axes
    assert covers_axes(groups, SIZES)


def test_groups_that_are_part_of_an_axis_are_marked() -> None:
    (found,) = read(
        "ROOT %r = f32[8,4]{1,0} all-reduce(%p), replica_groups={{0,1},{2,3},{4,5},{6,7}}, "
        "to_apply=%add"
    )
    assert found.axes == ("y",)
    assert not found.whole_axes
    assert found.groups == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_order_of_devices_in_a_mesh_is_followed() -> None:
    groups = parse_groups("mesh['a'=2,'b'=4, device_ids=([0,2,4,6,1,3,5,7])] {'a'}", 8)
    assert groups == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_unknown_form_of_groups_is_named() -> None:
    with pytest.raises(ValueError, match=r"replica_groups: given 'v9\(0\)'"):
        parse_groups("v9(0)", 8)


SHAPES = {
    "f32[8,4]{1,0}": 128,
    "bf16[3]{0}": 6,
    "pred[5]": 5,
    "c64[2]": 16,
    "f8e4m3fn[7]": 7,
    "s4[3]": 2,
    "u32[]": 4,
    "token[]": 0,
    "(f32[2]{0}, /*index=1*/s8[3]{0:T(128)}, token[])": 11,
}


@pytest.mark.parametrize(("shape", "size"), SHAPES.items(), ids=SHAPES.keys())
def test_size_of_shapes(shape: str, size: int) -> None:
    assert num_bytes(shape) == size


KINDS = {
    "all-reduce": ("ROOT %r = f32[8,4] all-reduce(%p), replica_groups={}, to_apply=%add", 128),
    "all-gather": ("ROOT %r = f32[16,4] all-gather(%p), replica_groups=[4,2]<=[8]", 256),
    "reduce-scatter": (
        "ROOT %r = f32[1,4] reduce-scatter(%p), replica_groups=[1,8]<=[8], to_apply=%add",
        128,
    ),
    "all-to-all": ("ROOT %r = f32[8,4] all-to-all(%p), replica_groups=[1,8]<=[8]", 128),
    "collective-permute": (
        "ROOT %r = f32[8,4] collective-permute(%p), source_target_pairs={{0,1},{1,0}}",
        128,
    ),
    "collective-broadcast": (
        "ROOT %r = f32[8,4] collective-broadcast(%p), replica_groups={{0,1}}",
        128,
    ),
}


@pytest.mark.parametrize(("line", "size"), KINDS.values(), ids=KINDS.keys())
def test_bytes_are_those_of_the_larger_side(line: str, size: int) -> None:
    (found,) = read(line)
    assert found.bytes == size
    assert f" {found.kind}(" in line
    assert found.executions == 1
    assert found.loops == ()


def test_combined_all_reduce_counts_once_with_the_bytes_of_all_operands() -> None:
    (found,) = read(
        "%q = f32[4]{0} broadcast(%p), dimensions={}",
        "ROOT %r = (f32[8,4]{1,0}, f32[4]{0}) all-reduce(%p, %q), replica_groups={}, to_apply=%add",
    )
    assert found.bytes == 128 + 16
    assert found.axes == ("x", "y")


ASYNC = {
    "all-reduce": (
        "%s = f32[8,4] all-reduce-start(%p), replica_groups=[1,8]<=[8], to_apply=%add",
        "ROOT %d = f32[8,4] all-reduce-done(%s)",
        128,
    ),
    "all-gather": (
        "%s = (f32[8,4], f32[64,4]) all-gather-start(%p), replica_groups=[1,8]<=[8]",
        "ROOT %d = f32[64,4] all-gather-done(%s)",
        1024,
    ),
    "collective-permute": (
        "%s = (f32[8,4], f32[8,4], u32[], u32[]) collective-permute-start(%p), "
        "source_target_pairs={{0,1}}",
        "ROOT %d = f32[8,4] collective-permute-done(%s)",
        128,
    ),
    "reduce-scatter": (
        "%s = ((f32[8,4]), f32[1,4]) reduce-scatter-start(%p), replica_groups=[1,8]<=[8], "
        "to_apply=%add",
        "ROOT %d = f32[1,4] reduce-scatter-done(%s)",
        128,
    ),
}


@pytest.mark.parametrize("kind", ASYNC)
def test_asynchronous_pairs_count_once(kind: str) -> None:
    start, done, size = ASYNC[kind]
    (found,) = read(start, done)
    assert found.kind == kind
    assert found.bytes == size


def test_collective_wrapped_in_an_asynchronous_computation_counts_once() -> None:
    wrapped = """%wrapped (q: f32[8,4]) -> f32[8,4] {
  %q = f32[8,4] parameter(0)
  ROOT %a = f32[8,4] all-to-all(%q), replica_groups=[1,8]<=[8]
}
"""
    (found,) = read(
        "%s = ((f32[8,4]), f32[8,4], u32[]) async-start(%p), calls=%wrapped",
        "%u = ((f32[8,4]), f32[8,4], u32[]) async-update(%s), calls=%wrapped",
        "ROOT %d = f32[8,4] async-done(%u), calls=%wrapped",
        more=wrapped,
    )
    assert found.kind == "all-to-all"


def test_function_called_twice_communicates_twice() -> None:
    called = """%layer (q: f32[8,4]) -> f32[8,4] {
  %q = f32[8,4] parameter(0)
  ROOT %a = f32[8,4] all-reduce(%q), replica_groups={}, to_apply=%add
}
"""
    report = read(
        "%c = f32[8,4] call(%p), to_apply=%layer",
        "ROOT %d = f32[8,4] call(%c), to_apply=%layer",
        more=called,
    )
    assert report.executions("all-reduce") == 2


def test_branches_are_bounds() -> None:
    branches = "".join(
        f"""%{name} (q: f32[8,4]) -> f32[8,4] {{
  %q = f32[8,4] parameter(0)
  ROOT %a{name} = f32[8,4] {kind}(%q), replica_groups={{}}, to_apply=%add
}}

"""
        for name, kind in (("yes", "all-reduce"), ("no", "all-to-all"))
    )
    for attributes in (
        "branch_computations={%yes, %no}",
        "true_computation=%yes, false_computation=%no",
    ):
        report = read(f"ROOT %c = f32[8,4] conditional(%p, %p, %p), {attributes}", more=branches)
        assert [c.kind for c in report] == ["all-reduce", "all-to-all"]
        assert all(c.conditional and c.executions is None and c.at_most == 1 for c in report)
        assert report.executions() is None
        assert "<=1" in str(report)


METADATA = 'metadata={op_name="f" stack_frame_id=1}'


def counted(limit: str, step: int = 2, test: str = "LT") -> str:
    """Return computations of a loop over an index with an all-reduce in its body."""
    return f"""%increase (n: s32[]) -> s32[] {{
  %n = s32[] parameter(0)
  %two = s32[] constant({step})
  ROOT %more = s32[] add(%n, %two)
}}

%body (c: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {{
  %c = (s32[], f32[8,4]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %j = s32[] copy(%i)
  %v = f32[8,4] get-tuple-element(%c), index=1
  %r = f32[8,4] all-reduce(%v), replica_groups=[2,4]<=[8], to_apply=%add, {METADATA}
  %k = s32[] fusion(%j), kind=kLoop, calls=%increase
  ROOT %t = (s32[], f32[8,4]) tuple(%k, %r)
}}

%test (c2: (s32[], f32[8,4])) -> pred[] {{
  %c2 = (s32[], f32[8,4]) parameter(0)
  %i2 = s32[] get-tuple-element(%c2), index=0
  %limit = {limit}
  ROOT %less = pred[] compare(%i2, %limit), direction={test}
}}
"""


WHILE = "%w = (s32[], f32[8,4]) while(%init), condition=%test, body=%body"
COUNTS = {
    "stated": (
        "s32[] constant(7)",
        2,
        "LT",
        0,
        ', backend_config={"known_trip_count":{"n":"9"}}',
        9,
    ),
    "exact": ("s32[] constant(8)", 2, "LT", 0, "", 4),
    "rounded up": ("s32[] constant(7)", 2, "LT", 0, "", 4),
    "inclusive": ("s32[] constant(8)", 2, "LE", 0, "", 5),
    "empty": ("s32[] constant(3)", 2, "LT", 5, "", 0),
    "downwards": ("s32[] constant(0)", -1, "GT", 3, "", 3),
    "downwards inclusive": ("s32[] constant(0)", -1, "GE", 3, "", 4),
    "wrong direction": ("s32[] constant(7)", -1, "LT", 0, "", None),
    "unequal": ("s32[] constant(7)", 1, "NE", 0, "", None),
    "limit from the carry": ("s32[] get-tuple-element(%c2), index=0", 1, "LT", 0, "", None),
}


@pytest.mark.parametrize("case", COUNTS.values(), ids=COUNTS.keys())
def test_trip_counts_are_stated_or_proved(case: tuple) -> None:
    limit, step, test, start, config, expected = case
    report = read(
        f"%zero = s32[] constant({start})",
        "%z = s32[] copy(%zero)",
        "%init = (s32[], f32[8,4]) tuple(%z, %p)",
        WHILE + config,
        "ROOT %o = f32[8,4] get-tuple-element(%w), index=1",
        more=counted(limit=limit, step=step, test=test),
    )
    (found,) = report
    assert [loop.trips for loop in found.loops] == [expected]
    assert found.executions == expected
    assert found.axes == ("y",)


def test_unknown_start_is_unknown() -> None:
    (found,) = read(
        "%z = s32[] convert(%p)",
        "%init = (s32[], f32[8,4]) tuple(%z, %p)",
        WHILE,
        more=counted(limit="s32[] constant(7)"),
    )
    assert found.executions is None
    assert found.at_most is None
    assert found.bytes_per_call is None


def test_collective_of_a_condition_runs_once_more_than_the_body() -> None:
    more = counted(limit="s32[] constant(4)").replace(
        "  %limit = ",
        "  %v2 = f32[8,4] get-tuple-element(%c2), index=1\n"
        "  %r2 = f32[8,4] all-reduce(%v2), replica_groups={}, to_apply=%add\n  %limit = ",
    )
    report = read(
        "%zero = s32[] constant(0)",
        "%init = (s32[], f32[8,4]) tuple(%zero, %p)",
        WHILE,
        more=more,
    )
    assert [(c.axes, c.executions) for c in report] == [(("x", "y"), 3), (("y",), 2)]


def test_report_as_table_data_and_picture() -> None:
    report = read(
        "%zero = s32[] constant(0)",
        "%init = (s32[], f32[8,4]) tuple(%zero, %p)",
        WHILE,
        'ROOT %g = f32[8,16] all-gather(%p), replica_groups=[2,4]<=[8], metadata={op_name="a&b"}',
        more=counted(limit="s32[] constant(7)"),
    )
    assert report.executions() == 5
    assert report.executions("all-reduce", "y") == 4
    assert report.executions("all-reduce", "x") == 0
    assert report.executions(axes=("y",)) == 5
    assert report.bytes_per_call() == 4 * 128 + 512
    lines = str(report).splitlines()
    assert lines[0] == "communication of test on x=2 x y=4"
    assert re.split(r"  +", lines[3]) == [
        "all-reduce", "y", "128", "4", "4", "512", "train.py:12 (step)",
    ]  # fmt: skip
    assert lines[4].endswith("a&b")
    data = json.loads(report.to_json())
    assert data["executions_per_call"] == 5
    assert data["collectives"][0]["source"]["line"] == 12
    assert data["collectives"][1]["loops"] == []
    picture = ElementTree.fromstring(report.to_svg())
    texts = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "all-reduce over y, 128 bytes, 4 times per call" in texts
    assert "train.py:12" in texts
    assert report[0] in report[:1]
    assert repr(report) == "<Communication of test: 2 collectives>"


def test_report_without_communication() -> None:
    report = read("ROOT %n = f32[8,4] negate(%p)")
    assert len(report) == 0
    assert report.executions() == 0
    assert str(report) == "communication of test on x=2 x y=4: none"
    assert "no communication" in report.to_svg()


def test_text_with_unbalanced_brackets_is_refused() -> None:
    with pytest.raises(ValueError, match="unbalanced brackets"):
        Module(module("%r = (f32[8,4] negate(%p)"))
