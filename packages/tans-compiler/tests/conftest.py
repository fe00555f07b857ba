"""Four virtual CPU devices, a cache directory of the test's own, and text of programs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tans
from tans_compiler import reset_cache
from tans_compiler.disk_cache import signing

tans.config.update("jax_num_cpu_devices", 4)


@pytest.fixture(autouse=True)
def _own_key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's state directory out of the tests."""
    path = tmp_path_factory.mktemp("key") / "key"
    monkeypatch.setenv(signing.VARIABLE, str(path))


@pytest.fixture
def cache_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory in which every program is kept."""
    names = {
        "jax_compilation_cache_dir": str(tmp_path / "programs"),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    old = {name: tans.config.read(name) for name in names}
    for name, value in names.items():
        tans.config.update(name, value)
    reset_cache()
    yield tmp_path / "programs"
    for name, value in old.items():
        tans.config.update(name, value)
    reset_cache()


@pytest.fixture
def stablehlo() -> Callable[..., str]:
    """Function of a program and its arguments: the lowered text."""
    return lambda fun, *args: tans.jit(fun).lower(*args).as_text()


@pytest.fixture
def calls() -> Callable[..., list[str]]:
    """Function of a program and its arguments: attributes of each call of a tagged function."""
    return _call_attributes


def _call_attributes(fun: Callable[..., object], *args: object) -> list[str]:
    found = []
    for line in tans.jit(fun).lower(*args).as_text().splitlines():
        if "call @xla_metadata_call" in line:
            tail = line.partition("frontend_attributes = {")[2]
            found.append(tail.partition("}")[0])
    return found
