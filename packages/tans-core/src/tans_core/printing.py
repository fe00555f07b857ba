"""The printer of jaxprs, in JAX's notation."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from tans_core import rules
from tans_core._jaxlib import format_document
from tans_core._jaxlib import pretty_printer as pp
from tans_core.dce import drop_unused_outvars
from tans_core.jaxpr import Atom, ClosedJaxpr, DropVar, Eqn, Jaxpr, Literal, Var

_WIDTH = 80
# Shown when printing a call would only add noise.
_HIDDEN_PARAMS = frozenset(
    "donated_invars in_shardings out_shardings in_layouts out_layouts ctx_mesh "
    "keep_unused inline compiler_options_kvs linear _split_transpose".split()
)
# Not shown either: what the types of the results say, and options that were not given.
_IMPLIED_PARAMS = {
    "broadcast_in_dim": {"shape", "sharding"},
    "dot_general": {"out_sharding"},
    "reshard": {"dst_sharding"},
}
_OPTIONAL_PARAMS = {
    "broadcast_in_dim": {"broadcast_dimensions"},
    "convert_element_type": {"sharding"},
    "dot_general": {"precision", "preferred_element_type"},
}


class Names:
    """Letters for variables, in order of appearance; one set of names per printed program."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.counter: Iterator[int] = count()

    def __call__(self, var: Atom) -> str:
        """Return the name of a variable, or the text of a literal."""
        if type(var) is Literal:
            return literal_text(var)
        if type(var) is DropVar:
            return "_"
        name = self.names.get(var)
        if name is None:
            name = self.names[var] = _letters(next(self.counter))
        return name


def _letters(n: int) -> str:
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = chr(97 + digit) + text
        if n == 0:
            return text
        n -= 1


def literal_text(literal: Literal) -> str:
    """Return the printed form of a literal, such as ``2.0:f32[]``."""
    held: Any = literal.val
    value = held.item() if isinstance(held, np.generic | np.ndarray) else held
    return f"{value}:{literal.aval.str_short()}"


def print_jaxpr(jaxpr: Jaxpr | ClosedJaxpr, width: int = _WIDTH) -> str:
    """Return the printed form of a program."""
    if isinstance(jaxpr, ClosedJaxpr):
        jaxpr = jaxpr.jaxpr
    return format_document(_jaxpr_doc(jaxpr, Names()), width)


def _binder(var: Var, names: Names) -> str:
    return f"{names(var)}:{var.aval.str_short(True)}"


def _jaxpr_doc(jaxpr: Jaxpr, names: Names) -> Any:
    jaxpr = drop_unused_outvars(jaxpr)
    consts = " ".join(_binder(v, names) for v in jaxpr.constvars)
    inputs = " ".join(_binder(v, names) for v in jaxpr.invars)
    head = pp.text(f"{{ lambda {consts}; {inputs}. let" if consts else f"{{ lambda ; {inputs}. let")
    eqns = [doc for eqn in jaxpr.eqns for doc in _eqn_docs(eqn, names)]
    outs = ", ".join(names(v) for v in jaxpr.outvars)
    tail = f"({outs},)" if len(jaxpr.outvars) == 1 else f"({outs})"
    body = pp.nest(4, pp.concat([pp.brk(), _joined(eqns)])) if eqns else pp.brk()
    end = pp.nest(2, pp.concat([pp.brk(), pp.text(f"in {tail} }}")]))
    return pp.group(pp.concat([head, body, end]))


def _param_order(item: tuple[str, Any]) -> tuple[bool, str]:
    return item[0] != "name", item[0]


def _joined(docs: Sequence[Any]) -> Any:
    parts = [docs[0]]
    for doc in docs[1:]:
        parts += [pp.brk("; "), doc]
    return pp.concat(parts)


def _eqn_docs(eqn: Eqn, names: Names) -> list[Any]:
    """Return the equation; for a call with other axis types those of its body, in its place."""
    if eqn.primitive.name != "axes_call":
        return [_eqn_doc(eqn, names)]
    body = drop_unused_outvars(eqn.params["jaxpr"].jaxpr)
    docs = [_cast_doc(v, x, names) for v, x in zip(body.invars, eqn.invars, strict=True)]
    docs += [doc for inner in body.eqns for doc in _eqn_docs(inner, names)]
    docs += [_cast_doc(v, x, names) for v, x in zip(eqn.outvars, body.outvars, strict=True)]
    for inner in body.eqns:  # a body that is called twice has other names the next time
        for var in inner.outvars:
            names.names.pop(var, None)
    return docs


def _cast_doc(var: Var, source: Atom, names: Names) -> Any:
    text = names(source)
    names.names.pop(var, None)
    return pp.text(f"{_binder(var, names)} = reshard {text}")


def _eqn_doc(eqn: Eqn, names: Names) -> Any:
    if eqn.primitive.takes_refs and (rule := rules.printing.find(eqn.primitive)) is not None:
        return pp.text(rule(eqn, names))
    outs = " ".join(_binder(v, names) for v in eqn.outvars)
    params = [
        _param_doc(k, v, names)
        for k, v in sorted(eqn.params.items(), key=_param_order)
        if not (eqn.primitive.call_like and k in _HIDDEN_PARAMS)
        and not _is_implied(eqn.primitive.name, k, v)
    ]
    args = " ".join(names(v) for v in eqn.invars)
    op = pp.text(f"{outs} = {eqn.primitive.name}" if outs else eqn.primitive.name)
    if not params:
        return pp.concat([op, pp.text(f" {args}")])
    inside = pp.nest(2, pp.concat([pp.brk(""), _spaced(params)]))
    brackets = pp.group(pp.concat([pp.text("["), inside, pp.brk(""), pp.text("]")]))
    return pp.concat([op, brackets, pp.text(f" {args}")])


def _is_implied(primitive: str, param: str, value: Any) -> bool:
    if param in _IMPLIED_PARAMS.get(primitive, ()):
        return True
    return param in _OPTIONAL_PARAMS.get(primitive, ()) and (value is None or value == ())


def _spaced(docs: Sequence[Any]) -> Any:
    parts = [docs[0]]
    for doc in docs[1:]:
        parts += [pp.brk(), doc]
    return pp.concat(parts)


def _param_doc(name: str, value: Any, names: Names) -> Any:
    return pp.concat([pp.text(f"{name}="), _value_doc(value, names)])


def _value_doc(value: Any, names: Names) -> Any:
    if isinstance(value, ClosedJaxpr):
        return _jaxpr_doc(value.jaxpr, names)
    if isinstance(value, Jaxpr):
        return _jaxpr_doc(value, names)
    if isinstance(value, tuple | list) and any(isinstance(v, ClosedJaxpr | Jaxpr) for v in value):
        items = [_value_doc(v, names) for v in value]
        inside = pp.nest(2, pp.concat([pp.brk(""), _spaced(items)]))
        return pp.concat([pp.text("("), inside, pp.brk(""), pp.text(")")])
    if isinstance(value, np.dtype):
        return pp.text(value.name)
    if isinstance(value, type):
        return pp.text(value.__name__)
    if callable(value) and hasattr(value, "__name__"):
        return pp.text(value.__name__)
    return pp.text(str(value))
