"""Recording: a ref that has ended is refused at the line that uses it."""

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from tans_core.config import abstract_mesh
from tans_core.debug_info import user_line
from tans_core.jaxpr import Var
from tans_core.primitive import Primitive
from tans_core.refs import is_ref_type
from tans_core.staging import JaxprTrace, get_traceback
from tans_core.state import state
from tans_core.values import typeof
from tans_refs.operations import addupdate_p, free_ref_p, freeze_p, get_p, swap_p

# Variables of refs that have ended, with how and where.
_ended: Final[WeakKeyDictionary[Var, str]] = WeakKeyDictionary()


def _use(primitive: Primitive) -> Callable[..., Any]:
    def rule(trace: JaxprTrace, *args: Any, **params: Any) -> Any:
        if _ended:
            _check(primitive, args[0])
        if abstract_mesh.value is not None:
            _check_reach(primitive, args[0])
        return trace.record(primitive, args, params)

    return rule


def _end(primitive: Primitive, verb: str) -> Callable[..., Any]:
    def rule(trace: JaxprTrace, ref: Any) -> Any:
        _check(primitive, ref)
        var = getattr(ref, "atom", None)
        own = var is not None and ref._trace is trace and not any(v is var for v in trace.invars)
        if not own:
            raise ValueError(
                f"{primitive.name}: given a ref of type {_type(ref)} that was made outside of the "
                "function that is being traced; expected one made inside: a function can only "
                f"{primitive.name} a ref in the scope that created it. Read it: write ref[...]."
            )
        out = trace.record(primitive, (ref,), {})
        line = user_line(state.source or get_traceback())
        _ended[var] = f"{verb} on line {line}" if line else verb
        return out

    return rule


def _check(primitive: Primitive, ref: Any) -> None:
    var = getattr(ref, "atom", None)
    how = _ended.get(var) if type(var) is Var else None
    if how is not None:
        raise ValueError(
            f"{primitive.name}: given a ref of type {_type(ref)} that was already {how}; expected "
            "a ref that can still be used. Make a new one with new_ref."
        )


def _check_reach(primitive: Primitive, ref: Any) -> None:
    """Refuse a ref from outside of a manual computation: there it would be whole, not a part."""
    inner: Any = getattr(typeof(ref), "inner_aval", None)
    manual = abstract_mesh.value.manual_axes
    if getattr(inner, "is_sharded", False) and inner.sharding.mesh.manual_axes != manual:
        raise ValueError(
            f"{primitive.name}: given a ref of type {_type(ref)} inside of a shard_map that closes "
            "over it; expected a ref that is an argument, since each device has its part. Please "
            "pass the ref as an argument of shard_map, with its entry of in_specs."
        )


def _type(ref: Any) -> str:
    aval = typeof(ref)
    assert is_ref_type(aval)
    return aval.str_short(False)


STAGING: Final = {
    get_p: _use(get_p),
    swap_p: _use(swap_p),
    addupdate_p: _use(addupdate_p),
    freeze_p: _end(freeze_p, "frozen"),
    free_ref_p: _end(free_ref_p, "freed"),
}
