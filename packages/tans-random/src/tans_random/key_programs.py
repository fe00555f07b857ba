"""The check of key reuse in programs: follow the keys through the equations before they run."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import ClosedJaxpr, Eqn, Jaxpr, Literal, config
from tans_core.debug_info import user_line
from tans_core.errors import KeyReuseError
from tans_random.key_array import KeyArray, KeyDtype
from tans_random.key_uses import KeyUses
from tans_xla.debug_checks import program_checks

type States = list[KeyUses | None]  # one per value, None for values without keys


def _spread(users: np.ndarray, params: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    strides = [0] * len(shape)
    for source, target in enumerate(params["broadcast_dimensions"]):
        if users.shape[source] == shape[target]:
            strides[target] = users.strides[source]
    return np.lib.stride_tricks.as_strided(users, shape, strides)


def _sliced(users: np.ndarray, params: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    del shape
    starts, limits = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or (1,) * len(starts)
    return users[tuple(map(slice, starts, limits, strides))]


def _reshaped(users: np.ndarray, params: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    del params
    return users.reshape(shape)


# Operations whose results are keys of the operand: a use of one is a use of the other.
_VIEWS: Final[dict[str, Callable[[np.ndarray, dict[str, Any], tuple[int, ...]], np.ndarray]]] = {
    "broadcast_in_dim": _spread,
    "slice": _sliced,
    "transpose": lambda users, params, shape: users.transpose(params["permutation"]),
    **dict.fromkeys(["copy", "device_put", "expand_dims", "reshape", "squeeze"], _reshaped),
}


def _states_of(values: Sequence[Any]) -> States:
    return [x.uses if type(x) is KeyArray else None for x in values]


def _copies(states: States) -> States:
    return [None if s is None else KeyUses(s.users.copy()) for s in states]


class _Check:
    """One walk through a program; `undo` takes its notes back."""

    def __init__(self) -> None:
        self._before: list[tuple[np.ndarray, np.ndarray]] = []

    def undo(self) -> None:
        for users, before in reversed(self._before):
            users[...] = before

    def run(self, jaxpr: Jaxpr, inputs: States) -> States:
        """Follow the keys through a program; return the states of its results."""
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))
        for eqn in jaxpr.eqns:
            given = [None if isinstance(v, Literal) else env[v] for v in eqn.invars]
            env.update(zip(eqn.outvars, self._equation(eqn, given), strict=True))
        return [None if isinstance(v, Literal) else env[v] for v in jaxpr.outvars]

    def closed(self, closed: ClosedJaxpr, inputs: States) -> States:
        return self.run(closed.jaxpr, [*_states_of(closed.consts), *inputs])

    def _equation(self, eqn: Eqn, given: States) -> States:
        name, params = eqn.primitive.name, eqn.params
        if name == "random_consume":
            self._note(given[0], params["used_by"], eqn)
            return [None]
        if name == "scan":
            outs = self._scan(eqn, given)
        elif name == "while":
            outs = self._while(eqn, given)
        elif name == "cond":
            outs = self._cond(given[1:], params["branches"])
        elif (body := _body(params, len(given))) is not None:
            outs = self.closed(body, given)
        else:
            outs = self._moved(eqn, given)
        return [
            (KeyUses.none(v.aval.shape) if out is None else out) if _holds_keys(v) else None
            for v, out in zip(eqn.outvars, outs, strict=True)
        ]

    def _note(self, state: KeyUses | None, name: str, eqn: Eqn) -> None:
        if state is not None:
            before = state.users.copy()
            state.note(name, user_line(eqn.traceback) or "")
            self._before.append((state.users, before))

    def _moved(self, eqn: Eqn, given: States) -> States:
        view = _VIEWS.get(eqn.primitive.name)
        outs: States = [None] * len(eqn.outvars)
        if view is not None and given[0] is not None:
            outs[0] = KeyUses(view(given[0].users, eqn.params, eqn.outvars[0].aval.shape))
        elif eqn.primitive.name in ("concatenate", "stack"):
            for state in given:
                self._note(state, eqn.primitive.name, eqn)
        return outs

    def _cond(self, given: States, branches: Sequence[ClosedJaxpr]) -> States:
        """Keys that one of the branches uses are used."""
        inputs = [_copies(given) for _ in branches]
        results = [self.closed(b, i) for b, i in zip(branches, inputs, strict=True)]
        self._merge(given, inputs)
        return [_union(states) for states in zip(*results, strict=True)]

    def _merge(self, states: States, later: Sequence[States]) -> None:
        for state, *news in zip(states, *later, strict=True):
            if state is not None:
                self._before.append((state.users, state.users.copy()))
                state.users[...] = _union(news).users  # pyright: ignore[reportOptionalMemberAccess]

    def _scan(self, eqn: Eqn, given: States) -> States:
        params = eqn.params
        first_x = params["num_consts"] + params["num_carry"]
        inputs = _copies(given[:first_x])
        inputs += [
            KeyUses.none(v.aval.shape[1:]) if s is not None else None
            for s, v in zip(given[first_x:], eqn.invars[first_x:], strict=True)
        ]
        repeats = params["length"] > 1
        outs = self._body(eqn, params["jaxpr"], inputs, given, params["num_consts"], repeats)
        for state, of_step in zip(given[first_x:], inputs[first_x:], strict=True):
            if of_step is not None and (user := of_step.user()):
                self._note(state, user, eqn)
        self._merge(given[:first_x], [inputs[:first_x]])
        return [*outs[: params["num_carry"]], *[None] * (len(outs) - params["num_carry"])]

    def _while(self, eqn: Eqn, given: States) -> States:
        params = eqn.params
        of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
        first = of_cond + of_body
        inputs = _copies(given)
        self._body(eqn, params["cond_jaxpr"], [*inputs[:of_cond], *inputs[first:]],
                   [*given[:of_cond], *given[first:]], len(given) - of_body, True)  # fmt: skip
        outs = self._body(
            eqn, params["body_jaxpr"], inputs[of_cond:], given[of_cond:], of_body, True
        )
        self._merge(given, [inputs])
        return outs

    def _body(
        self, eqn: Eqn, body: ClosedJaxpr, inputs: States, given: States, same: int, repeats: bool
    ) -> States:
        """Follow one step, whose first `same` inputs are the same in each step."""
        outs = self.closed(body, inputs)
        if repeats:
            news = [
                s.user()
                for s, old in zip(inputs[:same], given[:same], strict=True)
                if s is not None and old is not None and (s.users != old.users).any()
            ]
            carried = outs[: len(inputs) - same]
            news += [s.user() for s in carried if s is not None and s.user() is not None]
            if news:
                raise _repeated(eqn, str(news[0]))
        return outs


def _repeated(eqn: Eqn, user: str) -> KeyReuseError:
    line = user_line(eqn.traceback)
    where = f" at {line}" if line else ""
    return KeyReuseError(
        f"{eqn.primitive}{where}: {user} uses the same key in each step; expected another key per "
        "step, because the flag debug_key_reuse is on. Carry the key and split it in the step, or "
        "use random.fold_in(key, step)."
    )


def _union(states: Sequence[KeyUses | None]) -> KeyUses | None:
    first, *rest = states
    if first is None:
        return None
    users = first.users.copy()
    for state in rest:
        unused = users == None  # noqa: E711  (element by element)
        users[unused] = state.users[unused]  # pyright: ignore[reportOptionalMemberAccess]
    return KeyUses(users)


def _holds_keys(v: Any) -> bool:
    return isinstance(getattr(v.aval, "dtype", None), KeyDtype)


def _body(params: dict[str, Any], count: int) -> ClosedJaxpr | None:
    """Return the program of an equation that calls one with its operands."""
    for value in params.values():
        closed = ClosedJaxpr(value, ()) if isinstance(value, Jaxpr) else value
        if isinstance(closed, ClosedJaxpr) and len(closed.in_avals) == count:
            return closed
    return None


def _check_program(
    closed: ClosedJaxpr, values: Sequence[Any]
) -> Callable[[Sequence[Any]], None] | None:
    if not config.debug_key_reuse.value:
        return None
    check = _Check()
    try:
        states = check.run(closed.jaxpr, [*_states_of(closed.consts), *_states_of(values)])
    except KeyReuseError:
        check.undo()
        raise

    def finish(outs: Sequence[Any]) -> None:
        for out, state in zip(outs, states, strict=True):
            if type(out) is KeyArray and state is not None:
                out.share_uses(state)

    return finish


def install() -> None:
    """Let compiled programs be checked before they run."""
    program_checks.append(_check_program)
