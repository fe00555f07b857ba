"""The line on the terminal while a long compilation runs."""

import io
import re
import sys
import time

import numpy as np
import pytest

import tans
from tans_compiler import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "PERIOD", 0.01)


def compile_something(number):
    def many(x):
        for i in range(40):
            x = tans.numpy.sin(x) + i * number
        return x

    tans.jit(many)(np.ones(3, np.float32))


def test_function_seconds_and_instructions_show_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    compile_something(1)
    monkeypatch.undo()
    found = re.search(r"compiling many: \d+ s, (\d+) instructions", terminal.getvalue())
    assert found is not None
    assert int(found[1]) >= 80
    assert terminal.getvalue().endswith("\x1b[2K")


def test_nothing_shows_elsewhere(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    compile_something(2)
    assert file.getvalue() == ""


def test_quick_compilations_show_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(progress, "DELAY", 60.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    start = time.perf_counter()
    compile_something(3)
    assert time.perf_counter() - start < 30
    assert terminal.getvalue() == ""


def test_a_terminal_that_is_gone_does_not_stop_the_compilation(monkeypatch):
    tried = []

    class Broken(Terminal):
        def write(self, text):
            tried.append(text)
            raise OSError("gone")

    monkeypatch.setattr(sys, "stderr", Broken())
    compile_something(4)
    assert tried


def test_a_failing_compilation_ends_the_line(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(RuntimeError, match="No such compile option"):
        tans.jit(lambda x: x + 1, compiler_options={"not_a_flag": 1})(1.0)
    shown = terminal.getvalue()
    assert shown == "" or shown.endswith("\x1b[2K")


class Logger:
    """What programs put in the place of stderr; it has no `isatty`."""

    def write(self, text):
        return len(text)


class Refusing(Logger):
    def isatty(self):
        raise io.UnsupportedOperation("isatty")


@pytest.mark.parametrize("stream", [Logger(), Refusing(), None])
def test_streams_that_are_no_files(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    compile_something(5)


class Request:
    devices = (None, None)

    def __init__(self, name):
        self.name = name
        self.module = tans.jit(lambda x: x).lower(1.0).compiler_ir()


def test_the_line_has_no_control_characters_and_fits():
    line = progress._Line(Request("a\nb\x1b[31m" + "n" * 300), Terminal())
    text = line.text(3.0)
    assert text.isprintable()
    assert text.startswith("compiling a?b?[31mnnn")
    assert len(text) < 100


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are POSIX's")
@pytest.mark.parametrize("columns", [0, 20, 200])
def test_the_line_is_not_wider_than_the_terminal(columns):
    fcntl, pty, struct, termios = map(__import__, ("fcntl", "pty", "struct", "termios"))
    controller, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with open(end, "w", encoding="utf-8") as stream, open(controller, "rb"):
        line = progress._Line(Request("f"), stream)
        assert line._width() == (columns - 1 if columns else 79)
