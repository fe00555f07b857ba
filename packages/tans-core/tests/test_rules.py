import threading

import pytest

from tans_core import ContextRule, MissingRuleError, Primitive, RuleTable


@pytest.fixture
def family(tmp_path, monkeypatch):
    folder = tmp_path / "toy_family"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from tans_core import Primitive\ntwo_p = Primitive('two', family=__name__)\n"
    )
    (folder / "columns.py").write_text(
        "from toy_family import two_p\nLOADS = []\nLOADS.append(1)\nTOYS = {two_p: 'the rule'}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import importlib
    import sys

    yield importlib.import_module("toy_family")
    for name in [n for n in sys.modules if n.startswith("toy_family")]:
        del sys.modules[name]


def test_a_row_comes_from_the_familys_column_file(family):
    table = RuleTable("toys", "columns")
    assert len(table) == 0
    assert table[family.two_p] == "the rule"


def test_absence_is_one_error_class():
    table = RuleTable("toys", "columns")
    with pytest.raises(MissingRuleError, match=r"'none' has no toys rule.*register"):
        table[Primitive("none")]
    assert table.find(Primitive("none")) is None


def test_register_refuses_to_replace_and_assignment_replaces(family):
    table = RuleTable("toys", "columns")
    with pytest.raises(ValueError, match="already"):
        table.register(family.two_p, "other")
    table[family.two_p] = "other"
    assert table[family.two_p] == "other"


def test_an_assignment_before_the_column_is_loaded_stays(family):
    table = RuleTable("toys", "columns")
    table[family.two_p] = "mine"
    table.load_family("toy_family")
    assert table[family.two_p] == "mine"


def test_threads_load_a_column_once(family):
    table = RuleTable("toys", "columns")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(table[family.two_p])) for _ in range(16)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == ["the rule"] * 16


def test_context_rule_passes_the_context_first():
    rule = ContextRule(lambda ctx, x, *, n: (ctx, x, n))
    assert rule("ctx", 1, n=2) == ("ctx", 1, 2)
