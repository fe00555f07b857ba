"""Derivatives of every primitive, to second order.

For real operands: the tangents by central differences in float64; the two modes through the inner
product <ct, f'(x) t>; and both orders of nesting, forward over reverse and reverse over forward,
which must agree with each other and with central differences of the first derivative. For complex
operands the pairing is bilinear, without conjugates. In float32 and bfloat16 the two modes agree.

A case of each family runs always; all of them, the walk, with ``nox -s derivatives``.
"""

import functools
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import tans
import tans.numpy as jnp


def _sibling(name):
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = _sibling("derivative_cases").CASES
H = 1e-4
TOLERANCE = {"float64": 2e-6, "complex128": 2e-6, "float32": 2e-4, "bfloat16": 0.15}
FACTORIZATIONS = set(
    """
    cholesky det det_of_four eig eigh eigh_vectors lu pinv qr solve svd symmetric_product
    triangular_solve tridiagonal_solve
    """.split()
)
ALWAYS = set(
    """
    acos cbrt cholesky clamp cond checkpoint concatenate conv cumlogsumexp custom_linear_solve
    digamma div dot dynamic_slice erf_inv fft gather igamma jit logistic max pow qr reduce
    reduce_prod ref scan scatter_mul softmax sort top_k triangular_solve window_max
    """.split()
)


def _names(wanted):
    """Return the names of the cases that fit, those of the walk marked."""
    return [
        pytest.param(name, marks=() if name in ALWAYS else pytest.mark.walk)
        for name, case in CASES.items()
        if wanted(name, case)
    ]


REAL = _names(lambda _, case: case.orders > 0)
COMPLEX = _names(lambda _, case: case.complex)
HALF = _names(lambda n, case: case.bfloat16 and case.orders > 0 and n not in FACTORIZATIONS)
SECOND = _names(lambda _, case: case.orders > 1)
SECOND_COMPLEX = _names(lambda _, case: case.complex and case.orders > 1)


@pytest.fixture(autouse=True)
def _wide():
    with tans.enable_x64(True):
        yield


def _random(shape, dtype, rng, low=-1.0, high=1.0):
    x = rng.uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        return (x + 0.3j * rng.uniform(-1, 1, shape)).astype(dtype)
    return x


def _operands(case, dtype, seed=0):
    rng = np.random.default_rng(seed)
    xs = [_random(shape, dtype, rng, low, high) for shape, low, high in case.operands]
    ts = [_random(x.shape, dtype, rng) for x in xs]
    ss = [_random(x.shape, dtype, rng) for x in xs]
    return [tuple(jnp.asarray(x).astype(dtype) for x in group) for group in (xs, ts, ss)]


def _arrays(tree):
    return [np.asarray(x) for x in tans.tree.leaves(tree)]


def _pair(a, b):
    """Return the real part of the bilinear pairing, which holds for any function of two reals."""
    total = 0
    for x, y in zip(_arrays(a), _arrays(b), strict=True):
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        total = total + np.sum(x.astype(wide) * y.astype(wide))
    return float(np.real(total))


def _cotangent(out, seed=1):
    rng = np.random.default_rng(seed)
    return tans.tree.map(
        lambda y: (
            jnp.asarray(_random(y.shape, y.dtype, rng)).astype(y.dtype)
            if y.dtype.kind in "fcV"
            else np.zeros(y.shape, tans.float0)
        ),
        out,
    )


def _shifted(f, xs, ts):
    """Return the central difference of `f` along `ts`."""
    plus = f(*(x + H * t for x, t in zip(xs, ts, strict=True)))
    minus = f(*(x - H * t for x, t in zip(xs, ts, strict=True)))
    return tans.tree.map(lambda a, b: (a - b) / (2 * H), plus, minus)


def _close(found, expected, tolerance):
    for x, y in zip(_arrays(found), _arrays(expected), strict=True):
        scale = max(1.0, float(np.max(np.abs(y), initial=0)))
        np.testing.assert_allclose(x / scale, y / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", REAL)
def test_forward_mode_is_the_central_difference(name):
    case = CASES[name]
    xs, ts, _ = _operands(case, "float64")
    _close(tans.jvp(case.fn, xs, ts)[1], _shifted(case.fn, xs, ts), TOLERANCE["float64"])


@pytest.mark.parametrize("name", COMPLEX)
def test_forward_mode_is_the_central_difference_along_complex_directions(name):
    case = CASES[name]
    xs, ts, _ = _operands(case, "complex128")
    _close(tans.jvp(case.fn, xs, ts)[1], _shifted(case.fn, xs, ts), TOLERANCE["complex128"])


def _inner_products(name, dtype):
    case = CASES[name]
    xs, ts, _ = _operands(case, dtype)
    out, out_dot = tans.jvp(case.fn, xs, ts)
    _, f_vjp = tans.vjp(case.fn, *xs)
    ct = _cotangent(out)
    cts = f_vjp(ct)
    for c, x in zip(cts, xs, strict=True):
        assert (c.dtype, c.shape) == (x.dtype, x.shape)
    return _pair(ct, out_dot), _pair(cts, ts)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_modes_agree(name, dtype):
    forward, reverse = _inner_products(name, dtype)
    tolerance = 1e-9 if dtype == "float64" else TOLERANCE[dtype]
    assert forward == pytest.approx(reverse, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("name", HALF)
def test_modes_agree_in_bfloat16(name):
    forward, reverse = _inner_products(name, "bfloat16")
    assert forward == pytest.approx(reverse, rel=TOLERANCE["bfloat16"], abs=TOLERANCE["bfloat16"])


@pytest.mark.parametrize("name", COMPLEX)
def test_modes_agree_for_complex_numbers(name):
    forward, reverse = _inner_products(name, "complex128")
    assert forward == pytest.approx(reverse, rel=1e-9, abs=1e-9)


def _second_order(name, dtype):
    case = CASES[name]
    xs, ts, ss = _operands(case, dtype)
    ct = _cotangent(case.fn(*xs))
    pull = lambda *xs: tans.vjp(case.fn, *xs)[1](ct)  # noqa: E731
    push = lambda *xs: tans.jvp(case.fn, xs, ts)[1]  # noqa: E731
    forward_over_reverse = tans.jvp(pull, xs, ss)[1]
    reverse_over_forward = tans.vjp(push, *xs)[1](ct)
    return pull, xs, ts, ss, forward_over_reverse, reverse_over_forward


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    pull, xs, ts, ss, along, across = _second_order(name, "float64")
    _close(along, _shifted(pull, xs, ss), 20 * TOLERANCE["float64"])
    symmetric = _pair(along, ts), _pair(across, ss)
    assert symmetric[0] == pytest.approx(symmetric[1], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", SECOND_COMPLEX)
def test_second_derivatives_for_complex_numbers(name):
    pull, xs, ts, ss, along, across = _second_order(name, "complex128")
    _close(along, _shifted(pull, xs, ss), 20 * TOLERANCE["complex128"])
    assert _pair(along, ts) == pytest.approx(_pair(across, ss), rel=1e-7, abs=1e-7)


def _primitives_of(closed):
    for eqn in closed.jaxpr.eqns:
        yield eqn.primitive.name
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if hasattr(inner, "jaxpr") and hasattr(inner, "consts"):
                    yield from _primitives_of(inner)


def _pulled(fn, xs):
    out, f_vjp = tans.vjp(fn, *xs)
    return f_vjp(_cotangent(out))


@functools.cache
def _covered():
    found = set()
    with tans.enable_x64(True):
        for case in CASES.values():
            for dtype in ("float64", *(["complex128"] if case.complex else [])):
                xs, ts, _ = _operands(case, dtype)
                found.update(_primitives_of(tans.make_jaxpr(case.fn)(*xs)))
                both = lambda x, t, fn=case.fn: tans.jvp(fn, x, t)  # noqa: E731
                found.update(_primitives_of(tans.make_jaxpr(both)(xs, ts)))
                if case.orders:
                    back = lambda x, fn=case.fn: _pulled(fn, x)  # noqa: E731
                    found.update(_primitives_of(tans.make_jaxpr(back)(xs)))
    return found


# Where the derivatives of the other primitives are tested.
ELSEWHERE = {
    "integration_tests/test_collective_derivatives.py": """
        all_gather all_gather_invariant all_gather_reduced all_to_all ppermute preduced psum
        pmax pmin psum_invariant pvary reduce_scatter reduced_vary_cast unreduced_psum
        unreduced_reduce_scatter vary_unreduced_cast
    """,
    "packages/tans-sharding/tests/test_manual_collectives.py": """
        pbroadcast ragged_all_to_all
    """,
    "packages/tans-sharding/tests/test_sharded_equals_unsharded.py": "reshard sharding_constraint",
    "packages/tans-sharding/tests/test_axis_types.py": "axes_call",
    "packages/tans-sharding/tests/test_visualization.py": "inspect_sharding",
    "packages/tans-lax/tests/test_linalg_derivatives.py": "cholesky_update ormqr",
    "packages/tans-lax/tests/test_named_operations.py": "dce_sink",
    "packages/tans-lax/tests/test_windows.py": "reduce_window",
    "packages/tans-lax/tests/test_while_loop.py": "while",
    "packages/tans-autodiff/tests/test_custom_vjp.py": "custom_lin custom_vjp_call",
    "packages/tans-autodiff/tests/test_checkpoint_options.py": "remat_opt",
    "packages/tans-autodiff/tests/test_defremat.py": "phase",
    "packages/tans-autodiff/tests/test_implicit.py": "linear_call",
    "packages/tans-autodiff/tests/test_control_flow.py": "debug_callback",
    "packages/tans-hijax/tests/test_ffi.py": "ffi_call",
    "packages/tans-hijax/tests/test_primitives.py": "hi_call hi_lin",
    "packages/tans-hijax/tests/test_types_in_lanes.py": "choose filler rearrange",
    "packages/tans-compiler/tests/test_vectors_metadata.py": """
        xla_metadata_call xla_metadata_value
    """,
    "packages/tans-sharding/tests/test_shard_map_transformations.py": "shard_map",
    "packages/tans-refs/tests/test_vectors_types.py": "free_ref",
    "packages/tans-refs/tests/test_vectors_autodiff.py": "empty_ref",
    "packages/tans-xla/tests/test_callbacks.py": "io_callback pure_callback",
}


def test_every_primitive_is_in_a_case():
    from tans_core import rules

    primitives = _sibling("test_tables").PRIMITIVES
    expected = set()
    for primitive in primitives:
        rule = rules.jvp.find(primitive)
        if rule is None or hasattr(rule, "not_differentiable"):
            continue
        if "zero_derivative" not in getattr(rule, "__qualname__", ""):
            expected.add(primitive.name)
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    missing = expected - _covered() - elsewhere
    assert not missing, sorted(missing)
    assert not elsewhere & _covered(), sorted(elsewhere & _covered())
    assert elsewhere <= expected, sorted(elsewhere - expected)
    root = Path(__file__).parents[1]
    for path in ELSEWHERE:
        text = (root / path).read_text()
        assert any(word in text for word in ("grad(", "jvp", "check_derivatives")), path
