"""Random programs agree with their meaning in NumPy, however they are run."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tans
import tans.numpy as jnp
from tans import jit, lax, new_ref, vmap

_spec = spec_from_file_location("ref_programs", Path(__file__).with_name("programs.py"))
_programs: Any = module_from_spec(_spec)  # type: ignore[arg-type]
sys.modules["ref_programs"] = _programs
_spec.loader.exec_module(_programs)  # type: ignore[union-attr]
SHAPE, Model = _programs.SHAPE, _programs.Model
programs, values = _programs.programs, _programs.values
run_traced, seen_by = _programs.run_traced, _programs.seen_by

relaxed = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
flags = st.tuples(st.booleans(), st.booleans())


def check(refs: Any, models: Any) -> None:
    """Compare refs with models."""
    for r, m in zip(refs, models, strict=True):
        np.testing.assert_array_equal(r[...], m.value)


@relaxed
@given(programs(), flags)
def test_eager_and_jit(program: Any, predicates: Any) -> None:
    # Several refs, and branches that are or are not taken: no write is lost or moved.
    models = [Model(v) for v in values()]
    expected = seen_by(program, models, predicates)
    eager, traced = ([new_ref(v) for v in values()] for _ in range(2))
    assert run_traced(program, eager, predicates) == expected
    check(eager, models)
    f = jit(lambda refs, predicates: run_traced(program, refs, predicates))
    assert f(traced, jnp.array(predicates)) == expected
    check(traced, models)


@relaxed
@given(programs(), flags)
def test_internal_refs_under_jit(program: Any, predicates: Any) -> None:
    models = [Model(v) for v in values()]
    expected = seen_by(program, models, predicates)

    @jit
    def f(xs: Any, predicates: Any) -> Any:
        refs = [new_ref(x) for x in xs]
        seen = run_traced(program, refs, predicates)
        return seen, [tans.freeze(r) for r in refs]

    seen, outs = f(values(), jnp.array(predicates))
    assert seen == expected
    for out, m in zip(outs, models, strict=True):
        np.testing.assert_array_equal(out, m.value)


@relaxed
@given(programs(), flags, st.sampled_from([0, 1, 2]))
def test_vmap(program: Any, predicates: Any, axis: int) -> None:
    starts = values(lead=(2,))
    refs = [new_ref(np.moveaxis(v, 0, axis)) for v in starts]
    mapped = vmap(lambda refs: run_traced(program, refs, predicates), in_axes=axis)
    seen = jit(mapped)(refs)
    for lane in range(2):
        models = [Model(v[lane]) for v in starts]
        assert seen[lane] == seen_by(program, models, predicates)
        for r, m in zip(refs, models, strict=True):
            np.testing.assert_array_equal(np.moveaxis(np.asarray(r[...]), axis, 0)[lane], m.value)


@relaxed
@given(programs(), flags)
def test_scan(program: Any, predicates: Any) -> None:
    # Two refs are closed over, of the third each step sees a row.
    starts = values(2)
    rows = np.arange(24, dtype=np.float32).reshape(2, *SHAPE)
    refs, stack = [new_ref(v) for v in starts], new_ref(rows)
    traced = jnp.array(predicates)

    def step(carry: Any, row: Any) -> Any:
        return carry, run_traced(program, [*refs, row], traced)

    _, seen = jit(lambda stack: lax.scan(step, 0, stack))(stack)
    models = [Model(v) for v in starts]
    for i in range(2):
        row = Model(rows[i])
        assert seen[i] == seen_by(program, [*models, row], predicates)
        np.testing.assert_array_equal(stack[i], row.value)
    check(refs, models)


@relaxed
@given(programs(predicates=0))
def test_grad(program: Any) -> None:
    # The programs are affine, so the gradient is the difference of two runs.
    def f(x: Any) -> Any:
        refs = [new_ref(x), new_ref(x * 2.0), new_ref(jnp.ones(SHAPE))]
        seen = run_traced(program, refs, ())
        return seen + sum(jnp.sum(r[...] * (k + 1.0)) for k, r in enumerate(refs))

    def model(x: Any) -> float:
        refs = [Model(x), Model(x * 2.0), Model(np.ones(SHAPE))]
        seen = seen_by(program, refs, ())
        return seen + sum((r.value * (k + 1.0)).sum() for k, r in enumerate(refs))

    zero = model(np.zeros(SHAPE))
    basis = np.eye(12).reshape(12, *SHAPE)
    expected = np.array([model(e) - zero for e in basis]).reshape(SHAPE)
    np.testing.assert_allclose(tans.grad(f)(jnp.ones(SHAPE)), expected, rtol=1e-5)
    np.testing.assert_allclose(jit(tans.grad(f))(jnp.ones(SHAPE)), expected, rtol=1e-5)
