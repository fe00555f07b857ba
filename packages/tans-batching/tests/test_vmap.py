"""vmap: axes, sizes, results and the texts of its errors."""

import threading

import numpy as np
import pytest

import tans_lax as lax
from tans_batching import vmap
from tans_core import errors, is_evaluating, state
from tans_core.config import axis_env
from tans_xla import jit

X = np.arange(6, dtype="float32").reshape(2, 3)
TWO = np.float32(2)


def double(x):
    return lax.mul(x, TWO)


def equal(actual, expected):
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


@pytest.mark.parametrize("in_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("out_axis", [0, 1, -1, -2])
def test_axes_of_argument_and_result(in_axis, out_axis):
    found = vmap(double, in_axes=in_axis, out_axes=out_axis)(X)
    equal(found, np.moveaxis(X * 2, in_axis, out_axis))


def test_in_axes_trees():
    def scale(tree, y):
        return lax.mul(tree["a"], lax.broadcast(y, (3,)))

    found = vmap(scale, in_axes=({"a": 0, "b": None}, 0))({"a": X, "b": X}, X[:, 0])
    equal(found, X * X[:, :1])
    equal(vmap(scale, in_axes=[0, None])({"a": X}, np.float32(3)), X * 3)
    equal(vmap(lambda x, k: lax.add(k, x))(X, k=X), X * 2)
    equal(vmap(lambda *, a: double(a), in_axes=())(a=X), X * 2)


def test_out_axes_trees():
    first, rest = vmap(lambda x: (x, {"k": double(x)}), out_axes=(1, {"k": -1}))(X)
    equal(first, X.T)
    equal(rest["k"], X.T * 2)


def test_results_that_do_not_depend_on_mapped_arguments():
    one = np.float32(1)
    equal(vmap(lambda x: one)(X), np.ones(2))
    assert vmap(lambda x: 1.0, out_axes=None)(X) == 1.0
    assert vmap(lambda x: np.ones((5, 6)), out_axes=-1)(X).shape == (5, 6, 2)
    assert vmap(lambda x: None)(X) is None


def test_axis_size_without_mapped_arguments():
    assert vmap(lambda: TWO, axis_size=4)().shape == (4,)
    assert vmap(double, in_axes=None, axis_size=4)(X).shape == (4, 2, 3)


def test_sum_match_sums_results():
    equal(vmap(double, out_axes=None, sum_match=True)(X), (X * 2).sum(0))


@pytest.mark.parametrize("size", [0, 1, 5])
def test_any_number_of_elements(size):
    assert vmap(double)(np.zeros((size, 3), "float32")).shape == (size, 3)


def test_operation_without_mapped_operand_runs_in_the_parent():
    seen = []

    def fun(x):
        seen.append(lax.add(TWO, TWO))
        return x

    vmap(fun)(X)
    assert np.asarray(seen[0]) == 4


def test_function_is_called_once_with_the_type_of_an_element():
    shapes = []

    def fun(x):
        shapes.append((x.shape, x.dtype, x.ndim, repr(x)))
        return x

    vmap(fun)(X)
    printed = "VmapTracer(aval=float32[3], batched=float32[2,3])"
    assert shapes == [((3,), np.dtype("float32"), 1, printed)]


def test_jit_inside_and_outside():
    equal(jit(vmap(double))(X), X * 2)
    equal(vmap(jit(double))(X), X * 2)
    equal(vmap(jit(lambda x, y: lax.add(y, x)), (0, None))(X, X[0]), X + X[0])
    equal(jit(vmap(jit(vmap(double))))(X), X * 2)


SIZES = (
    r"size 2: axis 0 of argument x\['a'\] of type float32\[2,3\](.|\n)*size 3: axis 1 of argument y"
)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: vmap(lambda x, y: y, (0, 1))({"a": X}, X), ValueError, SIZES),
        (lambda: vmap(double, axis_size=3)(X), ValueError, "argument axis_size(.|\n)*size 2"),
        (lambda: vmap(lambda x, k: x)(X, k=X.T), ValueError, r"kwargs\['k'\]"),
        (lambda: vmap(double, in_axes=None)(X), ValueError, "axis_size"),
        (vmap(lambda: 1), ValueError, "axis_size"),
        (
            lambda: vmap(double, in_axes=2)(X),
            ValueError,
            "axis 2; expected an argument with at least 3",
        ),
        (lambda: vmap(double, in_axes=-3)(X), ValueError, "axis -3"),
        (lambda: vmap(double)(1.0), ValueError, r"argument x of type float32\[\]"),
        (lambda: vmap(double, in_axes=1.5)(X), TypeError, "in_axes=1.5"),
        (lambda: vmap(double, in_axes={"a": 0})(X), TypeError, r"in_axes=\(axes,\)"),
        (lambda: vmap(double, in_axes=("a",))(X), TypeError, "'a' of type str"),
        (lambda: vmap(double, in_axes=(0, 0))(X), ValueError, "2 entries for 1 positional"),
        (lambda: vmap(double, in_axes=([0],))((X,)), ValueError, r"in_axes\[0\]"),
        (lambda: vmap(double)("abc"), TypeError, "argument x.*'abc'"),
        (lambda: vmap(lambda x: "s")(X), TypeError, "result.*'s'"),
        (lambda: vmap(double, out_axes=None)(X), ValueError, "out_axes None.*axis 0"),
        (lambda: vmap(double, out_axes=3)(X), ValueError, "axis 3 is out of bounds"),
        (lambda: vmap(double, out_axes=-4)(X), ValueError, "axis -4 is out of bounds"),
        (
            lambda: vmap(lambda x: (x, x), out_axes=(0,))(X),
            ValueError,
            "length 1; expected length 2",
        ),
        (
            lambda: vmap(lambda x: {"q": x}, out_axes={"p": 0})(X),
            ValueError,
            r"unknown keys \['p'\]",
        ),
        (lambda: vmap(double, out_axes="z"), TypeError, "out_axes='z'"),
        (lambda: vmap(3), TypeError, "given 3 of type int"),
    ],
)
def test_errors_name_the_argument_and_state_is_restored(call, error, facts):
    with pytest.raises(error, match=facts):
        call()
    assert is_evaluating()
    assert axis_env.value == ()


def test_conversion_to_a_number_is_refused():
    with pytest.raises(errors.TracerBoolConversionError):
        vmap(lambda x: x if x else TWO)(np.ones(3))
    with pytest.raises(errors.ConcretizationTypeError):
        vmap(float)(np.ones(3))


def test_exception_in_the_function_restores_the_trace():
    def fail(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        vmap(fail, axis_name="i")(X)
    assert is_evaluating()
    assert axis_env.value == ()
    assert state.trace is state.evaluation


def test_leaked_tracer_is_reported():
    leaked = []
    vmap(lambda x: leaked.append(x) or x)(X)
    with pytest.raises(errors.UnexpectedTracerError):
        vmap(lambda x: leaked[0])(X)


def test_traceback_ends_at_the_users_line():
    def fail(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError) as caught:
        vmap(fail)(X)
    assert [frame.name for frame in caught.traceback][-2:] == [
        "test_traceback_ends_at_the_users_line",
        "fail",
    ]


def test_threads_map_independently():
    results = {}

    def work(i):
        results[i] = np.asarray(vmap(lambda x: lax.psum(x, "i"), axis_name="i")(X + i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(8):
        equal(results[i], np.broadcast_to((X + i).sum(0), X.shape))
