"""The sweep: reading its tables, comparing outcomes, and that explanations are narrow."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))
import compare
import rows


def array(values, dtype="float32", weak=False):
    values = np.asarray(values, dtype)
    return ("value", ("array", dtype, values.shape, weak, values), [])


def test_a_line_is_a_call_for_each_dtype_and_alternative():
    calls = rows.expand("sum max ; few ; jnp.$(@d[3,5]{|, axis=0})")
    assert len(calls) == 2 * 3 * 2
    assert calls[0].text == "jnp.sum(A('i32', (3,5,), 'n', 0))"
    assert rows.expand("f ; f32 ; jnp.$(@d[3], @e[3]p) ; ulp x64")[0].elementwise


def test_the_sweep_is_wide_and_repeats_no_call():
    calls = rows.load()
    assert len(calls) > 40_000
    assert len({(c.text, c.x64) for c in calls}) == len(calls)


@pytest.mark.parametrize(
    ("theirs", "ours", "found"),
    [
        (array([1.0]), array([1.0]), None),
        (array([1.0]), array([1.0 + 2e-7]), None),
        (array([1.0]), array([1.00001]), "value"),
        (array([1.0]), array([1.0], weak=True), "~float32"),
        (array([1], "int32"), array([2], "int32"), "values"),
        (array([0.0]), array([-0.0]), "-0.0"),
        (("error", "ValueError", ""), ("error", "TypeError", "text"), "raises ValueError against"),
        (("error", "ValueError", ""), ("error", "AxisError", "text"), None),
        (array([1.0]), ("error", "TypeError", "text"), "against raises TypeError"),
    ],
)
def test_outcomes_differ_in_type_value_or_class(theirs, ours, found):
    difference = compare.difference(theirs, ours, True)
    assert difference is None if found is None else found in difference


def test_a_row_about_weak_marks_explains_nothing_else():
    pattern = compare.re.compile("")
    row = compare.Row(pattern, pattern, "", weak=True)
    assert row.fits("f()", "", array([1.0]), array([1.0], weak=True), True)
    assert not row.fits("f()", "", array([1.0]), array([2.0], weak=True), True)
    assert not row.fits("f()", "", array([1.0]), array([1.0], "float64"), True)


def test_a_row_with_a_bound_explains_values_within_it():
    pattern = compare.re.compile("")
    row = compare.Row(pattern, pattern, "", within=16)
    assert row.fits("f()", "", array([1.0, 1e-6]), array([1.0, 2e-6]), True)
    assert not row.fits("f()", "", array([1.0, 1e-6]), array([1.0, 1e-3]), True)


def test_a_row_about_sequences_explains_nothing_else():
    pattern = compare.re.compile("")
    row = compare.Row(pattern, pattern, "", sequence=True)
    (_, one, _), (_, other, _) = array([1.0]), array([2.0])
    pairs = ("value", ("list", [one, other]), []), ("value", ("tuple", [one, other]), [])
    assert row.fits("f()", "", *pairs, False)
    assert not row.fits("f()", "", pairs[0], ("value", ("tuple", [other, one]), []), False)


OTHERS = """
jnp.sin(A('f32', (11,), 'n', 0))
jnp.sum(A('f32', (3,5,), 'n', 0))
jnp.reshape(A('f32', (2,3,5,), 'n', 0), (6, 5))
jnp.max(A('i32', (3,5,), 'n', 0), axis=1)
lax.add(A('f32', (7,), 'n', 0), A('f32', (7,), 'n', 1))
nn.relu(A('f32', (11,), 'n', 0))
jnp.linalg.solve(A('f32', (3,3,), 'm', 0), A('f32', (3,), 'n', 1))
random.normal(key(), (7,))
jsp.special.erf(A('f32', (11,), 'n', 0))
jsp.special.ndtr(A('f32', (11,), 'n', 0))
jnp.sort(A('f32', (7,), 'n', 0))
A('f32', (4,5,), 'n', 0)[1]
jnp.where(True, 1, 2)
jnp.power(A('f32', (7,), 'n', 0), A('f32', (7,), 'n', 1))
jnp.round(A('f32', (7,), 'n', 0), 2)
jnp.clip(A('i32', (7,), 'n', 0), 0, 3)
jnp.histogram(A('f32', (11,), 'n', 0), 4)
lax.reshape(A('f32', (3,4,), 'n', 0), (4, 3))
lax.slice(A('f32', (7,5,), 'n', 0), (1, 0), (5, 5))
lax.pad(A('f32', (3,5,), 'n', 0), A('f32', (), 'n', 1), ((0, 1, 0), (0, 0, 0)))
jsp.linalg.schur(A('f32', (3,3,), 'm', 0))
jsp.stats.norm.pdf(A('f32', (7,), 'n', 0))
jsp.stats.beta.cdf(A('f32', (7,), 'u', 0), 2.0, 3.0)
round(A('f32', (3,), 'n', 0))
A('f32', (5,), 'n', 0).at[1].set(2)
A('i32', (5,), 'n', 0).at[1].power(2)
A('f32', (3,5,), 'n', 0).var()
pow(2.0, 3)
""".strip().split("\n")


@pytest.mark.parametrize("row", range(len(tomllib.loads(compare.TABLE.read_text())["difference"])))
def test_explanations_swallow_no_other_call(row):
    entry = compare.explained()[row]
    assert entry.reason
    found = (
        "value 1.0 against 2.0 at 0",
        "values [1 2] against [2 1]",
        "raises TypeError against ValueError: text",
        "float32[3] [1. 2. 3.] against raises TypeError (text)",
    )
    for call in OTHERS:
        fits = entry.call.search(call) and any(entry.found.search(f) for f in found)
        assert not fits, call
