"""Batching rows of every family: vmap equals a loop for each choice of mapped operands and axes."""

import itertools

import numpy as np
import pytest

import tans_lax as lax
from tans_batching import vmap

SIZE = 3


def f32(*shape):
    return "float32", shape


def i32(*shape):
    return "int32", shape


def boolean(*shape):
    return "bool", shape


def make(spec, seed):
    dtype, shape = spec
    random = np.random.RandomState(seed)
    if dtype == "int32":
        return random.randint(-1, 5, shape).astype(dtype)
    if dtype == "bool":
        return random.rand(*shape) > 0.5
    return random.randn(*shape).astype(dtype) if shape else np.float32(random.randn())


ONE_DIM = lax.GatherDimensionNumbers(
    offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
)
SCATTER = lax.ScatterDimensionNumbers(
    update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
)


def _sorted_pair(x, y):
    return tuple(lax.sort((x, y), dimension=0, num_keys=1))


CASES = {
    "dot matrix vector": (lax.dot, [f32(2, 4), f32(4)]),
    "dot_general with batch": (
        lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
        [f32(2, 3, 4), f32(2, 4, 5)],
    ),
    "convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        [f32(2, 3, 5, 4), f32(6, 3, 2, 2)],
    ),
    "grouped convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "VALID", feature_group_count=2),
        [f32(2, 4, 6), f32(6, 2, 3)],
    ),
    "reduce_window": (
        lambda x: lax.reduce_window(x, np.float32(0), lax.add, (2, 1), (1, 1), "VALID"),
        [f32(4, 3)],
    ),
    "cumsum": (lambda x: lax.cumsum(x, axis=1), [f32(2, 4)]),
    "cummax reversed": (lambda x: lax.cummax(x, axis=0, reverse=True), [f32(4, 2)]),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, axis=0), [f32(4)]),
    "argmax": (lambda x: lax.argmax(x, 1, np.int32), [f32(2, 4)]),
    "reduce_and": (lambda x: lax.reduce_and(x, (0,)), [boolean(4, 2)]),
    "generic reduce": (
        lambda x: lax.reduce(x, np.float32(1), lax.mul, (1,)),
        [f32(2, 4)],
    ),
    "sort": (lambda x: lax.sort(x, dimension=1), [f32(2, 5)]),
    "sort pair": (_sorted_pair, [f32(5), f32(5)]),
    "top_k": (lambda x: tuple(lax.top_k(x, 2)), [f32(2, 5)]),
    "slice": (lambda x: lax.slice(x, (1, 0), (4, 3), (2, 1)), [f32(5, 3)]),
    "dynamic_slice": (
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 2)),
        [f32(5, 3), i32(), i32()],
    ),
    "dynamic_update_slice": (
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, np.int32(0))),
        [f32(5, 3), f32(2, 2), i32()],
    ),
    "gather": (
        lambda x, i: lax.gather(x, i, ONE_DIM, (1, 3), mode="clip"),
        [f32(5, 3), i32(4, 1)],
    ),
    "gather fill": (
        lambda x, i: lax.gather(x, i, ONE_DIM, (1, 3), mode="fill", fill_value=7),
        [f32(4, 3), i32(4, 1)],
    ),
    "scatter": (
        lambda x, i, u: lax.scatter(x, i, u, SCATTER, mode="drop"),
        [f32(9, 3), i32(1, 1), f32(1, 3)],
    ),
    "scatter_add": (
        lambda x, i, u: lax.scatter_add(x, i, u, SCATTER, mode="clip"),
        [f32(5, 3), i32(4, 1), f32(4, 3)],
    ),
    "scatter_max": (
        lambda x, i, u: lax.scatter_max(x, i, u, SCATTER, mode="clip"),
        [f32(5, 3), i32(4, 1), f32(4, 3)],
    ),
    "concatenate": (lambda x, y: lax.concatenate([x, y], 1), [f32(2, 3), f32(2, 4)]),
    "stack": (lambda x, y: lax.stack([x, y], 1), [f32(2, 3), f32(2, 3)]),
    "split": (lambda x: tuple(lax.split(x, (1, 3), axis=1)), [f32(2, 4)]),
    "tile": (lambda x: lax.tile(x, (2, 3)), [f32(2, 3)]),
    "pad": (lambda x, p: lax.pad(x, p, ((1, 2, 1), (-1, 0, 0))), [f32(3, 2), f32()]),
    "reverse": (lambda x: lax.rev(x, (1,)), [f32(2, 3)]),
    "squeeze": (lambda x: lax.squeeze(x, (1,)), [f32(2, 1, 3)]),
    "reshape": (lambda x: lax.reshape(x, (3, 2)), [f32(2, 3)]),
    "transpose": (lambda x: lax.transpose(x, (1, 2, 0)), [f32(2, 3, 4)]),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), [f32(2, 3)]),
    "select scalar predicate": (lax.select_n, [boolean(), f32(2, 3), f32(2, 3)]),
    "select": (lax.select_n, [boolean(2, 3), f32(2, 3), f32(2, 3)]),
    "clamp": (lax.clamp, [f32(), f32(2, 3), f32()]),
    "clamp by arrays": (lax.clamp, [f32(2, 3), f32(2, 3), f32(2, 3)]),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 3), [f32(2, 3)]),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, np.int32), [f32(2, 3)]),
    "bitcast to narrow": (lambda x: lax.bitcast_convert_type(x, np.int8), [f32(2, 3)]),
    "integer_pow": (lambda x: lax.integer_pow(x, 3), [f32(2, 3)]),
    "complex": (
        lambda x, y: lax.real(lax.mul(lax.complex(x, y), lax.complex(y, x))),
        [f32(3), f32(3)],
    ),
    "population_count": (lax.population_count, [i32(3)]),
    "shift": (lambda x: lax.shift_left(x, np.int32(1)), [i32(3)]),
    "stop_gradient": (lax.stop_gradient, [f32(3)]),
    "optimization_barrier": (lambda x, y: tuple(lax.optimization_barrier((x, y))), [f32(3), f32()]),
    "scan": (
        lambda c, xs, w: lax.scan(lambda c, x: (lax.mul(lax.add(c, x), w), lax.sub(c, x)), c, xs),
        [f32(2), f32(4, 2), f32(2)],
    ),
    "scan carry becomes mapped late": (
        lambda a, xs: lax.scan(lambda c, x: ((c[1], lax.add(c[1], x)), c[0]), (a, a), xs),
        [f32(), f32(4)],
    ),
    "while": (
        lambda n, x: lax.while_loop(
            lambda s: lax.lt(s[0], n),
            lambda s: (lax.add(s[0], np.int32(1)), lax.mul(s[1], s[1])),
            (np.int32(0), x),
        ),
        [i32(), f32(2)],
    ),
    "fori_loop": (
        lambda x, w: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, w), x),
        [f32(2), f32(2)],
    ),
    "cond": (
        lambda p, x, y: lax.cond(p, lax.add, lambda x, y: x, x, y),
        [boolean(), f32(2), f32(2)],
    ),
    "switch": (
        lambda i, x: lax.switch(i, [lax.sin, lax.cos, lambda x: lax.full_like(x, 1)], x),
        [i32(), f32(2)],
    ),
    "associative_scan": (lambda x: lax.associative_scan(lax.add, x), [f32(5)]),
    "polygamma": (lambda x: lax.polygamma(lax.full_like(x, 1), lax.exp(x)), [f32(3)]),
    "iota": (lambda x: lax.add(x, lax.iota(np.float32, 3)), [f32(3)]),
}


def as_tuple(result):
    flat = []
    for x in result if isinstance(result, tuple | list) else (result,):
        flat.extend(as_tuple(x) if isinstance(x, tuple | list) else [np.asarray(x)])
    return flat


def mapped_axes(specs):
    """Yield one axis or None per operand, at least one of them mapped; first and last axes."""
    choices = [sorted({0, len(shape)}) for _, shape in specs]
    for chosen in itertools.product(*[[None, *axes] for axes in choices]):
        if any(axis is not None for axis in chosen):
            yield chosen


def whole(spec, axis, seed):
    if axis is None:
        return make(spec, seed)
    dtype, shape = spec
    return make((dtype, (*shape[:axis], SIZE, *shape[axis:])), seed)


@pytest.mark.parametrize("name", CASES)
def test_vmap_equals_a_loop(name):
    fun, specs = CASES[name]
    choices = list(mapped_axes(specs))
    # All choices for one or two operands; a spread of them for more.
    for axes in choices if len(choices) <= 4 else choices[:: len(choices) // 4]:
        args = [
            whole(spec, axis, i) for i, (spec, axis) in enumerate(zip(specs, axes, strict=True))
        ]
        found = as_tuple(vmap(fun, in_axes=axes)(*args))
        rows = [
            as_tuple(
                fun(
                    *(x if a is None else np.take(x, i, a) for x, a in zip(args, axes, strict=True))
                )
            )
            for i in range(SIZE)
        ]
        for out, parts in zip(found, zip(*rows, strict=True), strict=True):
            expected = np.stack(parts)
            assert out.dtype == expected.dtype
            np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-5, err_msg=str(axes))


@pytest.mark.parametrize("name", CASES)
def test_nested_vmap_equals_nested_loops(name):
    fun, specs = CASES[name]
    args = [make((dtype, (2, *shape, SIZE)), i) for i, (dtype, shape) in enumerate(specs)]
    found = as_tuple(vmap(vmap(fun, in_axes=-1))(*args))
    rows = [as_tuple(vmap(fun)(*(np.moveaxis(x[i], -1, 0) for x in args))) for i in range(2)]
    for out, parts in zip(found, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(out, np.stack(parts), rtol=2e-5, atol=2e-5)
