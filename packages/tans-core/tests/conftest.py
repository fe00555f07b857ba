"""Three primitives that tests trace with; their rules are set by a fixture and taken away."""

import types

import pytest

from tans_core import Primitive, Typed, rules

neg_p = Primitive("neg")
add_p = Primitive("add")
split_p = Primitive("split", multiple_results=True)
print_p = Primitive("print", multiple_results=True)
call_p = Primitive("call", multiple_results=True, call_like=True)


def _add_type(x, y):
    if x.dtype != y.dtype:
        raise TypeError(f"add: {x.str_short()} and {y.str_short()}")
    return x.update(weak_type=x.weak_type and y.weak_type) if x.ndim else y


def _call_dce(used, eqn):
    from tans_core import dce_jaxpr

    body, used_inputs = dce_jaxpr(eqn.params["jaxpr"], used)
    new = eqn.replace(
        params={"jaxpr": body},
        invars=[v for v, u in zip(eqn.invars, used_inputs, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
    )
    return used_inputs, new


TYPES = {
    neg_p: lambda x: x,
    add_p: _add_type,
    split_p: lambda x, *, n: (x,) * n,
    print_p: lambda x: Typed((), frozenset({"print"})),
    call_p: lambda *_, jaxpr: Typed(jaxpr.out_avals, jaxpr.effects),
}


def install():
    rules.types.update(TYPES)
    rules.dce[call_p] = _call_dce


def uninstall():
    for primitive in TYPES:
        rules.types.pop(primitive, None)
    rules.dce.pop(call_p, None)


@pytest.fixture
def toys():
    """The toy primitives with their rules."""
    install()
    yield types.SimpleNamespace(
        neg_p=neg_p, add_p=add_p, split_p=split_p, print_p=print_p, call_p=call_p
    )
    uninstall()
