"""Compilation: how often it happens, its options, its log, and the places others fill."""

import logging

import numpy as np
import pytest

from tans_core import config_module as config
from tans_xla import compile as compiling
from tans_xla import device_put, devices, jit


class Counter:
    """A compilation cache that holds nothing and counts."""

    def __init__(self):
        self.names = []
        self.stored = []

    def get(self, request):
        self.names.append(str(request.module.operation.attributes["sym_name"]).strip('"'))

    def put(self, request, executable, seconds):
        self.stored.append((executable, seconds))


@pytest.fixture
def compiled(monkeypatch):
    counter = Counter()
    monkeypatch.setattr(compiling.slots, "compilation_cache", counter)
    return counter.names


X = np.ones(3, np.float32)


def test_one_compilation_per_type_and_device(toys, compiled):
    def f(x):
        return toys.sin(x)

    g = jit(f)
    for _ in range(2):
        for x in (X, device_put(X), X[:2], 1.0, np.float64(1.0)):
            g(x)
        g(device_put(X, devices()[1]))
    # Weak and strong scalars differ; NumPy arrays and uncommitted arrays don't.
    assert compiled == ["jit_f"] * 5


def test_two_jits_of_one_function_share_programs(toys, compiled):
    def f(x):
        return toys.sin(x)

    jit(f)(X)
    jit(f)(X)
    jit(f, donate_argnums=0)(X)
    assert compiled == ["jit_f"] * 2


def test_nested_functions_are_compiled_with_their_caller(toys, compiled):
    g = jit(lambda x: toys.sin(x))
    h = jit(lambda x: g(g(x)))
    h(X)
    h(X)
    assert len(compiled) == 1


def test_nothing_compiles_in_stages_before_compile(toys, compiled):
    lowered = jit(lambda x: toys.sin(x)).lower(X)
    assert compiled == []
    lowered.compile()
    assert len(compiled) == 1


def test_a_cache_supplies_executables(toys, monkeypatch):
    held = {}

    class Cache:
        def get(self, request):
            return held.get(str(request.module))

        def put(self, request, executable, seconds):
            held[str(request.module)] = executable

    monkeypatch.setattr(compiling.slots, "compilation_cache", Cache())

    def make():
        def f(x):
            return toys.add(x, 1.0)

        return jit(f)

    first, second = make(), make()
    np.testing.assert_array_equal(first(X), second(X))
    assert len(held) == 1


def test_option_items_keep_types():
    items = compiling.option_items({"xla_b": 1, "xla_a": True})
    assert items == (("xla_a", ("bool", True)), ("xla_b", ("int", 1)))


def test_a_failure_is_explained(toys, monkeypatch):
    def explain(error, request):
        return LookupError(request.name, request.items)

    def wave(x):
        return toys.sin(x)

    monkeypatch.setattr(compiling.slots, "explain_failure", explain)
    with pytest.raises(LookupError, match=r"wave.*xla_none"):
        jit(wave, compiler_options={"xla_none": 1})(X)


def test_the_environment_is_checked_before_a_compilation(toys, monkeypatch):
    seen = []
    monkeypatch.setattr(compiling.slots, "check_environment", seen.append)
    jit(lambda x: toys.sin(x))(X)
    assert seen == [True]


@pytest.mark.parametrize("flag", ["optimization_level", "memory_fitting_level"])
def test_a_changed_effort_compiles_again(toys, compiled, flag):
    f = jit(lambda x: toys.sin(x))
    f(X)
    for level in ("O3", "O3", "O1"):
        with getattr(config, flag)(level):
            f(X)
    f(X)
    assert len(compiled) == 3


def test_flags_that_turn_passes_off(toys, compiled):
    def debug_options():
        options = compiling.make_options(devices()[:1], ())
        debug = options.executable_build_options.debug_options
        return (
            debug.xla_backend_optimization_level,
            debug.xla_llvm_disable_expensive_passes,
            debug.xla_disable_hlo_passes,
        )

    f = jit(lambda x: toys.sin(x))
    usual = debug_options()
    with config.disable_most_optimizations(True):
        f(X)
        assert debug_options()[:2] == (0, True)
    with config.compiler_enable_remat_pass(False):
        f(X)
        assert debug_options() == (*usual[:2], "rematerialization")
    f(X)
    assert len(compiled) == 3


def test_tracing_and_compiling_are_logged(toys, caplog):
    def wave(x):
        return toys.sin(x)

    with config.log_compiles(True), caplog.at_level(logging.WARNING):
        jit(wave)(X)
        jit(wave)(X)
    texts = [record.getMessage() for record in caplog.records]
    assert [t.split(" in ")[0] for t in texts] == [
        "traced wave(f32[3])",
        "compiled wave for 1 device(s)",
    ]


@pytest.mark.parametrize(("value", "level"), [("O3", 39), (29, 29), ("UNKNOWN", 0)])
def test_effort_levels_by_name_and_number(value, level):
    items = compiling.option_items({"optimization_level": value})
    build = compiling.make_options(devices()[:1], items).executable_build_options
    assert build.optimization_level == level
    assert build.memory_fitting_level == 29


def test_effort_levels_of_the_configuration(toys):
    with config.memory_fitting_level("O1"):
        build = compiling.make_options(devices()[:1], ()).executable_build_options
    assert build.memory_fitting_level == 19
    with pytest.raises(ValueError, match=r"'O9'.*not a valid CompilerEffortLevel"):
        jit(lambda x: toys.sin(x), compiler_options={"optimization_level": "O9"})(1.0)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ([], TypeError, "given [], expected a dict"),
        (0, TypeError, "given 0, expected a dict"),
        ({"xla_a": None}, TypeError, "given None of type NoneType"),
        ({"xla_a": np.True_}, TypeError, "Write True."),
        ({"xla_a": np.int64(3)}, TypeError, "Write 3."),
        ({3: 3}, TypeError, "expected a name that is a str"),
        ({"xla_a": "\0"}, ValueError, "without null characters"),
        ({"xla_a": "\ud800"}, ValueError, "lone surrogates"),
        ({"xla_\ud800": 1}, ValueError, "lone surrogates"),
        ({"optimization_level": None}, TypeError, "expected a CompilerEffortLevel"),
        ({"individually_defined_output_indices": True}, TypeError, "expected a sequence of ints"),
        ({"individually_defined_output_indices": [1.5]}, TypeError, "expected a sequence of ints"),
    ],
)
def test_options_that_are_none(options, error, text):
    with pytest.raises(error) as caught:
        jit(lambda x: x, compiler_options=options)
    assert text in str(caught.value)
    assert str(caught.value).count(". ") >= 1  # with a remedy


def test_indices_of_outputs_are_passed_on():
    items = compiling.option_items({"individually_defined_output_indices": [0, 1]})
    assert hash(items) == hash(items)
    made = compiling.make_options(devices()[:1], items)
    assert set(made.individually_defined_output_indices) == {0, 1}
