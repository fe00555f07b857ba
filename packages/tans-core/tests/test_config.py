"""Flags: names, types, environment, threads, and their part in jit and trace keys."""

import os
import subprocess
import sys
import threading

import pytest

from tans_core import config, flags
from tans_core.config import config as settings


@pytest.fixture(autouse=True)
def _restore():
    before = {name: flag.get_global() for name, flag in config.all_flags().items()}
    yield
    for name, flag in config.all_flags().items():
        flag.set_global(before[name])


def test_both_spellings_name_one_flag():
    config.update("tans_debug_nans", True)
    assert settings.jax_debug_nans is True
    assert config.jax_debug_nans is True
    assert settings.read("tans_debug_nans") is True


@pytest.mark.parametrize("value", [1, True, "true", "1", "on"])
def test_true_and_one_are_one_setting(value):
    config.update("jax_enable_x64", value)
    assert settings.jax_enable_x64 is True
    assert settings.x64_enabled


def test_unknown_flag_names_the_nearest():
    with pytest.raises(AttributeError, match="jax_enable_x64"):
        config.update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match="debug_nans"):
        _ = settings.jax_debug_nan
    assert not hasattr(settings, "no_such_flag")


@pytest.mark.parametrize(
    ("name", "value", "fact"),
    [
        ("jax_enable_x64", "maybe", "True or False"),
        ("jax_num_cpu_devices", "four", "an int"),
        ("jax_num_cpu_devices", 2.5, "an int"),
        ("jax_default_matmul_precision", "hi", "'high'"),
        ("jax_numpy_rank_promotion", "no", "'allow', 'warn', 'raise'"),
        ("jax_numpy_dtype_promotion", "lax", "'standard', 'strict'"),
    ],
)
def test_a_bad_value_is_refused_and_changes_nothing(name, value, fact):
    before = settings.read(name)
    with pytest.raises(ValueError, match=fact):
        config.update(name, value)
    assert settings.read(name) == before


def test_enum_flags_compare_to_words():
    config.update("jax_numpy_dtype_promotion", "strict")
    assert settings.jax_numpy_dtype_promotion == "strict"
    assert settings.jax_numpy_dtype_promotion is config.NumpyDtypePromotion.STRICT


def test_assignment_names_update():
    with pytest.raises(AttributeError, match=r"config\.update\('jax_enable_x64', True\)"):
        settings.jax_enable_x64 = True


def test_context_manager_nests_and_restores_after_an_error():
    with config.enable_x64(True):
        with config.enable_x64(False):
            assert settings.jax_enable_x64 is False
        assert settings.jax_enable_x64 is True
    with pytest.raises(RuntimeError), config.debug_nans():
        raise RuntimeError
    assert settings.jax_debug_nans is False


def test_context_manager_is_a_reentrant_decorator():
    @config.default_matmul_precision("high")
    def depth(n):
        assert settings.jax_default_matmul_precision == "high"
        return n and depth(n - 1)

    assert depth(3) == 0
    assert settings.jax_default_matmul_precision is None


def test_context_manager_is_for_one_thread():
    seen = []
    with config.enable_x64(True):
        thread = threading.Thread(target=lambda: seen.append(settings.jax_enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.parametrize("name", ["enable_x64", "numpy_rank_promotion", "default_device"])
def test_flags_that_change_programs_are_in_the_trace_context(name):
    flag = getattr(config, name)
    before = config.trace_context()
    value = {"enable_x64": True, "numpy_rank_promotion": "warn", "default_device": "cpu"}[name]
    with flag(value):
        assert config.trace_context() != before
    assert config.trace_context() == before


def test_other_flags_are_not_in_the_trace_context():
    before = config.trace_context()
    with config.log_compiles(True), config.debug_nans(True):
        assert config.trace_context() == before


def test_trace_marker_is_outside_the_trace_context():
    before = config.trace_context()
    config.trace_marker.set_local("tracing")
    try:
        assert config.trace_context() == before
    finally:
        config.trace_marker.set_local(None)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"JAX_ENABLE_X64": "1"}, "True"),
        ({"TANS_ENABLE_X64": "0", "JAX_ENABLE_X64": "1"}, "False"),
    ],
)
def test_environment_sets_the_initial_value(environment, expected):
    program = "from tans_core import config; print(config.jax_enable_x64)"
    environment = {**os.environ, **environment}
    out = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == expected


def test_a_hook_may_veto_an_update():
    def veto(value):
        raise RuntimeError("too late")

    flag = flags.Flag("tans_test_flag", 1, flags.integer)
    flag.global_hooks.append(veto)
    with pytest.raises(RuntimeError, match="too late"):
        flag.update(2)
    assert flag.value == 1


def test_user_context_is_in_the_trace_context():
    context = config.make_user_context(0)
    before = config.trace_context()
    with context("other"):
        assert context.value == "other"
        assert config.trace_context() != before


def test_values_lists_every_flag():
    assert settings.values["jax_enable_x64"] is False
    assert "jax_enable_x64" in dir(settings)
