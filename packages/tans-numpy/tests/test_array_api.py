"""The Python array API standard, 2024.12: names, parameters, and facts about the namespace."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import config_module as config
from tans_xla import devices

LINES = (Path(__file__).parent / "array_api_names.txt").read_text().splitlines()
FUNCTIONS = [line for line in LINES if "(" in line]


def found(name):
    value = jnp
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_the_list_of_the_standard_is_complete():
    assert len(LINES) == 190
    assert len(FUNCTIONS) > 160


@pytest.mark.parametrize("name", [line for line in LINES if "(" not in line])
def test_constants_and_dtypes_exist(name):
    value = found(name)
    assert isinstance(value, float) or value is None or np.dtype(value).name == name


@pytest.mark.parametrize("line", FUNCTIONS, ids=lambda line: line.partition("(")[0])
def test_functions_take_the_arguments_of_the_standard(line):
    name, _, rest = line.partition("(")
    wanted = ast.parse(f"def f({rest}: pass").body[0].args
    signature = inspect.signature(found(name))
    positional = [*wanted.posonlyargs, *wanted.args]
    required = [object()] * (len(positional) - len(wanted.defaults))
    signature.bind(*required)
    signature.bind(*required, *([object()] * len(wanted.defaults)))
    for keyword in wanted.kwonlyargs:
        signature.bind(*required, **{keyword.arg: object()})
    later = wanted.args[len(required) - len(wanted.posonlyargs) :] if wanted.defaults else []
    for keyword in later:
        signature.bind(*required, **{keyword.arg: object()})


def test_arrays_give_the_namespace():
    x = jnp.arange(3)
    assert x.__array_namespace__() is jnp
    assert x.__array_namespace__(api_version="2024.12") is jnp
    with pytest.raises(ValueError, match=r"'1999\.12'"):
        x.__array_namespace__(api_version="1999.12")
    assert jnp.__array_api_version__ >= "2024.12"


@pytest.mark.parametrize("x64", [False, True])
def test_facts_about_dtypes_are_those_of_the_arrays(x64):
    info = jnp.__array_namespace_info__()
    with config.enable_x64(x64):
        defaults = info.default_dtypes(device=devices()[0])
        assert jnp.zeros(1).dtype == defaults["real floating"]
        assert jnp.arange(1).dtype == defaults["integral"]
        assert jnp.argmax(jnp.arange(1)).dtype == defaults["indexing"]
        assert jnp.asarray([1j]).dtype == defaults["complex floating"]
        for name, dtype in info.dtypes().items():
            assert jnp.zeros(1, dtype).dtype.name == name
        assert ("int64" in info.dtypes(kind="integral")) == x64
        assert list(info.dtypes(kind=("bool", "real floating")))[:2] == ["bool", "float32"]
    with pytest.raises(ValueError, match="'x'"):
        info.dtypes(kind="x")


def test_facts_about_devices():
    info = jnp.__array_namespace_info__()
    assert info.devices() == (None, *devices())
    assert info.default_device() is None
    assert info.capabilities()["data-dependent shapes"] is False


def test_unknown_strategies_are_refused():
    x = jnp.arange(3)
    for strategy in ("auto", "gather", "static_slice", "dynamic_slice"):
        assert x.at[1].get(strategy=strategy).item() == 1
    with pytest.raises(ValueError, match="'slice'"):
        x.at[1].get(strategy="slice")
