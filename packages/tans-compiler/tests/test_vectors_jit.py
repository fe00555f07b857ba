"""Vectors 17 to 27 and 63 of the compiler specification: options of jit."""

import re

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import Inline, NamedSharding, P
from tans_core.errors import JaxRuntimeError


def two(a, b):
    return a + b


def test_v17_static_argnums_out_of_range():
    with pytest.raises(ValueError, match=r"static_argnums.*5") as caught:
        tans.jit(two, static_argnums=5)
    assert "two" in str(caught.value)


def test_v18_unhashable_static():
    with pytest.raises(ValueError, match=r"hash an object of type <class 'list'>, \[3\]"):
        tans.jit(two, static_argnums=0)([3], 1.0)


def test_v19_static_and_donated():
    with pytest.raises(ValueError, match=r"static.*donate|donate.*static") as caught:
        tans.jit(lambda n, x: x, static_argnames="n", donate_argnames="n")
    assert "'n'" in str(caught.value)


def test_v20_not_callable():
    with pytest.raises(TypeError, match="given 3 of type int; expected a function"):
        tans.jit(3)


def test_v21_decorator_form():
    assert float(tans.jit(static_argnums=0)(lambda n, x: x * n)(2, 3.0)) == 6.0


@pytest.mark.parametrize(("keep", "count"), [(False, 1), (True, 2)])
def test_v22_unused_arguments(keep, count):
    text = tans.jit(lambda a, b: a, keep_unused=keep).lower(1.0, 2.0).as_text()
    main = re.search(r"@main\(([^)]*)\)", text)
    assert main is not None
    assert main[1].count("%arg") == count


def test_v23_usable_donation():
    jitted = tans.jit(lambda a: a + 1, donate_argnums=0)
    x = jnp.ones(3) * 2
    assert "tf.aliasing_output = 0 : i32" in jitted.lower(x).as_text()
    jitted(x)
    assert x.is_deleted()


def test_v24_unusable_donation():
    x = jnp.ones((4, 4)) * 2
    with pytest.warns(UserWarning, match=r"float32\[4,4\], whose buffers no result can use"):
        assert float(tans.jit(jnp.sum, donate_argnums=0)(x)) == 32.0
    assert not x.is_deleted()


def test_v25_donated_twice():
    a = jnp.ones(3) * 2
    with pytest.raises(JaxRuntimeError, match="donate the same buffer twice"):
        tans.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))(a, a)
    a = jnp.ones(3) * 2
    with pytest.raises(JaxRuntimeError, match="previously donated in the same call"):
        tans.jit(lambda x, y: (x + y,), donate_argnums=0)(a, a)


def _nested(inline):
    inner = tans.jit(lambda x: jnp.sin(x), inline=inline)

    def outer(x):
        return inner(x) * 2

    return str(tans.make_jaxpr(outer)(1.0)), tans.jit(outer).lower(1.0).as_text()


@pytest.mark.parametrize(
    ("inline", "in_jaxpr", "in_module"),
    [
        pytest.param(Inline.JAX_EARLY, False, None, id="V26 early"),
        pytest.param(Inline.JAX_LATE, True, None, id="V26 late"),
        pytest.param(True, True, None, id="V26 True"),
        pytest.param(Inline.XLA_EARLY, True, '{inlineable = "xla_early"}', id="xla early"),
        pytest.param(Inline.XLA_LATE, True, '{inlineable = "xla_late"}', id="V27"),
        pytest.param(Inline.AUTO, True, "", id="auto"),
        pytest.param(False, True, "", id="False"),
    ],
)
def test_inline(inline, in_jaxpr, in_module):
    jaxpr, module = _nested(inline)
    assert ("jit[" in jaxpr) is in_jaxpr
    if in_module is None:
        assert "call @" not in module
    else:
        assert "call @" in module
        assert (f"mhlo.frontend_attributes = {in_module}" in module) is bool(in_module)


@pytest.mark.parametrize("value", ["x", 1, None])
def test_inline_of_another_type(value):
    with pytest.raises(ValueError, match=r"given inline=.*Inline\.JAX_EARLY"):
        tans.jit(two, inline=value)


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [("Auto", "jax.buffer_donor = true"), ("Explicit", "tf.aliasing_output = 0 : i32")],
)
def test_v63_donation_on_a_mesh(kind, attribute):
    axis_type = getattr(tans.sharding.AxisType, kind)
    mesh = tans.make_mesh((4,), ("x",), axis_types=(axis_type,))
    x = tans.device_put(np.ones((8, 2), np.float32), NamedSharding(mesh, P("x", None)))
    assert attribute in tans.jit(lambda a: a + 1, donate_argnums=0).lower(x).as_text()
