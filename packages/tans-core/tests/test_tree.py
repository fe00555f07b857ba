"""Pytrees: operations, registration, key paths and located messages."""

import collections
import dataclasses
import functools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tans_core import tree, tree_registry, tree_util
from tans_core.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, Partial, SequenceKey

Point = collections.namedtuple("Point", "x y")
pytrees = st.recursive(
    st.integers() | st.none() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda pair: Point(*pair))
        | st.dictionaries(st.text(max_size=2), inner, max_size=3).map(collections.OrderedDict)
    ),
    max_leaves=8,
)


@given(pytrees)
def test_unflatten_inverts_flatten(value):
    leaves, treedef = tree.flatten(value)
    assert tree.unflatten(treedef, leaves) == value
    assert tree.structure(value) == treedef
    assert tree.map(lambda x: x, value) == value
    assert tree.map_with_path(lambda _, x: x, value) == value
    assert [leaf for _, leaf in tree.leaves_with_path(value)] == leaves


@given(pytrees)
def test_a_tree_is_its_own_prefix(value):
    assert tree.broadcast(value, value) == value


@given(pytrees)
def test_treedefs_pickle(value):
    treedef = tree.structure(value)
    assert pickle.loads(pickle.dumps(treedef)) == treedef


def test_map_over_several_trees_and_is_leaf():
    assert tree.map(lambda x, y: (x, y), {"a": 1}, {"a": [2, 3]}) == {"a": (1, [2, 3])}
    assert tree.map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]


@pytest.mark.parametrize(
    ("prefix", "full", "facts"),
    [
        ([1, 2], [1, 2, 3], r"tree: given a list of length 2; expected length 3"),
        ({"a": (1,)}, {"a": (1, 2)}, r"tree\['a'\]: given a tuple of length 1; expected length 2"),
        ({"a": 1}, {"b": 1}, r"given a dict without \['b'\] and with the unknown keys \['a'\]"),
        ({"a": 1, "b": 2}, {"a": 1}, r"with the unknown keys \['b'\]; expected the keys \['a'\]"),
        ([1], (1,), "given a list of length 1; expected a tuple of length 1"),
        ([1, None], [1, 2], r"tree\[1\]: given None; expected an int"),
        (Point((1,), 2), Point([1], 2), r"tree\.x: given a tuple"),
    ],
)
def test_a_mismatch_is_located(prefix, full, facts):
    with pytest.raises(ValueError, match=facts):
        tree.map(lambda x, y: x, prefix, full)
    with pytest.raises(ValueError, match=r"prefix_tree.*given"):
        tree.broadcast(prefix, full)


def test_reductions():
    assert tree.reduce(lambda a, b: a + b, [1, {"a": 2}]) == 3
    assert tree.reduce(lambda a, b: a + b, [], 5) == 5
    with pytest.raises(TypeError):
        tree.reduce(lambda a, b: a + b, [])
    assert tree.reduce_associative(lambda a, b: (a, b), [1, 2, 3, 4]) == ((1, 2), (3, 4))
    assert tree.reduce_associative(max, [], identity=0) == 0
    with pytest.raises(TypeError, match="identity"):
        tree.reduce_associative(max, [])
    assert tree.all([])
    assert not tree.all([0])


def test_transpose():
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    given = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    expected = {"a": [1, 3], "b": [2, 4]}
    assert tree.transpose(outer, inner, given) == expected
    assert tree.transpose(outer, None, given) == expected
    with pytest.raises(TypeError, match="expected"):
        tree.transpose(outer, inner, [1, 2, 3])
    with pytest.raises(ValueError, match="leaf"):
        tree.transpose(tree.structure([]), inner, [])


def test_key_paths():
    value = {"a": [1, Point(2, Partial(len, 3))]}
    paths = [path for path, _ in tree.leaves_with_path(value)]
    keys = DictKey("a"), SequenceKey(1), GetAttrKey("y"), FlattenedIndexKey(0), SequenceKey(0)
    assert paths[-1] == keys
    assert tree_util.keystr(paths[-1]) == "['a'][1].y[<flat index 0>][0]"
    assert tree_util.keystr(paths[-1], simple=True, separator="/") == "a/1/y/0/0"


def test_is_leaf_may_take_the_path():
    found = tree.leaves_with_path(
        [1, [2, 3]], lambda path, _: len(path) == 1, is_leaf_takes_path=True
    )
    assert [leaf for _, leaf in found] == [1, [2, 3]]


def test_default_dict_sorts_and_keeps_its_factory():
    value = collections.defaultdict(int, b=1, a=2)
    leaves, treedef = tree.flatten(value)
    assert leaves == [2, 1]
    assert treedef.unflatten(leaves).default_factory is int


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weights: object
    name: str = tree.static(default="layer")


def test_dataclass_with_a_static_field():
    assert tree.leaves(Layer(1)) == [1]
    assert tree.structure(Layer(1, "a")) != tree.structure(Layer(1, "b"))
    assert tree.leaves_with_path(Layer(1))[0][0] == (GetAttrKey("weights"),)
    with pytest.raises(ValueError, match="metadata"):
        tree.map(lambda x, y: x, Layer(1, "a"), Layer(1, "b"))


@dataclasses.dataclass
class Unregistered:
    a: int
    b: int


def test_dataclass_registration_checks_the_fields():
    register = tree_util.register_dataclass
    with pytest.raises(ValueError, match=r"without \['b'\].*drop_fields"):
        register(Unregistered, ["a"], [])
    with pytest.raises(ValueError, match=r"unknown \['c'\]"):
        register(Unregistered, ["a", "b"], ["c"])
    with pytest.raises(TypeError, match="both"):
        register(Unregistered, ["a"])
    with pytest.raises(TypeError, match="int"):
        register(int)


def test_classes_register_by_decorator():
    @tree_util.register_pytree_with_keys_class
    class Pair:
        def __init__(self, *parts):
            self.parts = parts

        def tree_flatten_with_keys(self):
            return [(GetAttrKey(f"p{i}"), p) for i, p in enumerate(self.parts)], None

        @classmethod
        def tree_unflatten(cls, aux, parts):
            return cls(*parts)

    assert tree.map(lambda x: x + 1, Pair(1, 2)).parts == (2, 3)
    assert tree.leaves_with_path(Pair(1))[0][0] == (GetAttrKey("p0"),)
    with pytest.raises(ValueError, match="Duplicate"):
        tree_util.register_pytree_node(Pair, lambda x: ((), None), lambda aux, xs: None)


def test_static_class_has_no_leaves():
    @tree_util.register_static
    @dataclasses.dataclass(frozen=True)
    class Setting:
        value: int

    assert tree.leaves(Setting(1)) == []
    assert tree.map(lambda x: x, [Setting(1), 2]) == [Setting(1), 2]


def test_partial_keeps_nested_arguments_static():
    inner = functools.partial(lambda mode, x, y: (mode, x, y), "mode")
    add = Partial(inner, 1)
    assert tree.leaves(add) == [1]
    assert add(2) == ("mode", 1, 2)
    assert tree.structure(add) == tree.structure(Partial(inner, 5))
    assert tree.map(lambda x: x + 1, add)(0) == ("mode", 2, 0)


def test_queries():
    assert tree_util.all_leaves([1, "a"])
    assert not tree_util.all_leaves([1, []])
    assert tree_util.all_leaves([(1,)], is_leaf=lambda x: isinstance(x, tuple))
    assert tree_util.is_tree_node(list)
    assert not tree_util.is_tree_node(int)
    assert tree_util.treedef_is_leaf(tree.structure(1))
    one, two = tree.structure(1), tree.structure([1, 2])
    assert tree_util.treedef_children(tree_util.treedef_tuple([one, two])) == [one, two]
    assert list(tree_util.flatten_one_level([1, [2]])[0]) == [1, [2]]
    assert list(tree_util.flatten_one_level_with_keys({"a": 1})[0]) == [(DictKey("a"), 1)]
    with pytest.raises(ValueError, match="int"):
        tree_util.flatten_one_level(1)


def test_our_registry_is_not_jaxlibs_default():
    assert tree_util.default_registry is tree_registry.registry
