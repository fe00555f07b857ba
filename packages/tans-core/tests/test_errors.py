"""Error classes, their texts and pages, and the traceback filter."""

import traceback

import pytest

from tans_core import config, errors, tracebacks


class FakeTracer:
    def describe(self):
        return "traced value of type float32[3]"


@pytest.mark.parametrize(
    ("cls", "bases"),
    [
        (errors.ConcretizationTypeError, (errors.JAXTypeError, TypeError)),
        (errors.TracerBoolConversionError, (errors.ConcretizationTypeError,)),
        (errors.TracerIntegerConversionError, (errors.JAXTypeError, TypeError)),
        (errors.TracerArrayConversionError, (errors.JAXTypeError, TypeError)),
        (errors.NonConcreteBooleanIndexError, (errors.JAXIndexError, IndexError)),
        (errors.UnexpectedTracerError, (errors.JAXTypeError, TypeError)),
        (errors.KeyReuseError, (errors.JAXTypeError, TypeError)),
        (errors.JaxRuntimeError, (RuntimeError,)),
        (errors.JaxprTypeError, (TypeError,)),
        (errors.MissingRuleError, (NotImplementedError,)),
        (errors.TypePromotionError, (ValueError,)),
        (errors.InterfaceMismatchError, (ImportError,)),
    ],
)
def test_base_classes(cls, bases):
    assert all(issubclass(cls, base) for base in bases)


@pytest.mark.parametrize(
    ("cls", "remedy"),
    [
        (errors.ConcretizationTypeError, "static_argnames"),
        (errors.TracerBoolConversionError, "lax.cond"),
        (errors.TracerIntegerConversionError, "lax.fori_loop"),
        (errors.TracerArrayConversionError, "pure_callback"),
        (errors.NonConcreteBooleanIndexError, "jnp.where"),
    ],
)
def test_tracer_errors_name_type_remedy_and_page(cls, remedy):
    text = str(cls(FakeTracer()))
    assert "float32[3]" in text
    assert remedy in text
    assert f"tans.errors.help('{cls.__name__}')" in text


def test_concretization_error_takes_a_context():
    text = str(errors.ConcretizationTypeError(FakeTracer(), "The axis of sum must be known."))
    assert "The axis of sum must be known." in text


def test_every_public_class_has_a_page(capsys):
    for name in errors.__all__:
        if name[0].isupper():
            errors.help(name)
            assert capsys.readouterr().out.startswith(name)
    errors.help(errors.UnexpectedTracerError("x"))
    assert "outlived" in capsys.readouterr().out
    with pytest.raises(KeyError, match="KeyReuseError"):
        errors.help("KeyReuse")


def _library(source):
    namespace = {"__name__": "tans_core.fake", "api_boundary": tracebacks.api_boundary}
    exec(compile(source, "fake.py", "exec"), namespace)
    return namespace


LIBRARY = _library("""
def inner(fun):
    return fun()

@api_boundary
def public(fun):
    return inner(fun)

def fail():
    raise ValueError("inside")
""")


def user_function():
    raise ValueError("user")


def frame_names(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_traceback_keeps_the_users_frames_only():
    with pytest.raises(ValueError, match="user") as caught:
        LIBRARY["public"](user_function)
    assert frame_names(caught.value) == [
        "test_traceback_keeps_the_users_frames_only",
        "user_function",
    ]
    with pytest.raises(ValueError, match="inside") as caught:
        LIBRARY["public"](LIBRARY["fail"])
    assert frame_names(caught.value) == ["test_traceback_keeps_the_users_frames_only"]


def test_filtering_can_be_turned_off():
    with (
        config.traceback_filtering("off"),
        pytest.raises(ValueError, match="inside") as caught,
    ):
        LIBRARY["public"](LIBRARY["fail"])
    assert frame_names(caught.value)[-2:] == ["inner", "fail"]


def test_a_library_can_hide_its_file():
    def fail():
        raise ValueError("x")

    tracebacks.register_exclusion("fake_library.py")
    source = compile("def wrap(fun):\n    fun()\n", "fake_library.py", "exec")
    namespace = {"__name__": "fake_library"}
    exec(source, namespace)
    with pytest.raises(ValueError, match="x") as caught:
        LIBRARY["public"](lambda: namespace["wrap"](fail))
    assert "wrap" not in frame_names(caught.value)
