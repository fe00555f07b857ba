"""Programs for many sizes: what they accept, how they are called, and who may call them."""

import numpy as np
import pytest
from symbolic_programs import exported

import tans
import tans.numpy as jnp
from tans import export, lax


def test_v59_one_program_for_many_sizes():
    made = exported(
        lambda x: x.reshape(-1).sum() / x.shape[0], "a,2*b", constraints=["a>=2", "b<=10"]
    )
    assert [a.str_short() for a in made.in_avals] == ["f32[a,2*b]"]
    assert "tensor<?x?xf32>" in made.mlir_module()
    assert float(made.call(np.ones((3, 4), np.float32))) == 4.0
    assert float(made.call(np.ones((2, 20), np.float32))) == 20.0
    with pytest.raises(ValueError, match="a>=2") as caught:
        made.call(np.ones((1, 4), np.float32))
    assert "'a - 2' is -1" in str(caught.value)
    with pytest.raises(ValueError, match="remainder of 1") as caught:
        made.call(np.ones((3, 5), np.float32))
    assert "'b'" in str(caught.value)
    with pytest.raises(ValueError, match="b<=10"):
        made.call(np.ones((3, 22), np.float32))


SQUARE = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
SYMBOLIC = {
    "elementwise": (lambda x: jnp.sin(x) + x * 2, ("a,b",)),
    "mean": (lambda x: x.mean(0), ("a,b",)),
    "variance": (lambda x: x.var(-1, keepdims=True), ("a,b",)),
    "product": (lambda x: x @ x.T, ("a,b",)),
    "broadcast": (lambda x, y: x + y.mean(0), ("a,b", "a,b")),
    "softmax": (tans.nn.softmax, ("a,b",)),
    "concatenate": (lambda x: jnp.concatenate([x, x]), ("a,b",)),
    "zeros": (lambda x: jnp.zeros(x.shape) + x, ("a,b",)),
    "iota": (lambda x: tans.lax.broadcasted_iota(jnp.int32, x.shape, 0) + x, ("a,b",)),
    "gradient": (tans.grad(lambda x: jnp.sum(jnp.tanh(x))), ("a,b",)),
    "vmap": (tans.vmap(lambda v: jnp.sin(v).sum()), ("a,b",)),
    "scan": (
        lambda x: tans.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0],
        ("a,b",),
    ),
    "cond": (lambda x: tans.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), ("a,b",)),
    "where": (lambda x: jnp.where(x > 0, x, 0.0), ("a,b",)),
    "sort": (jnp.sort, ("a,b",)),
    "sizes": (lambda x: x * (x.shape[0] * 2 + x.shape[1] // 3 - x.shape[0] % 2), ("a,b",)),
    "batch": (lambda x: jnp.tanh(x @ np.ones((4, 2), np.float32)), ("a,4",)),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_programs_for_many_sizes_agree_with_those_for_one(name):
    fun, specs = SYMBOLIC[name]
    args = [SQUARE] * len(specs)
    made = exported(fun, *specs)
    for rows in (1, 3):
        given = [x[:rows] for x in args]
        np.testing.assert_allclose(made.call(*given), tans.jit(fun)(*given), rtol=1e-5, atol=1e-6)
    text = tans.jit(made.call).lower(*args).as_text()
    assert "?" not in text


def test_gradients_of_programs_for_many_sizes():
    made = exported(lambda x: jnp.tanh(x) @ x.T, "a,b", vjp_order=1)
    found = tans.grad(lambda x: made.call(x).sum())(SQUARE)
    expected = tans.grad(lambda x: (jnp.tanh(x) @ x.T).sum())(SQUARE)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_arguments_that_share_a_name_have_to_agree():
    made = exported(lambda x, y: x @ y, "a,b", "b,c")
    assert made.call(SQUARE, SQUARE.T).shape == (3, 3)
    with pytest.raises(ValueError, match=r"'b' is 4 .* but the argument has size 3"):
        made.call(SQUARE, SQUARE)


def test_programs_check_sizes_themselves():
    text = exported(
        lambda x, y: (x, y),
        "a,2*b",
        "b,c",
        constraints=["a >= 2", "floordiv(a, 2) == c"],
    ).mlir_module()
    assert text.count("custom_call @shape_assertion") >= 5
    for fact in ("'b' leaves a remainder of {0}", "a >= 2", "floordiv(a, 2) == c", "c >= 1"):
        assert fact in text


def test_equalities_are_checked_where_the_program_is_called():
    made = exported(lambda x, y: x[: 2 * y.shape[0]], "a", "c", constraints=["floordiv(a, 2) == c"])
    assert made.call(np.arange(5.0, dtype=np.float32), np.ones(2, np.float32)).shape == (4,)
    with pytest.raises(ValueError, match=r"floordiv\(a, 2\) == c") as caught:
        made.call(np.ones(5, np.float32), np.ones(1, np.float32))
    assert "expected shapes that fit f32[a], f32[c]" in str(caught.value)


def test_programs_for_many_sizes_call_each_other():
    inner = exported(lambda x: jnp.sin(x) * x.shape[0], "a", constraints=["a >= 2"])
    made = exported(lambda x: inner.call(jnp.concatenate([x, x])) + inner.call(x[:-1])[0], "c + 2")
    assert [a.str_short() for a in made.out_avals] == ["f32[2*c + 4]"]
    for n in (3, 6):
        x = np.linspace(0, 1, n, dtype=np.float32)
        expected = np.sin(np.tile(x, 2)) * 2 * n + np.sin(x[0]) * (n - 1)
        np.testing.assert_allclose(made.call(x), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("inner", "fact"),
    [
        (("a", ["a >= 4"]), "a >= 4 ('a - 4' >= 0), but 'a - 4' is c - 4"),
        (("2*a", []), "remainder of mod(c, 2)"),
    ],
    ids=["constraint", "division"],
)
def test_calls_whose_sizes_may_not_fit_are_refused(inner, fact):
    spec, constraints = inner
    made = exported(lambda x: x + 1, spec, constraints=constraints)
    with pytest.raises(ValueError, match="call of exported") as caught:
        exported(made.call, "c")
    assert fact in str(caught.value)
    exported(lambda x: made.call(jnp.concatenate([x, x])), "c", constraints=["c >= 2"])


def test_sizes_of_other_scopes_are_refused_where_they_are_named():
    (a,), (other,) = export.symbolic_shape("a"), export.symbolic_shape("a")
    x, y = (tans.ShapeDtypeStruct((n,), np.float32) for n in (a, other))
    with pytest.raises(ValueError, match=r"in args\[0\]\['x'\] and 'a' of .* in kwargs\['y'\]"):
        export.export(tans.jit(lambda d, y: d["x"]))({"x": x}, y=y)
    with pytest.raises(ValueError, match="in a program whose arguments have the sizes 'a'"):
        export.export(tans.jit(lambda x: jnp.ones(other) + x[0]))(x)
    with pytest.raises(ValueError, match="whose arguments have no symbolic sizes"):
        export.export(tans.jit(lambda x: jnp.ones(a) + x[0]))(np.ones(3))


@pytest.mark.parametrize(
    ("use", "error", "fact"),
    [
        (lambda n: jnp.ones((n,)), ValueError, "symbolic size 'n'"),
        (jnp.array, NotImplementedError, "where its value is needed at once"),
        (lambda n: n + jnp.ones(3), NotImplementedError, "a function that tans.export exports"),
        (lambda n: jnp.ones(3) * n, NotImplementedError, "symbolic dimension 'n'"),
        (lambda n: n / 2, NotImplementedError, "symbolic dimension 'n'"),
        (lambda n: np.ones(3) - n, NotImplementedError, "symbolic dimension 'n'"),
        (jnp.sin, NotImplementedError, "symbolic dimension 'n'"),
    ],
)
def test_sizes_have_no_value_outside_of_programs(use, error, fact):
    with pytest.raises(error, match=fact):
        use(export.symbolic_shape("n")[0])


def test_arithmetic_of_sizes_with_other_numbers():
    def fun(x):
        a, b = x.shape
        return (
            a / b + 1.5 * a - 2**b,
            np.float32(2) * a * x,
            np.arange(2.0, dtype=np.float32) / a,
            a // 2.5 + b % 1.5,
            jnp.where(a > 2.5, 1, 0) + (b == 2.5),
            a**2 - b,
            jnp.sqrt(a),
        )

    made = exported(fun, "a,b")
    for shape in ((2, 3), (5, 4)):
        x = np.ones(shape, np.float32)
        for found, expected in zip(made.call(x), tans.jit(fun)(x), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sizes_that_can_not_be_told():
    with pytest.raises(ValueError, match="linear in each name"):
        exported(lambda x: jnp.sin(x) * x.shape[0], "a*b")


def test_several_platforms_with_symbolic_sizes():
    made = exported(
        lambda x: jnp.tanh(lax.cumsum(x, 0)) * abs(lax.linalg.qr(x)[1]).max(),
        "a,b",
        platforms=("cpu", "cuda", "tpu"),
    )
    assert "stablehlo.case" in made.mlir_module()
    found = made.call(SQUARE)
    largest = abs(np.linalg.qr(SQUARE)[1]).max()
    np.testing.assert_allclose(found, np.tanh(SQUARE.cumsum(0)) * largest, rtol=1e-5)


def test_symbolic_sizes_are_lowered_but_not_compiled():
    struct = tans.ShapeDtypeStruct(export.symbolic_shape("a"), np.float32)
    lowered = tans.jit(jnp.sin).lower(struct)
    assert "tensor<?xf32>" in lowered.as_text()
    with pytest.raises(ValueError, match=r"float32\[a\], expected sizes that are numbers"):
        lowered.compile()


@pytest.mark.parametrize("shape", [3, ["a"]])
def test_symbolic_shapes_are_text(shape):
    with pytest.raises(TypeError, match="given the shape"):
        export.symbolic_shape(shape)


@pytest.mark.parametrize("constraint", [3, None])
def test_constraints_are_text(constraint):
    with pytest.raises(TypeError, match="given the constraint"):
        export.symbolic_shape("a", constraints=[constraint])


@pytest.mark.parametrize(
    "numbers",
    [
        lambda n: (n,),
        lambda n: (1, n),
        lambda n: (0, 2 * n, 2),
        lambda n: (n, 0, -1),
        lambda n: (n, 3 * n),
    ],
)
@pytest.mark.parametrize("dtype", [None, np.float32])
def test_ranges_of_a_symbolic_size(numbers, dtype):
    (size,) = export.symbolic_shape("b", constraints=["b>=2"])
    program = tans.jit(lambda x: jnp.arange(*numbers(x.shape[0]), dtype=dtype))
    made = export.export(program)(tans.ShapeDtypeStruct((size,), np.float32))
    for n in (2, 5):
        result = made.call(np.ones(n, np.float32))
        assert result.dtype == (dtype or np.int32)
        np.testing.assert_array_equal(result, np.arange(*numbers(n)))


def test_ranges_of_a_symbolic_size_by_no_int():
    (size,) = export.symbolic_shape("b")
    program = tans.jit(lambda x: jnp.arange(0, x.shape[0], 0.5))
    with pytest.raises(TypeError, match=r"arange: given start=0, stop=b and step=0\.5"):
        export.export(program)(tans.ShapeDtypeStruct((size,), np.float32))
