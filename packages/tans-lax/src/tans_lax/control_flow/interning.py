"""One body for equal programs: a closure made anew at each call is traced, but not compiled, anew.

Bodies are compared by identity everywhere else (memos of transformations, compiled code), so equal
ones made by the same source code are made one object here.
"""

import threading
from collections.abc import Hashable
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from tans_core.cache import register_cache
from tans_core.config import trace_context
from tans_core.jaxpr import Atom, ClosedJaxpr, Literal
from tans_core.primitive import param_types

_lock: Final = threading.Lock()
_BODIES: Final[WeakValueDictionary[Any, ClosedJaxpr]] = WeakValueDictionary()


def interned(code: Any, body: ClosedJaxpr) -> ClosedJaxpr:
    """Return the first body that `code` made and that equals `body`; it has no constants.

    Args:
      code: the code object of the traced function: equations of another function would have other
        source lines.
      body: the program.
    """
    try:
        key = (code, trace_context(), _fingerprint(body))
        with _lock:
            return _BODIES.setdefault(key, body)
    except TypeError:  # a param that can't be hashed
        return body


def _clear() -> None:
    with _lock:
        _BODIES.clear()


register_cache("interned bodies", _clear)


def _fingerprint(body: ClosedJaxpr) -> Hashable:
    jaxpr = body.jaxpr
    number: dict[Any, int] = {}
    for var in jaxpr.invars:
        number[var] = len(number)
    parts: list[Any] = [body.in_avals]
    for eqn in jaxpr.eqns:
        op = eqn.op
        atoms = tuple(number[v] if v in number else _literal(v) for v in eqn.invars)
        types = param_types(op.primitive, op.params)
        parts.append((op.primitive, atoms, *op.params.items(), *types, op.out_avals, op.effects))
        parts.append((eqn.name_stack, eqn.metadata))
        for var in eqn.outvars:
            number[var] = len(number)
    parts.append(tuple(number[v] if v in number else _literal(v) for v in jaxpr.outvars))
    key = tuple(parts)
    hash(key)
    return key


def _literal(atom: Atom) -> Hashable:
    assert isinstance(atom, Literal), atom
    value = atom.val
    # 0.0 equals -0.0 and NaN differs from itself, so the bits are compared.
    bits = value.tobytes() if isinstance(value, np.generic | np.ndarray) else repr(value)
    return (type(value), bits, atom.aval)
