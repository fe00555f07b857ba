"""The flags debug_nans and debug_infs: look at results, and find the operation that made a nan.

A compiled program is checked after it ran: through jaxlib's post hook when C++ ran it, and by the
caller when Python did. Its equations are then run one by one to name the first bad one.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import ArrayImpl, ClosedJaxpr, Eqn, Jaxpr, Literal, Var, dtypes
from tans_core.config import debug_infs, debug_nans, post_hook
from tans_core.debug_info import user_line
from tans_core.flags import Flag, unset
from tans_core.tree import registry

type Value = Any
type After = Callable[[Sequence[Value]], None]  # told the results

# Checks by packages above, of a program and its arguments before it runs; None from those that are
# off. Programs that are checked run through Python each time.
program_checks: Final[list[Callable[[ClosedJaxpr, Sequence[Value]], After | None]]] = []


def before_call(closed: ClosedJaxpr, args: Sequence[Value]) -> list[After]:
    """Run the checks of programs that are on; return what to tell the results to."""
    found = [check(closed, args) for check in program_checks]
    return [after for after in found if after is not None]


def enabled() -> bool:
    """Whether results are to be checked on this thread."""
    return debug_nans.value or debug_infs.value


def bad_kind(values: Sequence[Value]) -> str | None:
    """Return "nan" or "inf" when a value has one that its flag forbids."""
    nans, infs = debug_nans.value, debug_infs.value
    for x in values:
        if type(x) is not ArrayImpl or not dtypes.is_inexact(x.aval.dtype) or x.is_deleted():
            continue
        if getattr(getattr(x._sharding, "spec", None), "unreduced", None):
            continue  # addends: their sum is the value
        host = np.asarray(x)
        host = host.astype(np.float32) if host.dtype.kind == "V" else host
        if nans and np.isnan(host).any():
            return "nan"
        if infs and np.isinf(host).any():
            return "inf"
    return None


def check_call(
    outs: Sequence[Value], closed: ClosedJaxpr, args: Sequence[Value], name: str
) -> None:
    """Check the results of a compiled program.

    Raises:
      FloatingPointError: naming the first operation with a bad result, and its line.
    """
    kind = bad_kind(outs)
    if kind is None:
        return
    if any(type(x) is ArrayImpl and x.is_deleted() for x in args):
        culprit = None  # donated, so it can't run again
    else:
        culprit = _locate(closed.jaxpr, [*closed.consts, *args])
    raise FloatingPointError(_text(kind, culprit, name))


def _text(kind: str, culprit: Eqn | None, name: str) -> str:
    given = f"{name}: a result holds {kind}"
    expected = f"expected none, because the flag debug_{kind}s is on."
    if culprit is None:
        return (
            f"{given}; {expected} The operation is unknown: running op by op gave none, or an "
            "argument was donated. Turn donation off to find it."
        )
    line = user_line(culprit.traceback)
    where = f" at {line}" if line else ""
    return f"{given}, first in the result of {culprit.primitive}{where}; {expected}"


def _locate(jaxpr: Jaxpr, values: Sequence[Value]) -> Eqn | None:
    """Run equations one by one; return the first one with a bad result."""
    env: dict[Var, Value] = dict(zip([*jaxpr.constvars, *jaxpr.invars], values, strict=True))
    for eqn in jaxpr.eqns:
        args = [v.val if isinstance(v, Literal) else env[v] for v in eqn.invars]
        # An only equation is the culprit. It must not run: jaxlib refuses a call inside of itself.
        if len(jaxpr.eqns) > 1:
            with debug_nans(False), debug_infs(False):
                outs = eqn.primitive.bind(*args, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs, strict=True))
            if bad_kind(outs) is None:
                continue
        body = eqn.params.get("jaxpr") if eqn.primitive.name == "jit" else None
        inner = _locate(body.jaxpr, [*body.consts, *args]) if body is not None else None
        return inner or eqn
    return None


def _after_hit(fun: Any, args: tuple[Value, ...], kwargs: dict[str, Value], outs: Any) -> None:
    """Check what a call that C++ ran returned."""
    if not enabled():
        return
    results = registry.flatten(outs)[0]
    kind = bad_kind(results)
    if kind is None:
        return
    jitted = getattr(fun, "_jitted", None)
    if jitted is None:
        raise FloatingPointError(_text(kind, None, "a compiled program"))
    with debug_nans(False), debug_infs(False):
        call, program = jitted.trace(args, kwargs)
    check_call(results, program.closed, [*program.concrete_consts(), *call.leaves], jitted.name)


def _watch(flag: Flag, other: Flag) -> Callable[[Any], None]:
    def changed(value: bool | None) -> None:
        on = flag.get_global() if value is None else value
        post_hook.set_local(_after_hit if on or other.value else unset)

    return changed


def _watch_global(other: Flag) -> Callable[[Any], None]:
    def changed(value: bool) -> None:
        post_hook.set_global(_after_hit if value or other.get_global() else None)

    return changed


def install() -> None:
    """Make the two flags set jaxlib's post hook."""
    for flag, other in ((debug_nans, debug_infs), (debug_infs, debug_nans)):
        flag.thread_hooks.append(_watch(flag, other))
        flag.global_hooks.append(_watch_global(other))
    if enabled():  # by the environment
        post_hook.set_global(_after_hit)
