"""Transposing a scan some of whose carries are not linear inputs.

A carry that depends on nothing linear, such as a loop counter, is computed by a scan of its own and
becomes an array of xs. One that starts from a known value (zeros, say) but takes up linear values
on its way is linear; only its start has no cotangent.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.accumulators import GradAccum
from tans_core.context import Mask
from tans_core.jaxpr import ClosedJaxpr
from tans_core.values import typeof
from tans_core.zeros import LinearInput
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import pruned, with_variables
from tans_lax.control_flow.scan import scan_p

type Value = Any


class CarrySplit(NamedTuple):
    """How to transpose the scan with linear carries only. Indices are those of inputs.

    Attributes:
      ins: inputs of the body in a new order: constants, linear carries, known carries, xs.
      outs: outputs of the body that remain: linear carries, ys.
      linear: the linear carries.
      known: the known carries.
      body: ``(*consts, *known, *xs) -> (*known, *known as given)``, of the inputs in `needed`.
      needed: the inputs that `body` takes.
      num_consts: number of constants that `body` takes.
    """

    ins: tuple[int, ...]
    outs: tuple[int, ...]
    linear: tuple[int, ...]
    known: tuple[int, ...]
    body: ClosedJaxpr
    needed: tuple[int, ...]
    num_consts: int

    def operands(self, operands: Sequence[Value], **params: Any) -> list[Value]:
        """Return the operands in their new order; runs the scan of the known carries."""
        new: dict[int, Value] = {
            i: x if isinstance(x := operands[i], GradAccum) else LinearInput(typeof(x))
            for i in self.linear
        }
        if self.known:
            n = len(self.known)
            outs = scan_p.bind(
                *(operands[i] for i in self.needed),
                jaxpr=self.body, num_consts=self.num_consts, num_carry=n, **params,
            )  # fmt: skip
            new.update(zip(self.known, outs[n:], strict=True))
        return [new.get(i, operands[i]) for i in self.ins]


_MEMO: Final[BodyMemo[CarrySplit]] = BodyMemo()


def split_carry(body: ClosedJaxpr, linear: Mask, num_consts: int, num_carry: int) -> CarrySplit:
    """Split the carries of a scan's body by whether they depend on the linear inputs."""
    key = (linear, num_consts, num_carry)
    return _MEMO.get(body, key, lambda: _split_carry(body, *key))


def _split_carry(body: ClosedJaxpr, linear: Mask, num_consts: int, num_carry: int) -> CarrySplit:
    first_x, n_ins = num_consts + num_carry, len(body.in_avals)
    known = _known_carries(body, linear, num_consts, num_carry)
    carried = [k for k in range(num_carry) if k not in known]
    used_outs = [k in known for k in range(len(body.out_avals))]
    keep = [num_consts <= i < first_x and i - num_consts in known for i in range(n_ins)]
    small, used = pruned(body, used_outs, keep)
    n = sum(used[:num_consts])
    given = small.jaxpr.invars[n : n + len(known)]
    return CarrySplit(
        ins=(
            *range(num_consts),
            *(num_consts + k for k in carried),
            *(num_consts + k for k in known),
            *range(first_x, n_ins),
        ),
        outs=(*carried, *range(num_carry, len(body.out_avals))),
        linear=tuple(num_consts + k for k in carried),
        known=tuple(num_consts + k for k in known),
        body=with_variables(small, outvars=[*small.jaxpr.outvars, *given]),
        needed=tuple(i for i, u in enumerate(used) if u),
        num_consts=n,
    )


def _known_carries(body: ClosedJaxpr, linear: Mask, num_consts: int, num_carry: int) -> list[int]:
    """Return the carries that no linear input and no other carry than these flows into."""
    nothing = [False] * len(body.in_avals)
    reads = []
    for k in range(num_carry):
        _, used = pruned(body, [i == k for i in range(len(body.out_avals))], nothing)
        reads.append([i for i, u in enumerate(used) if u])
    depends = [*linear]
    while True:
        spread = [
            k
            for k in range(num_carry)
            if not depends[num_consts + k] and any(depends[i] for i in reads[k])
        ]
        if not spread:
            return [k for k in range(num_carry) if not depends[num_consts + k]]
        for k in spread:
            depends[num_consts + k] = True
