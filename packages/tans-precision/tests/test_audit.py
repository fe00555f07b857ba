"""The audit: what it runs, what it says, and what it recommends."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tans
import tans.lax as lax
import tans.numpy as jnp
from tans.precision import audit
from tans_precision import emulated_matmul
from tans_precision.auditing import relative_error


@pytest.fixture
def x(rng):
    return rng.normal(size=(24, 24)).astype(np.float32)


def here():
    import inspect

    return inspect.currentframe().f_back.f_lineno


def test_errors_are_those_of_the_operands(x):
    report = audit(lambda x: jnp.dot(jnp.tanh(x), x, precision="highest"), x)
    (line,) = report
    a = np.asarray(jnp.tanh(x))
    exact = a.astype(np.float64) @ x.astype(np.float64)
    for name in ("BF16_BF16_F32", "BF16_BF16_F32_X3", "TF32_TF32_F32"):
        expected = relative_error(emulated_matmul(a, x, name).astype(np.float32), exact)
        assert line.errors[name].error == pytest.approx(expected, rel=1e-3)
        assert line.errors[name].emulated
    assert not line.errors["F32_F32_F32"].emulated
    assert not line.errors["F16_F16_F16"].emulated
    assert line.errors["F64_F64_F64"].error < 1e-7
    assert line.operation == "dot f32[24,24] x f32[24,24]"


def test_emulation_differs_from_what_the_cpu_does(x):
    # The CPU computes this algorithm in float32.
    measured = audit(lambda x: x @ x, x, candidates=["BF16_BF16_F32"], emulate=False)
    emulated = audit(lambda x: x @ x, x, candidates=["BF16_BF16_F32"])
    (error,) = measured.lines[0].errors.values()
    assert error.error < 1e-6
    assert not error.emulated
    (error,) = emulated.lines[0].errors.values()
    assert error.error > 1e-4
    assert "~ emulated, since this machine does not compute it for cpu: BF16_BF16_F32" in str(
        emulated
    )
    assert "emulated" not in str(measured)


def test_lines_of_the_source(x):
    def f(x):
        y = x @ x
        return y @ x, here()

    report = audit(lambda x: f(x)[0], x)
    last = f(x)[1]
    places = [line.place for line in report]
    assert [p.rpartition(":")[2] for p in places] == [str(last - 1), str(last)]
    assert all("test_audit.py" in p for p in places)


def test_loops_branches_and_calls(x):
    @tans.jit
    def layer(c):
        return jnp.tanh(c @ x)

    def f(c):
        c, ys = lax.scan(lambda c, s: (layer(c) * s, c[0]), c, jnp.ones(3))
        c = lax.fori_loop(0, 2, lambda i, c: jnp.tanh(c @ x), c)
        c = lax.while_loop(lambda c: jnp.sum(c) < -1e9, lambda c: c @ x, c)
        c = lax.cond(c[0, 0] < 9, lambda c: tans.checkpoint(layer)(c), lambda c: c @ x, c)
        return c, ys

    report = audit(f, x)
    assert [line.runs for line in report] == [4, 2]
    assert report.unseen == []
    assert report.whole["F64_F64_F64"] == 0.0
    assert report.whole["F32_F32_F32"] < 1e-3 < report.whole["BF16_BF16_F32"]


def test_reverse_scans_run_in_reverse(x):
    def f(c):
        return lax.scan(lambda c, s: (c @ x * s, c[0, 0]), c, jnp.arange(3.0) / 3, reverse=True)

    expected = f(x)
    from tans_precision import programs

    def plain(eqn, values, source):
        assert source is eqn
        return eqn.primitive.bind(*values, **eqn.params)

    found = programs.run(tans.make_jaxpr(f)(x), [x], plain)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert programs.run(
        tans.make_jaxpr(lambda c: lax.scan(lambda c, s: (c @ x, s), c, jnp.zeros(0)))(x), [x], plain
    )[1].shape == (0,)


def test_gradients_and_trees(x):
    params = {"w": x, "b": np.zeros(24, np.float32)}

    def loss(params, x, *, scale):
        return jnp.sum(jnp.tanh(x @ params["w"] + params["b"]) * scale)

    report = audit(tans.grad(loss), params, x, scale=2.0)
    (line,) = report  # forwards and backwards, of the same shapes
    assert line.runs == 2
    assert report.cheapest(tolerance=1.0) == next(iter(report.costs))


def test_batches_and_contractions(rng):
    a, b = (rng.normal(size=s).astype(np.float32) for s in ((3, 4, 5, 6), (6, 3, 7, 4)))
    report = audit(lambda a, b: jnp.einsum("bijk,kbli->bjl", a, b), a, b)
    (line,) = report
    assert line.errors["F64_F64_F64"].error < 1e-7
    assert line.errors["F32_F32_F32"].error < 1e-6
    assert 1e-4 < line.errors["BF16_BF16_F32"].error < 2e-2


def test_large_products_are_sampled(rng):
    a = rng.normal(size=(300, 8)).astype(np.float32)
    (line,) = audit(lambda a: a @ a.T, a, candidates=["BF16_BF16_BF16"])
    assert 1e-4 < line.errors["BF16_BF16_BF16"].error < 5e-2


@pytest.mark.parametrize("platform", ["tpu", "gpu", "cpu"])
def test_convolutions_and_levels(rng, platform):
    x = rng.normal(size=(2, 3, 8, 8)).astype(np.float32)
    w = rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
    report = audit(
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        x,
        w,
        candidates=["default", "high", "highest"],
        platform=platform,
    )
    (line,) = report
    assert line.operation.startswith("conv f32[2,3,8,8]")
    errors = [line.errors[name].error for name in ("default", "high", "highest")]
    if platform == "cpu":
        assert max(errors) < 1e-6
        assert not line.errors["high"].emulated
    else:
        assert errors == sorted(errors, reverse=True)
        assert 1e-4 < errors[0] < 1e-2
        assert errors[2] < 1e-6


def test_a_backend_without_the_algorithm(x):
    report = audit(lambda x: x @ x, x, candidates=["TF32_TF32_F32"], emulate=False)
    (error,) = report.lines[0].errors.values()
    assert error.emulated
    assert 1e-5 < error.error < 1e-2


def test_overflow_is_an_error_without_bound(x):
    report = audit(lambda x: (x * 1e5) @ x, x, candidates=["F16_F16_F32", "F32_F32_F32"])
    assert report.lines[0].errors["F16_F16_F32"].error == float("inf")
    assert report.cheapest() == "F32_F32_F32"
    assert "inf" in str(report)
    assert json.loads(report.to_json())["lines"][0]["errors"]["F16_F16_F32"] is None
    ET.fromstring(report.svg())


def test_integers_complex_numbers_and_nothing():
    z = np.ones((2, 2), np.complex64)
    report = audit(lambda z: (z @ z, jnp.ones((2, 2), int) @ jnp.ones((2, 2), int)), z)
    assert list(report) == []
    assert str(report) == "audit: no matrix products of floats"
    assert report.cheapest() is None
    assert json.loads(report.to_json())["cheapest"] is None


def test_ragged_products(x):
    sizes, w = np.array([10, 14], np.int32), np.stack([x, -x])
    names = ["BF16_BF16_F32", "F32_F32_F32", "F64_F64_F64"]
    report = audit(lambda x: lax.ragged_dot(x, w, sizes), x, candidates=names)
    (line,) = report
    assert line.operation == "ragged dot f32[24,24] x f32[2,24,24]"
    assert "test_audit.py" in line.place
    assert report.unseen == []
    expected = np.concatenate([x[:10].astype(np.float64) @ x, x[10:].astype(np.float64) @ -x])
    for name in names:
        found = [emulated_matmul(x[:10], x, name), emulated_matmul(x[10:], -x, name)]
        error = relative_error(np.concatenate(found).astype(np.float32), expected)
        assert line.errors[name].error == pytest.approx(error, rel=0.01, abs=2e-7)
        assert report.whole[name] == pytest.approx(error, rel=0.01, abs=2e-7)


def test_ragged_products_in_loops(x):
    sizes, w = np.array([10, 14], np.int32), np.stack([x, -x])

    def f(x):
        return lax.scan(lambda c, _: (lax.ragged_dot(c, w, sizes), None), x, length=6)[0]

    report = audit(f, x, candidates=["BF16_BF16_F32", "F64_F64_F64"])
    assert [line.runs for line in report] == [6]
    assert report.whole["F64_F64_F64"] == 0.0 < report.whole["BF16_BF16_F32"] < 0.1


def test_gradients_of_ragged_products(x):
    sizes = np.array([10, 14], np.int32)
    w = np.stack([x, -x])
    report = audit(
        tans.grad(lambda x, w: jnp.sum(lax.ragged_dot(x, w, sizes) ** 2), (0, 1)), x, w,
        candidates=["BF16_BF16_F32", "F64_F64_F64"],
    )  # fmt: skip
    assert sum(line.runs for line in report) == 3
    assert all(line.operation.startswith("ragged dot") for line in report)
    assert report.whole["F64_F64_F64"] == 0.0 < report.whole["BF16_BF16_F32"] < 0.1


def test_integers_in_ragged_products():
    x = np.ones((4, 4), np.int32)
    report = audit(lambda x: lax.ragged_dot(x, x[None], np.array([4], np.int32)), x)
    assert list(report) == []


@pytest.mark.parametrize("fun", [3, None, np.ones(2)])
def test_audit_of_no_function(fun):
    with pytest.raises(TypeError, match=r"audit: given .* expected a function"):
        audit(fun, np.ones(2, np.float32))


def test_half_operands(x):
    report = audit(lambda x: x @ x, x.astype(np.float16))
    # The result is float16, whose rounding is in every error.
    assert 1e-5 < report.lines[0].errors["F64_F64_F64"].error < 1e-3


def test_table_json_and_picture(x):
    def f(x):
        y = jnp.sin(x @ x)
        return y @ x

    report = audit(f, x, tolerance=1e-4)
    table = str(report).splitlines()
    assert table[0].split()[:3] == ["line", "product", "runs"]
    assert table[0].endswith("cheapest for 0.0001")
    assert all(row.endswith("BF16_BF16_F32_X3") for row in table[1:3])
    assert table[3].startswith("results of the function")
    found = json.loads(report.to_json())
    assert found["cheapest"] == "BF16_BF16_F32_X3"
    assert set(found["lines"][0]["errors"]) == set(report.costs)
    picture = ET.fromstring(report.svg())
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == (2 + 1) * len(report.costs)


def test_nothing_meets_an_impossible_tolerance(x):
    report = audit(lambda x: x @ x, x, candidates=["BF16_BF16_F32"], tolerance=1e-12)
    assert report.cheapest() is None
    assert str(report).splitlines()[1].endswith("none")


def test_bad_arguments(x):
    with pytest.raises(ValueError, match="given platform='cuda', expected 'cpu', 'gpu' or 'tpu'"):
        audit(lambda x: x @ x, x, platform="cuda")
    with pytest.raises(ValueError, match="precision: given nope"):
        audit(lambda x: x @ x, x, candidates=["nope"])
    with pytest.raises(ValueError, match="depends on the operands"):
        audit(lambda x: x @ x, x, candidates=["ANY_F8_ANY_F8_F32"])


@pytest.mark.parametrize(
    ("found", "expected", "error"),
    [([1.5], [1.0], 0.5), ([0.0], [0.0], 0.0), ([0.5], [0.0], 0.5), ([], [], 0.0)],
)
def test_relative_errors(found, expected, error):
    assert relative_error(found, expected) == error


@pytest.mark.parametrize(
    ("options", "error", "fact"),
    [
        ({"tolerance": "a"}, TypeError, "tolerance='a' of type str"),
        ({"tolerance": True}, TypeError, "tolerance=True"),
        ({"tolerance": -1.0}, ValueError, "tolerance=-1.0"),
        ({"tolerance": float("nan")}, ValueError, "tolerance=nan"),
        ({"candidates": "high"}, TypeError, r"Write \['high'\]"),
        ({"candidates": []}, ValueError, "no candidates"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, error, fact):
    x = np.ones((3, 3), np.float32)
    with pytest.raises(error, match=fact):
        audit(lambda x: lax.dot(x, x), x, **options)


def test_another_tolerance_is_checked_too():
    x = np.ones((3, 3), np.float32)
    report = audit(lambda x: lax.dot(x, x), x)
    with pytest.raises(TypeError, match="cheapest: given tolerance='a'"):
        report.cheapest(tolerance="a")


def test_types_in_place_of_arrays_are_refused():
    with pytest.raises(TypeError, match="expected arrays"):
        audit(lambda x: lax.dot(x, x), tans.ShapeDtypeStruct((3, 3), np.float32))


def test_bodies_of_other_shapes_are_named_and_not_run():
    mesh = tans.make_mesh((2,), ("x",), axis_types=(tans.sharding.AxisType.Auto,))
    halves = tans.shard_map(
        lambda x: x @ x.T, mesh=mesh, in_specs=tans.P("x"), out_specs=tans.P("x")
    )
    report = audit(halves, np.ones((4, 3), np.float32))
    assert report.unseen == ["shard_map"]
    assert "not looked into: shard_map" in str(report)
