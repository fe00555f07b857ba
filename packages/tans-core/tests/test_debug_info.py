"""Names in messages: functions, their arguments, and which files are the user's."""

import functools
import gc

import pytest

from tans_core.debug_info import CallInfo, DebugInfo, is_user_file, name_of, user_line
from tans_core.tree import registry


def names(fun, *args, **kwargs):
    return CallInfo("jit", fun, registry.flatten((args, kwargs))[1]).arg_names


def test_arguments_are_named_by_parameter_and_path():
    def f(x, y, *rest, z):
        pass

    assert names(f, 1, {"w": [2, 3]}, 4, (5,), z=6) == (
        "x",
        "y['w'][0]",
        "y['w'][1]",
        "rest[0]",
        "rest[1][0]",
        "z",
    )


def test_positions_of_dynamic_arguments():
    def f(x, n, y):
        pass

    tree = registry.flatten(((1, 2), {}))[1]
    assert CallInfo("jit", f, tree, positions=[0, 2]).arg_names == ("x", "y")


def test_methods_partials_and_builtins():
    class Model:
        def apply(self, x):
            pass

    model = Model()
    assert names(model.apply, 1) == ("x",)
    assert names(functools.partial(lambda a, b: a, 1), 2) == ("b",)
    assert len(names(dict.get, {}, 2)) == 1
    assert name_of(functools.partial(model.apply)) == "apply"
    assert name_of(Model()) == "Model"


@pytest.mark.parametrize("bound", [False, True])
def test_names_outlive_the_function(bound):
    class Model:
        def apply(self, x, y):
            pass

    def f(x, y):
        pass

    model = Model()
    info = CallInfo("jit", model.apply if bound else f, registry.flatten(((1, [2]), {}))[1])
    del f, model, Model
    gc.collect()
    assert info.fun is None
    assert info.arg_names == ("x", "y[0]")
    assert "test_debug_info.py:" in info.place


def test_place_names_function_line_and_transformation():
    def f():
        pass

    place = DebugInfo("vmap", f).place
    assert place.startswith("f at ")
    assert place.endswith(f":{f.__code__.co_firstlineno}, traced for vmap")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/me/tans_experiments/train.py", True),
        ("/home/me/train.py", True),
        ("/home/user/packages/tans-xla/tests/test_jit.py", True),
        ("C:\\lib\\site-packages\\tans_numpy\\sorting.py", False),
        ("/lib/site-packages/tans_lax/__init__.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("<stdin>", True),
    ],
)
def test_user_files(path, expected):
    assert is_user_file(path) is expected


def test_no_traceback_has_no_line():
    assert user_line(None) == ""
