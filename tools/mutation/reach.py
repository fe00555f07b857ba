"""A plugin of pytest that notes which tests run which lines of column files.

``pytest -p reach`` with ``REACH_OUT`` in the environment writes there, in JSON, for each column
file and line the tests that ran it, the quickest first, as ``[seconds, test]``.
"""

import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from faults import COLUMNS

KEPT = 2  # cases of a test function that are kept for a line
_TOOL = 4
_lines: dict[str, dict[int, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
_current: set[tuple[str, int]] = set()


def pytest_configure() -> None:
    """Start to watch."""
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(_TOOL, "reach")
    sys.monitoring.register_callback(_TOOL, events.PY_START, _entered)
    sys.monitoring.register_callback(_TOOL, events.LINE, _ran)
    sys.monitoring.set_events(_TOOL, events.PY_START)


def _entered(code: CodeType, _: int) -> Any:
    folder, _, name = code.co_filename.rpartition("/")
    if name in COLUMNS and "/packages/" in folder and code.co_name != "<module>":
        sys.monitoring.set_local_events(_TOOL, code, sys.monitoring.events.LINE)
    return sys.monitoring.DISABLE


def _ran(code: CodeType, line: int) -> Any:
    _current.add(("packages/" + code.co_filename.rpartition("/packages/")[2], line))
    return sys.monitoring.DISABLE


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the lines of one test."""
    _current.clear()
    sys.monitoring.restart_events()
    start = time.perf_counter()
    done = yield
    seconds = round(time.perf_counter() - start, 3)
    for file, line in _current:
        _lines[file][line].append((seconds, item.nodeid))
    return done


def pytest_sessionfinish() -> None:
    """Stop to watch, and write what was noted."""
    sys.monitoring.set_events(_TOOL, sys.monitoring.events.NO_EVENTS)
    out = {
        file: {n: _quickest(tests) for n, tests in lines.items()} for file, lines in _lines.items()
    }
    Path(os.environ["REACH_OUT"]).write_text(json.dumps(out))


def _quickest(tests: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Keep some cases of each test function; those that come first are of different functions."""
    place: Counter[str] = Counter()
    ranked = []
    for seconds, test in sorted(tests):
        function = test.partition("[")[0]
        ranked.append((place[function], seconds, test))
        place[function] += 1
    return [(seconds, test) for rank, seconds, test in sorted(ranked) if rank < KEPT]
