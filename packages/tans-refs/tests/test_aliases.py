"""Refs given twice, returned, captured by functions with rules, or given where arrays belong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import grad, jit, new_ref, vmap


@tans.custom_vjp
def scaled(x: Any, d: Any) -> Any:
    return x * d["a"][...]


scaled.defvjp(lambda x, d: (scaled(x, d), d["a"][...]), lambda s, ct: (ct * s, None))


@pytest.mark.parametrize("run", [lambda f: f, grad, jit])
def test_twice_in_one_argument_of_a_custom_vjp(run: Any) -> None:
    r = new_ref(2.0)
    with pytest.raises(ValueError, match=r"scaled at .*custom_vjp: .* as d\['a'\] and d\['b'\]"):
        run(lambda x: scaled(x, {"a": r, "b": r}))(1.0)
    assert run(lambda x: scaled(x, {"a": r}))(1.0) == 2.0


def test_parameter_names_behind_a_static_argument() -> None:
    @jit
    def call(r: Any) -> Any:
        return late(2, 1.0, r, r)

    def plain(n: int, x: Any, first: Any, second: Any) -> Any:
        del second
        return n * x * first[...]

    late = tans.custom_vjp(plain, nondiff_argnums=(0,))
    late.defvjp(lambda *a: (plain(*a), None), lambda n, res, ct: (ct, None, None))
    with pytest.raises(ValueError, match="as first and second"):
        call(new_ref(1.0))


def test_twice_to_checkpoint_and_vmap() -> None:
    r = new_ref(jnp.ones(3))

    def use(a: Any, b: Any) -> Any:
        return (a[...] * b[...]).sum()

    for transform, name in ((tans.checkpoint, "checkpoint"), (vmap, "vmap")):
        with pytest.raises(ValueError, match=rf"traced for {name}: .* as a and b"):
            transform(use)(r, r)
        with pytest.raises(ValueError, match=rf"traced for {name}: .* as a and b"):
            jit(lambda r, transform=transform: transform(use)(r, r))(r)
    with pytest.raises(ValueError, match="argument a, but the function also closed over it"):
        tans.checkpoint(lambda a: use(a, r))(r)


def test_returned_from_checkpoint() -> None:
    r = new_ref(1.0)
    for f, args in (
        (lambda a: {"x": a}, (r,)),
        (lambda x: {"x": new_ref(x)}, (1.0,)),
        (lambda: {"x": r}, ()),
    ):
        with pytest.raises(ValueError, match=r"for checkpoint: returned a mutable ref .*\['x'\]"):
            tans.checkpoint(f)(*args)


def _custom_jvp(r: Any) -> Callable[[Any], Any]:
    @tans.custom_jvp
    def f(x: Any) -> Any:
        r[...] += 1.0
        return x * r[...]

    f.defjvp(lambda p, t: (p[0] * r[...], t[0] * r[...]))
    return f


def _custom_vjp(r: Any) -> Callable[[Any], Any]:
    @tans.custom_vjp
    def f(x: Any) -> Any:
        r[...] += 1.0
        return x * r[...]

    f.defvjp(lambda x: (x * r[...], r[...]), lambda s, ct: (ct * s,))
    return f


@pytest.mark.parametrize("make", [_custom_jvp, _custom_vjp])
def test_functions_with_rules_that_close_over_a_ref(make: Any) -> None:
    r = new_ref(3.0)
    f = make(r)
    assert f(2.0) == 8.0
    assert jit(f)(2.0) == 10.0
    assert jit(lambda x: tans.lax.scan(lambda c, _: (c, f(x)), 0, None, 2)[1])(1.0).tolist() == [
        6.0,
        7.0,
    ]
    for run in (grad(f), jit(grad(f)), grad(jit(f))):
        assert run(2.0) == 7.0  # of the rule, which reads
    assert r[...] == 7.0


@pytest.mark.parametrize("r", [new_ref(jnp.ones(2)), new_ref(tans.random.key(0))])
def test_refs_where_arrays_belong(r: Any) -> None:
    for f in (
        tans.device_put,
        lambda r: tans.debug.print("{}", r),
        lambda r: tans.pure_callback(lambda x: x, jnp.zeros(2), r),
        lambda r: tans.device_put(r.at[...]),
        lambda r: jnp.stack([r, r]),
        lambda r: jit(lambda r: jnp.stack([r, r]))(r),
        jnp.sum,
        lambda r: jnp.where(np.bool_(True), r, r),
    ):
        with pytest.raises(TypeError, match=r"ref\[\.\.\.\]"):
            f(r)
