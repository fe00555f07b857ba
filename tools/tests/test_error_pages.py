import error_pages


def test_every_public_error_class_has_its_page():
    assert error_pages.faults() == []


def test_a_missing_page_and_a_left_over_one_are_named(tmp_path):
    error_pages.update(tmp_path)
    (tmp_path / "MissingRuleError.md").rename(tmp_path / "OldError.md")
    found = error_pages.faults(tmp_path)
    assert found[0].startswith("MissingRuleError: has no page")
    assert found[1].startswith("OldError: page of an error that does not exist")
