"""Arithmetic, bounds and comparisons of symbolic dimensions, against ints (vector 59)."""

import itertools
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tans.core import max_dim, min_dim
from tans.errors import InconclusiveDimensionOperation
from tans.export import (
    SymbolicScope,
    is_symbolic_dim,
    symbolic_args_specs,
    symbolic_dim_bounds,
    symbolic_shape,
)


@pytest.fixture
def ab():
    a, twice_b = symbolic_shape("a,2*b", constraints=["a>=2", "b<=10"])
    return a, twice_b


def test_v59_bounds_and_printing(ab):
    a, twice_b = ab
    assert symbolic_dim_bounds(a) == (2, inf)
    assert symbolic_dim_bounds(twice_b) == (2, 20)
    assert str(a + twice_b) == "2*b + a"
    assert (a >= 1, a < 2, twice_b > 20) == (True, False, False)
    with pytest.raises(InconclusiveDimensionOperation) as caught:
        _ = a > twice_b
    for fact in ("'a' > '2*b'", "a>=2, b<=10", "constraints="):
        assert fact in str(caught.value)


expressions = st.recursive(
    st.sampled_from(["a", "b", "c", "1", "3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["2", "3", "b"])).map(
            lambda t: f"({' '.join(t)})"
        ),
        st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=50)
@given(expressions)
def test_values_and_bounds_are_those_of_ints(text):
    scope = SymbolicScope(["a >= 2", "b <= 4"])
    (dim,) = symbolic_shape(text, scope=scope)
    low, high = symbolic_dim_bounds(dim)
    for a, b, c in itertools.product((2, 3, 7), (1, 3, 4), (1, 5)):
        expected = eval(text, {"a": a, "b": b, "c": c, "max": max, "min": min})
        found = dim.evaluate({"a": a, "b": b, "c": c}) if is_symbolic_dim(dim) else dim
        assert found == expected
        assert low <= found <= high
    again = symbolic_shape(str(dim), scope=scope)[0]
    assert again == dim
    assert hash(again) == hash(dim)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a*b//a", "b"),
        ("(a*b + a)//a", "b + 1"),
        ("4*a//2", "2*a"),
        ("(2*a + 1)//2", "a"),
        ("(2*a + 1) % 2", "1"),
        ("a//4", "floordiv(a, 4)"),
        ("a - a", "0"),
        ("a^2 - a*a", "0"),
        ("(a+b)*(a-b)", "- b^2 + a^2"),
        ("max(a, a+1)", "a + 1"),
        ("min(a, 1)", "1"),
    ],
)
def test_normal_forms(text, printed):
    assert str(symbolic_shape(text)[0]) == printed


def test_equality_is_false_unless_it_always_holds():
    a, b = symbolic_shape("a, b")
    assert a == a + 0
    assert a != b
    assert a != 1
    assert a - b + b == a
    assert a != "a"


def test_constraints_decide_comparisons():
    scope = SymbolicScope(["a >= b", "c == 2*d", "e < 5"])
    a, b, c, e = symbolic_shape("a, b, c, e", scope=scope)
    assert a >= b
    assert a - b >= 0
    assert 2 * a + 1 > 2 * b
    assert str(c) == "2*d"
    assert c % 2 == 0
    assert e <= 4
    with pytest.raises(InconclusiveDimensionOperation):
        _ = a > b


@pytest.mark.parametrize("use", [int, float, range, lambda d: np.zeros(d), lambda d: [0, 1][d]])
def test_a_python_int_is_needed(use):
    with pytest.raises((InconclusiveDimensionOperation, TypeError)):
        use(symbolic_shape("a")[0])


def test_placeholders_come_from_the_shape():
    assert str(symbolic_shape("b, _, ...", like=(2, 3, 4, 5))) == "(b, 3, 4, 5)"
    assert symbolic_shape(None, like=(2, 3)) == (2, 3)
    (struct,) = symbolic_args_specs((np.ones((3, 4), np.float32),), "b, ...")
    assert str(struct) == "ShapeDtypeStruct(shape=(b, 4), dtype=float32)"
    x, y = symbolic_args_specs((np.ones((3, 4)), np.ones(3)), ("b, ...", "b"))
    assert x.shape[0] == y.shape[0]


@pytest.mark.parametrize(
    ("spec", "options", "fact"),
    [
        ("a b", {}, "given 'a b'"),
        ("f(a, b)", {}, "floordiv, mod, max, min"),
        ("a, ...", {}, "no shape to fill"),
        ("a, _", {"like": (1, None)}, "no shape to fill"),
        ("a, b", {"like": (1,)}, "with 2 dimensions for a value with 1"),
        ("a", {"constraints": ["a ? 2"]}, "the constraint 'a ? 2'"),
        ("a", {"constraints": ["a <= 0"]}, "which no sizes meet"),
        ("a", {"constraints": ["0 >= 1"]}, "which no sizes meet"),
        ("a", {"constraints": ["a + b == 3*c + d"]}, "a single name"),
        ("a", {"constraints": ["a == a + 1"]}, "which no sizes meet"),
        ("a", {"constraints": ["a == 4", "a == 5"]}, "which no sizes meet"),
        ("a // 0", {}, "given 'a // 0'"),
        ("a^b", {}, "given 'a^b'"),
        ("\ud800", {}, "expected names, ints"),
        ("a\0", {}, "expected names, ints"),
        ("3, _", {"like": (2, 3)}, "with size 3 for dimension 0"),
        ("a", {"constraints": ["a >= 2"], "scope": SymbolicScope()}, "both scope and constraints"),
    ],
)
def test_what_can_not_be_read_is_named(spec, options, fact):
    with pytest.raises(ValueError, match="symbolic") as caught:
        symbolic_shape(spec, **options)
    assert fact in str(caught.value)


def test_one_string_is_no_sequence_of_constraints():
    with pytest.raises(ValueError, match="expected a sequence of strings"):
        SymbolicScope("a >= 2")


def test_division_by_zero():
    with pytest.raises(ZeroDivisionError, match="'a' divided by 0"):
        _ = symbolic_shape("a")[0] // 0


def test_scopes_do_not_mix():
    (a,), (other, b) = symbolic_shape("a"), symbolic_shape("a, b", constraints=["a >= 2"])
    assert a != other
    assert {a: 1}.get(other) is None
    for use in (
        lambda: a + other,
        lambda: a - b,
        lambda: b * a,
        lambda: a // b,
        lambda: a % b,
        lambda: a >= other,
        lambda: max_dim(a, b),
    ):
        with pytest.raises(ValueError, match="expected dimensions of one scope") as caught:
            use()
        assert "SymbolicScope(['a >= 2']) made at " in str(caught.value)
        assert "test_symbolic_dims.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("constraints", "text", "printed", "bounds"),
    [
        (["a == 4"], "a*b", "4*b", (4, inf)),
        (["a == b", "b == c"], "a + c", "2*c", (2, inf)),
        (["a == b + c", "b == 4"], "a", "c + 4", (5, inf)),
        (["2*a == b"], "b - a", "a", (1, inf)),
        (["2*a == 3*b"], "4*a", "6*b", (6, inf)),
        (["2*a == 3*b"], "a - b", "- b + a", (1, inf)),
        (["a*b == 12"], "2*a*b + 1", "25", (25, 25)),
        (["floordiv(a, 2) == b"], "a - b", "- b + a", (1, inf)),
        (["mod(a, 4) == 0"], "4*(a//4)", "a", (1, inf)),
        (["max(a, b) == a"], "a - b", "- b + a", (0, inf)),
        (["a <= b + 3", "b <= 4"], "a - b", "- b + a", (-3, 3)),
        (["a == a", "3 >= 2"], "a", "a", (1, inf)),
        ([], "a - a//2", "- floordiv(a, 2) + a", (1, inf)),
        ([], "a - 4*(a//4)", "- 4*floordiv(a, 4) + a", (0, 3)),
        ([], "4*(a//4) + a%4", "a", (1, inf)),
        ([], "b*(a//b) + a%b", "a", (1, inf)),
        ([], "min(a, 5) - min(a, 2)", "min(a, 5) - min(a, 2)", (0, 3)),
        ([], "a - max(a - 3, 0)", "- max(a - 3, 0) + a", (1, 3)),
        ([], "max(a, 3)//2 - 1", "max(floordiv(a, 2), 1) - 1", (0, inf)),
        (["a >= b"], "min(a, b)", "b", (1, inf)),
    ],
)
def test_what_constraints_tell(constraints, text, printed, bounds):
    (dim,) = symbolic_shape(text, scope=SymbolicScope(constraints))
    assert str(dim) == printed
    assert symbolic_dim_bounds(dim) == bounds


def test_names_may_be_words_of_python():
    assert str(symbolic_shape("in, 2*lambda, None")) == "(in, 2*lambda, None)"


def test_the_larger_and_the_smaller_of_sizes():
    a, b = symbolic_shape("a, b", constraints=["a >= 4"])
    assert (str(max_dim(a, b)), str(min_dim(a, 6))) == ("max(a, b)", "min(a, 6)")
    assert max_dim(a, 3) is a
    assert (min_dim(3, a), max_dim(2, 5)) == (3, 5)


def test_powers_are_not_negative():
    with pytest.raises(ValueError, match=r"'a' \*\* -1, expected a power of 0 or more"):
        _ = symbolic_shape("a")[0] ** -1
