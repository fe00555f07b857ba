import pytest

import dev
import environment


@pytest.mark.parametrize("argv", [[], ["unknown"]])
def test_a_wrong_command_prints_the_usage(argv, capsys):
    assert dev.main(argv) == 2
    assert "demo" in capsys.readouterr().err


def test_help_is_not_an_error(capsys):
    assert dev.main(["--help"]) == 0
    assert "doctor" in capsys.readouterr().out


def test_test_runs_the_session_of_continuous_integration():
    command = dev.command_line("test", "python", ["-x"])
    assert command[:3] == ["python", "-m", "nox"]
    assert command[-4:] == ["-s", "ci", "--", "-x"]


def test_demo_passes_its_arguments_on():
    command = dev.command_line("demo", "python", ["--seed", "1"])
    assert command[1].endswith("digits.py")
    assert command[2:] == ["--seed", "1"]


def test_a_failed_set_up_is_a_message_and_not_a_traceback(monkeypatch, capsys):
    def fail(root, groups):
        raise environment.SetupError("No Python 3.12 or newer was found.")

    monkeypatch.setattr(environment, "prepare", fail)
    assert dev.main(["demo"]) == 1
    assert "No Python 3.12" in capsys.readouterr().err
