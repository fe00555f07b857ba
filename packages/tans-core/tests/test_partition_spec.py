import copy
import pickle

import pytest

from tans_core.partition_spec import UNCONSTRAINED, P, PartitionSpec, UnreducedKind


def test_equal_arguments_give_one_object():
    assert P("x", None) is P("x", None)
    assert P(("x",), ()) is P("x", None)
    assert P("x", unreduced={"y"}) is P("x", unreduced=frozenset({"y"}))
    assert P("x") is not P("x", None)


def test_spec_is_not_equal_to_a_tuple():
    assert P("x") != ("x",)
    assert (P("x") == ("x",)) is False


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P(), "P()"),
        (P("x"), "P('x',)"),
        (P("x", None), "P('x', None)"),
        (P(("x", "y")), "P(('x', 'y'),)"),
        (P(UNCONSTRAINED, "x"), "P(UNCONSTRAINED, 'x')"),
        (P(unreduced={"x"}), "P(unreduced={'x'}, unreduced_kind=sum)"),
        (P("y", reduced={"x"}), "P('y', reduced={'x'})"),
        (
            P("z", unreduced={"x"}, reduced={"y"}),
            "P('z', unreduced={'x'}, reduced={'y'}, unreduced_kind=sum)",
        ),
        (
            P(unreduced={"x"}, unreduced_kind=UnreducedKind.max),
            "P(unreduced={'x'}, unreduced_kind=max)",
        ),
    ],
    ids=str,
)
def test_printed_form(spec, text):
    assert repr(spec) == text


@pytest.mark.parametrize(
    "spec", [P(), P("x", ("y", "z")), P("x", unreduced={"y"}), P(UNCONSTRAINED)], ids=str
)
def test_pickle_and_copy_return_the_same_object(spec):
    assert pickle.loads(pickle.dumps(spec)) is spec
    assert copy.deepcopy(spec) is spec


@pytest.mark.parametrize(
    ("arguments", "error", "fact"),
    [
        ({"unreduced": ["x"]}, TypeError, "list"),
        ({"reduced": "x"}, TypeError, "str"),
        ({"unreduced": {None}}, ValueError, "None"),
        ({"unreduced": {"x"}, "reduced": {"x"}}, ValueError, "'x'"),
        ({"unreduced_kind": UnreducedKind.sum}, ValueError, "sum"),
        ({"unreduced": {"x"}, "unreduced_kind": "max"}, TypeError, "'max'"),
    ],
    ids=str,
)
def test_bad_sets_raise(arguments, error, fact):
    with pytest.raises(error, match=fact):
        P(**arguments)


def test_axis_in_partition_and_set_raises():
    with pytest.raises(ValueError, match="dimension 0"):
        P("x", unreduced={"x"})
    with pytest.raises(ValueError, match="reduced"):
        P(None, ("y", "x"), reduced={"x"})


def test_access_to_entries_refuses_sets():
    plain, unreduced = P(None, "x"), P("x", unreduced={"y"})
    assert plain[1] == "x"
    assert plain[:1] == (None,)
    assert list(plain) == [None, "x"]
    assert len(unreduced) == 1
    for access in (lambda: unreduced[0], lambda: list(unreduced)):
        with pytest.raises(ValueError, match="partitions"):
            access()


def test_addition():
    assert P("x") + P("y") is P("x", "y")
    assert P("x") + ("y",) is P("x", "y")  # noqa: RUF005
    assert ("y",) + P("x") is P("y", "x")  # noqa: RUF005
    assert P(unreduced={"x"}) + P("y") is P("y", unreduced={"x"})
    with pytest.raises(TypeError, match="kinds differ"):
        P(unreduced={"x"}) + P(unreduced={"y"}, unreduced_kind=UnreducedKind.max)
    with pytest.raises(TypeError, match="tuple"):
        P("x", unreduced={"y"}) + ("z",)  # noqa: RUF005


def test_update_keeps_what_is_not_given():
    spec = P("x", unreduced={"y"}, unreduced_kind=UnreducedKind.max)
    assert spec.update(partitions=(None, "x")).unreduced_kind is UnreducedKind.max
    assert spec.update(unreduced=set()) is P("x")
    assert P("x").update(reduced={"y"}) is P("x", reduced={"y"})


def test_padded_and_cotangent():
    assert P("x").padded(3) is P("x", None, None)
    assert P("x", "y").padded(1) is P("x", "y")
    assert P("x", unreduced={"y"}).to_cotangent() is P("x", reduced={"y"})
    assert P("x", reduced={"y"}).to_cotangent() is P("x", unreduced={"y"})


def test_index_and_count_canonicalise():
    assert P(None, "x").index(("x",)) == 1
    assert P("x", None, None).count(()) == 2


def test_specs_are_immutable_and_final():
    with pytest.raises(AttributeError, match="immutable"):
        P("x").partitions = ()
    with pytest.raises(TypeError, match="subclass"):
        type("Spec", (PartitionSpec,), {})
