"""Random programs on refs, and their meaning in NumPy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import tans.numpy as jnp
from tans import lax, ref

SHAPE = (3, 4)


class Step(NamedTuple):
    """One step of a program.

    Attributes:
      kind: what is done.
      target, source: numbers of refs.
      idx: which part.
      factor: a small number.
      when: None, or the number of the predicate that decides whether the step is done.
    """

    kind: str
    target: int
    source: int
    idx: Any
    factor: int
    when: int | None


class Model:
    """A ref in NumPy."""

    def __init__(self, value: Any) -> None:
        self.value = np.array(value, np.float64)

    def get(self, idx: Any) -> Any:
        """Read a copy."""
        return self.value[idx].copy()

    def set(self, idx: Any, new: Any) -> None:
        """Overwrite."""
        self.value[idx] = new

    def add(self, idx: Any, new: Any) -> None:
        """Add; repeated indices add up."""
        np.add.at(self.value, idx, new)


class Real:
    """The same interface over a ref."""

    def __init__(self, r: Any) -> None:
        self.ref = r

    def get(self, idx: Any) -> Any:
        """Read."""
        return self.ref[idx]

    def set(self, idx: Any, new: Any) -> None:
        """Overwrite."""
        self.ref[idx] = new

    def add(self, idx: Any, new: Any) -> None:
        """Add."""
        ref.addupdate(self.ref, idx, new)


def do(step: Step, refs: Sequence[Any]) -> None:
    """Do one step."""
    a, b = refs[step.target], refs[step.source]
    part = b.get(step.idx)
    if step.kind == "fill":
        a.set(step.idx, part * 0 + step.factor)
    elif step.kind == "copy":
        a.set(step.idx, part)
    elif step.kind == "scale":
        a.set(step.idx, a.get(step.idx) * step.factor)
    elif step.kind == "add":
        a.add(step.idx, part * step.factor)
    else:  # exchange
        old = a.get(step.idx)
        a.set(step.idx, part)
        b.set(step.idx, old)


def run(program: Sequence[Step], refs: Sequence[Any], predicates: Any) -> None:
    """Run a program on models."""
    for step in program:
        if step.when is None or predicates[step.when]:
            do(step, refs)


def run_traced(program: Sequence[Step], refs: Sequence[Any], predicates: Any) -> Any:
    """Run a program on refs; return the sum of what was there before each step."""
    real = [Real(r) for r in refs]
    seen = jnp.float32(0)
    for step in program:
        seen = seen + jnp.sum(real[step.target].get(step.idx))
        if step.when is None:
            do(step, real)
        else:
            lax.cond(predicates[step.when], lambda s=step: do(s, real), lambda: None)
    return seen


def seen_by(program: Sequence[Step], refs: Sequence[Model], predicates: Any) -> float:
    """Run a program on models; return what `run_traced` returns."""
    seen = 0.0
    for step in program:
        seen += refs[step.target].get(step.idx).sum()
        run([step], refs, predicates)
    return seen


def _dim(size: int) -> Any:
    ints = st.integers(-size, size - 1)
    arrays = st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True)
    bounds = st.integers(0, size - 1)
    slices = st.builds(slice, bounds, st.integers(0, size), st.integers(1, 2))
    return st.one_of(ints, slices, arrays.map(np.array))


indices = st.one_of(
    st.just(...),
    _dim(SHAPE[0]),
    st.tuples(_dim(SHAPE[0]), _dim(SHAPE[1])).filter(
        lambda t: len({len(x) for x in t if isinstance(x, np.ndarray)}) < 2
    ),
    st.tuples(st.just(...), _dim(SHAPE[1])),
)


def programs(refs: int = 3, predicates: int = 2) -> Any:
    """Return a strategy for programs."""
    number = st.integers(0, refs - 1)
    step = st.builds(
        Step,
        st.sampled_from(["fill", "copy", "scale", "add", "exchange"]),
        number,
        number,
        indices,
        st.integers(-2, 2),
        st.one_of(st.none(), st.integers(0, predicates - 1)) if predicates else st.none(),
    )
    return st.lists(step, min_size=1, max_size=6)


def values(refs: int = 3, lead: tuple[int, ...] = ()) -> list[Any]:
    """Return different start values."""
    shape = (*lead, *SHAPE)
    size = int(np.prod(shape))
    return [np.arange(size, dtype=np.float32).reshape(shape) + 100 * k for k in range(refs)]
