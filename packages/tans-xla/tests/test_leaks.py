"""Tracers that escape: what messages say of them, and `checking_leaks`."""

import pytest

from tans_core import config_module as config
from tans_core import errors
from tans_xla import jit


@pytest.fixture
def leak(toys):
    """Leak one of a function's values."""

    def run(which):
        box = []

        @jit
        def leaky(x, y):
            box.append({"argument": y["w"], "result": toys.sin(x)}[which])
            return x

        leaky(1.0, {"w": 2.0})
        return box[0]

    return run


USES = {
    "eager": lambda toys, x: toys.sin(x),
    "argument": lambda toys, x: jit(lambda y: toys.sin(y))(x),
    "captured": lambda toys, x: jit(lambda y: toys.add(y, x))(1.0),
    "returned": lambda toys, x: jit(lambda y: x)(1.0),
}


@pytest.mark.parametrize("use", USES)
def test_a_leaked_argument_is_named(toys, leak, use):
    x = leak("argument")
    with pytest.raises(
        errors.UnexpectedTracerError, match=r"argument y\['w'\] in leaky at .*py:\d"
    ):
        USES[use](toys, x)


@pytest.mark.parametrize("use", USES)
def test_a_leaked_result_is_named_by_its_line(toys, leak, use):
    x = leak("result")
    with pytest.raises(
        errors.UnexpectedTracerError, match=r"computed by sin at .*test_leaks.py:\d"
    ):
        USES[use](toys, x)


def test_the_origin_of_a_tracer_is_said_once(toys):
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        jit(lambda flag: 1.0 if flag else 2.0)(1.0)
    assert str(caught.value).count("argument flag in <lambda>") == 1


def test_checking_leaks_finds_what_escapes(toys):
    box = []
    with config.checking_leaks():
        jit(lambda x: toys.sin(jit(toys.sin)(x)))(1.0)
        with pytest.raises(errors.TracerLeakError, match=r"computed by sin .*held by list"):
            jit(lambda x: box.append(toys.sin(x)) or x)(1.0)
