"""Every case of the acceptance list has a test that bears its name."""

import re
from pathlib import Path

CASES = {f"A{number:02}" for number in range(1, 29)}


def test_no_case_is_without_a_test():
    text = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    names = re.findall(r"def test_((?:A\d\d_)+)", text)
    assert {case for name in names for case in name.rstrip("_").split("_")} == CASES
