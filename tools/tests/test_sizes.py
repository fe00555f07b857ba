import sizes

LIMITS = {
    "files": {"lines": 5, "test_lines": 8},
    "functions": {"lines": 3},
    "budgets": {"a": 4},
    "allow": [{"path": "b/rows.py", "lines": 7, "reason": "a table"}, {"path": "c/*"}],
}
SOURCE = '''"""Module docstring
of two lines."""

import os  # a comment


def f(x):
    """Docstring."""
    # a comment
    y = """a string
that is code"""
    return x, y
'''


def measured(tmp_path, name="m.py", text=SOURCE):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return sizes.measure(path, tmp_path)


def test_code_lines_leave_out_docstrings_comments_and_blanks(tmp_path):
    assert measured(tmp_path).code == 5


def test_functions_are_measured_without_their_docstring(tmp_path):
    assert measured(tmp_path).functions == [("f", 7, 5)]


def test_a_long_file_is_an_error_unless_allowed(tmp_path):
    lines = "x = 1\n" * 7
    names = ("a/m.py", "a/tests/t.py", "b/rows.py", "c/any.py")
    report = sizes.check([measured(tmp_path, n, lines) for n in names], LIMITS)
    assert [e.split(":")[0] for e in report.errors] == ["a/m.py"]


def test_a_long_function_is_a_warning(tmp_path):
    report = sizes.check([measured(tmp_path, "b/rows.py", SOURCE)], LIMITS)
    assert "f has 5 lines" in report.warnings[0]


def test_a_package_over_its_budget_is_an_error():
    assert sizes.check_budgets({"a": 5, "b": 900}, LIMITS)[0].startswith("a: 5 code lines")
    assert sizes.check_budgets({"a": 4}, LIMITS) == []
