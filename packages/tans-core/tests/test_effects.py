"""Effects: equality by class, type sets and joins."""

import pytest

from tans_core import effects


class Print(effects.Effect):
    pass


class Log(Print):
    pass


def test_effects_of_a_class_are_equal():
    assert Print() == Print()
    assert hash(Print()) == hash(Print())
    assert Print() != Log()


def test_type_set_includes_subclasses():
    allowed = effects.EffectTypeSet(Print)
    assert Log() in allowed
    assert effects.Effect() not in allowed
    assert allowed.filter_not_in([Log(), effects.Effect()]) == [effects.Effect()]


def test_join_shares_the_empty_set():
    assert effects.join_effects() is effects.no_effects
    assert effects.join_effects(effects.no_effects, {Print()}) == frozenset({Print()})
    both = effects.join_effects({Print()}, {Log()})
    assert both == {Print(), Log()}


def test_unknown_effects_are_refused_in_control_flow():
    with pytest.raises(NotImplementedError, match=r"scan.*Log"):
        effects.check_control_flow_effects("scan", [Log()])
