"""Convolutions against a direct sum: values, shapes, errors, derivatives, batching."""

import itertools

import ml_dtypes
import numpy as np
import pytest
import scipy.signal

import tans_lax as lax
from tans_core import rules, typeof
from tans_core.context import AxisData
from tans_lax.convolution import ConvDimensionNumbers, conv_general_dilated_p
from tans_xla import jit

# Input, kernel and options of `conv_general_dilated`, in (batch, feature, space) order.
CASES = {
    "1d": ((2, 3, 7), (4, 3, 3), {"window_strides": (1,), "padding": "VALID"}),
    "2d same": ((2, 3, 8, 9), (4, 3, 3, 2), {"window_strides": (2, 1), "padding": "SAME"}),
    "dilated": (
        (2, 3, 5, 4),
        (4, 3, 3, 2),
        {
            "window_strides": (2, 1),
            "padding": ((1, 0), (-1, 2)),
            "lhs_dilation": (1, 2),
            "rhs_dilation": (2, 1),
        },
    ),
    "feature groups": (
        (2, 6, 5),
        (4, 3, 2),
        {"window_strides": (2,), "padding": "SAME_LOWER", "feature_group_count": 2},
    ),
    "depthwise": (
        (1, 4, 5, 5),
        (8, 1, 2, 2),
        {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 4},
    ),
    "batch groups": (
        (4, 3, 6),
        (6, 3, 2),
        {"window_strides": (2,), "padding": ((1, 1),), "batch_group_count": 2},
    ),
    "no window fits": ((1, 2, 3), (1, 2, 5), {"window_strides": (1,), "padding": "VALID"}),
    "no space": ((5, 3), (4, 3), {"window_strides": (), "padding": "VALID"}),
}


def sample(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) if dtype == "int8" else rng.standard_normal(shape)
    if dtype == "complex64":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def wide(x):
    kind = np.complex128 if np.asarray(x).dtype.kind == "c" else np.float64
    return np.asarray(x).astype(kind)


def spread(x, dilation):
    """Insert zeros between neighbours in the spatial dimensions."""
    shape = [0 if n == 0 else (n - 1) * d + 1 for n, d in zip(x.shape[2:], dilation, strict=True)]
    out = np.zeros((*x.shape[:2], *shape), x.dtype)
    out[(..., *(slice(None, None, d) for d in dilation))] = x
    return out


def direct_conv(
    x,
    w,
    window_strides,
    padding,
    lhs_dilation=None,
    rhs_dilation=None,
    feature_group_count=1,
    batch_group_count=1,
):
    """Sum over every window, straight from the definition, in double precision."""
    x, w = wide(x), wide(w)
    ndim = len(window_strides)
    w = spread(w, rhs_dilation or (1,) * ndim)
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(x.shape[2:], w.shape[2:], window_strides, padding)
    x = spread(x, lhs_dilation or (1,) * ndim)
    grow = [(max(low, 0), max(high, 0)) for low, high in padding]
    x = np.pad(x, [(0, 0), (0, 0), *grow])
    crop = [
        slice(max(-low, 0), n - max(-high, 0))
        for n, (low, high) in zip(x.shape[2:], padding, strict=True)
    ]
    x = x[(..., *crop)]
    sizes = [
        max((n - k) // s + 1, 0)
        for n, k, s in zip(x.shape[2:], w.shape[2:], window_strides, strict=True)
    ]
    batch, outs = x.shape[0] // batch_group_count, w.shape[0]
    out = np.zeros((batch, outs, *sizes), np.result_type(x, w))
    groups = feature_group_count * batch_group_count
    for o, place in itertools.product(range(outs), itertools.product(*map(range, sizes))):
        group = o // (outs // groups)
        rows = slice(group * batch, (group + 1) * batch) if batch_group_count > 1 else slice(None)
        first = group * w.shape[1] if feature_group_count > 1 else 0
        window = [
            slice(p * s, p * s + k)
            for p, s, k in zip(place, window_strides, w.shape[2:], strict=True)
        ]
        part = x[(rows, slice(first, first + w.shape[1]), *window)]
        out[(slice(None), o, *place)] = (part * w[o]).reshape(batch, -1).sum(1)
    return out


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_values_equal_the_direct_sum(case):
    lhs, rhs, options = case
    x, w = sample(lhs), sample(rhs, seed=1)
    out = lax.conv_general_dilated(x, w, **options)
    expected = direct_conv(x, w, **options)
    assert out.shape == expected.shape
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "rtol"), [("bfloat16", 5e-2), ("complex64", 1e-4), ("int8", 0), ("float16", 1e-2)]
)
def test_values_in_other_dtypes(dtype, rtol):
    lhs, rhs, options = CASES["2d same"]
    x, w = sample(lhs, dtype), sample(rhs, dtype, 1)
    out = lax.conv_general_dilated(x, w, **options)
    expected = direct_conv(x, w, **options)
    if dtype == "int8":
        expected = expected.astype(np.int64).astype(np.int8)
    assert out.dtype == x.dtype
    np.testing.assert_allclose(wide(out), wide(expected), rtol=rtol, atol=10 * rtol)


def test_one_feature_equals_scipy():
    x, w = sample((6, 7)), sample((3, 2), seed=1)
    out = lax.conv(x[None, None], w[None, None], (1, 1), "VALID")
    expected = scipy.signal.correlate2d(x.astype(np.float64), w, "valid")
    np.testing.assert_allclose(np.asarray(out)[0, 0], expected, rtol=1e-4, atol=1e-5)


def test_dimension_letters_place_the_dimensions():
    x, w = sample((2, 3, 8, 9)), sample((4, 3, 3, 2), seed=1)
    expected = np.asarray(lax.conv(x, w, (2, 1), "SAME"))
    out = lax.conv_general_dilated(
        x.transpose(0, 2, 3, 1),
        w.transpose(3, 2, 1, 0),
        (2, 1),
        "SAME",
        dimension_numbers=("NHWC", "WHIO", "CNHW"),
    )
    np.testing.assert_allclose(np.asarray(out).transpose(1, 0, 2, 3), expected, rtol=1e-5)


def test_dimension_numbers_are_positions():
    numbers = lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), ("NHC", "HIO", "NCH"))
    assert numbers == ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 1, 2))
    assert lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), None).rhs_spec == (0, 1, 2)
    assert lax.conv_dimension_numbers((1, 2), (1, 2), numbers) is numbers


def test_preferred_element_type_is_the_result_dtype():
    x, w = sample((1, 2, 5), "bfloat16"), sample((3, 2, 2), "bfloat16", 1)
    out = lax.conv(x, w, (1,), "SAME", preferred_element_type=np.float32)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, direct_conv(x, w, (1,), "SAME"), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 2, 1), (2, 3, 1), (4, 1, 2)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_conv_transpose_grows_by_the_stride(kernel, stride, dilation, padding):
    x, w = np.ones((1, 7, 2), np.float32), np.ones((kernel, 2, 3), np.float32)
    out = lax.conv_transpose(x, w, (stride,), padding, rhs_dilation=(dilation,))
    extent = (kernel - 1) * dilation + 1
    grown = 7 * stride + (max(extent - stride, 0) if padding == "VALID" else 0)
    assert out.shape == (1, grown, 3)


@pytest.mark.parametrize("padding", ["SAME", "VALID", ((1, 0), (0, 1))])
def test_conv_transpose_with_the_transposed_kernel_is_a_gradient(padding):
    from tans_autodiff import vjp

    numbers = ("NHWC", "HWIO", "NHWC")
    x, w = sample((1, 6, 4, 2)), sample((3, 2, 2, 5), seed=1)

    def forward(x):
        return lax.conv_general_dilated(x, w, (2, 1), padding, dimension_numbers=numbers)

    y, pull = vjp(forward, x)
    y_bar = sample(y.shape, seed=2)
    out = lax.conv_transpose(
        y_bar,
        w,
        (2, 1),
        padding,
        dimension_numbers=numbers,
        transpose_kernel=True,
        use_consistent_padding=True,
    )
    (x_bar,) = pull(y_bar)
    # Trailing places that no window of the strided convolution reads are not part of the result.
    size = min(out.shape[1], x_bar.shape[1])
    out, x_bar = np.asarray(out)[:, :size], np.asarray(x_bar)[:, :size]
    np.testing.assert_allclose(out, x_bar, rtol=1e-4, atol=1e-5)


def test_patches_hold_the_windows_with_features_slowest():
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    out = np.asarray(lax.conv_general_dilated_patches(x, (2, 2), (1, 2), "VALID"))
    assert out.shape == (2, 12, 3, 2)
    np.testing.assert_array_equal(out[1, :, 2, 1], x[1, :, 2:4, 2:4].reshape(-1))
    numbers = ("NHWC", "HWIO", "NHWC")
    moved = lax.conv_general_dilated_patches(
        x.transpose(0, 2, 3, 1), (2, 2), (1, 2), "VALID", dimension_numbers=numbers
    )
    np.testing.assert_array_equal(np.asarray(moved).transpose(0, 3, 1, 2), out)


def test_shape_functions_agree_with_the_result():
    x, w = sample((2, 8, 9, 3)), sample((3, 2, 3, 4))
    numbers = ("NHWC", "HWIO", "NHWC")
    out = lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=numbers)
    assert out.shape == lax.conv_general_shape_tuple(x.shape, w.shape, (2, 1), "SAME", numbers)
    out = lax.conv_transpose(x, w, (2, 1), "SAME")
    assert out.shape == lax.conv_transpose_shape_tuple(x.shape, w.shape, (2, 1), "SAME", numbers)


def ones(*shape):
    return np.ones(shape, np.float32)


def grouped(x, w, **groups):
    return lax.conv_general_dilated(x, w, (1,), "VALID", **groups)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (
            lambda: lax.conv(ones(1, 2, 3), ones(1, 3, 1), (1,), "SAME"),
            ValueError,
            ["2 input", "3"],
        ),
        (lambda: lax.conv(ones(1, 2, 3, 3), ones(1, 2, 1, 1), (1,), "SAME"), ValueError, ["(1,)"]),
        (lambda: lax.conv(ones(1, 2, 3), ones(1, 2, 1), (0,), [(0, 0)]), ValueError, ["(0,)"]),
        (lambda: lax.conv(ones(1, 2, 3), ones(1, 2), (1,), "SAME"), TypeError, ["(1, 2)"]),
        (
            lambda: lax.conv(ones(1, 2, 3), ones(1, 2, 1), (1,), "FOO"),
            RuntimeError,
            ["FOO", "SAME"],
        ),
        (
            lambda: lax.conv(ones(1, 2, 3).astype(np.int32), ones(1, 2, 1), (1,), "SAME"),
            TypeError,
            ["int32", "float32"],
        ),
        (
            lambda: grouped(ones(1, 3, 3), ones(2, 1, 1), feature_group_count=2),
            ValueError,
            ["feature_group_count=2", "3 input features"],
        ),
        (
            lambda: grouped(ones(3, 2, 3), ones(4, 2, 2), batch_group_count=2),
            ValueError,
            ["batch_group_count=2", "batch of 3"],
        ),
        (
            lambda: grouped(ones(4, 2, 3), ones(3, 2, 2), batch_group_count=2),
            ValueError,
            ["3 out features"],
        ),
        (
            lambda: grouped(
                ones(2, 2, 3), ones(2, 1, 1), feature_group_count=2, batch_group_count=2
            ),
            ValueError,
            ["at most one"],
        ),
        (
            lambda: grouped(ones(2, 2, 3), ones(2, 1, 1), feature_group_count=0),
            ValueError,
            ["positive"],
        ),
        (
            lambda: lax.conv_general_dilated(
                ones(1, 2, 3), ones(1, 2, 1), (1,), "SAME", lhs_dilation=(2,)
            ),
            ValueError,
            ["lhs_dilation", "conv_transpose"],
        ),
        (
            lambda: lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), ("NHH", "OIH", "NCH")),
            TypeError,
            ["'NHH'", "C"],
        ),
        (
            lambda: lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), ("NCH", "OIW", "NCH")),
            TypeError,
            ["spatial letters"],
        ),
        (
            lambda: lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), ("NCH", "OIH")),
            TypeError,
            ["three strings"],
        ),
        (
            lambda: lax.conv_transpose(ones(1, 3, 2), ones(3, 2, 1), (1,), "FOO"),
            ValueError,
            ["FOO"],
        ),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_derivatives(check_derivatives, case):
    lhs, rhs, options = case
    check_derivatives(
        lambda x, w: lax.conv_general_dilated(x, w, **options),
        sample(lhs),
        sample(rhs, seed=1),
        order=1,
    )


@pytest.mark.parametrize("name", ["dilated", "batch groups"])
def test_second_derivatives(check_derivatives, name):
    lhs, rhs, options = CASES[name]
    check_derivatives(
        lambda x, w: lax.conv_general_dilated(x, w, **options), sample(lhs), sample(rhs, seed=1)
    )


def test_gradient_with_a_preferred_dtype_has_the_operands_dtypes():
    from tans_autodiff import grad

    def total(x, w):
        out = lax.conv(x, w, (2,), "SAME", preferred_element_type=np.float32)
        return lax.reduce_sum(out, (0, 1, 2))

    x, w = sample((1, 2, 5), "bfloat16"), sample((3, 2, 2), "bfloat16", 1)
    x_bar, w_bar = grad(total, (0, 1))(x, w)
    assert x_bar.dtype == w_bar.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("name", ["2d same", "dilated", "feature groups", "batch groups"])
@pytest.mark.parametrize("dims", [(0, None), (2, None), (None, 0), (None, 1), (0, 0), (1, 2)])
def test_batching_equals_a_loop(name, dims):
    lhs, rhs, options = CASES[name]
    xs, ws = sample((3, *lhs)), sample((3, *rhs), seed=1)
    seen = []

    def record(x, w):
        seen.append((typeof(x), typeof(w)))
        return lax.conv_general_dilated(x, w, **options)

    each = [
        record(xs[0 if dims[0] is None else i], ws[0 if dims[1] is None else i]) for i in range(3)
    ]
    params = jit(record).trace(xs[0], ws[0]).jaxpr.eqns[0].params
    args = (
        xs[0] if dims[0] is None else np.moveaxis(xs, 0, dims[0]),
        ws[0] if dims[1] is None else np.moveaxis(ws, 0, dims[1]),
    )
    rule = rules.batching[conv_general_dilated_p]
    out, dim = rule(AxisData(3), args, dims, **params)
    got = np.moveaxis(np.asarray(out), dim, 0)
    np.testing.assert_allclose(got, np.stack(each), rtol=1e-4, atol=1e-5)


def test_levels_are_lowered():
    x, w = ones(1, 1, 4, 4), ones(1, 1, 2, 2)
    text = jit(lambda x, w: lax.conv(x, w, (1, 1), "VALID", "high")).lower(x, w).as_text()
    assert text.count("precision HIGH") == 2
