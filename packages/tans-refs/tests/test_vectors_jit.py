"""The numbered vectors R38 to R50: jit and printed programs."""

from typing import Any

import pytest

import tans
import tans.numpy as jnp
from tans import freeze, jit, make_jaxpr, new_ref, ref
from tans.errors import UnexpectedTracerError


def test_r38_closed_over() -> None:
    r = new_ref(jnp.zeros(3))

    @jit
    def step() -> None:
        r[1] = r[1] + 1.0

    step()
    step()
    assert r[...].tolist() == [0, 2, 0]


def test_r39_printed_reads() -> None:
    jaxpr = make_jaxpr(lambda r, i: (r[i], r.at[1:4].at[0:1][...]))(new_ref(jnp.arange(6.0)), 2)
    assert " ".join(str(jaxpr).split()) == (
        "{ lambda ; a:Ref{f32[6]} b:i32[]. let c:f32[] <- a[b] d:f32[1] <- a[1:4][:1] in (c, d) }"
    )


def test_r40_printed_life() -> None:
    def double(x: Any) -> Any:
        r = new_ref(x)
        r[...] = r[...] * 2
        return freeze(r)

    jaxpr = make_jaxpr(double)(1.0)
    lines = [line.strip() for line in str(jaxpr).splitlines()]
    assert lines[1:-1] == [
        "b:Ref{f32[]} = new_ref[kind=None memory_space=None pin=False] a",
        "c:f32[] <- b[...]",
        "d:f32[] = mul c 2.0:f32[]",
        "b[...] <- d",
        "e:f32[] = freeze b",
    ]
    assert [type(e).__name__ for e in jaxpr.effects] == ["InternalMutableArrayEffect"]


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda r: r.set(1.0, (0, 1)), "a[0,1] <- 1.0:f32[]"),
        (lambda r: r.swap(1.0, (0, 1)), "b:f32[], a[0,1] <- a[0,1], 1.0:f32[]"),
        (lambda r: r.addupdate(r[...]), "a[...] += b"),
        (lambda r: r[1:, ::2], "b:f32[2,2] <- a[1:3,:3:2]"),
        (lambda r: r.T[1], "b:f32[3] <- a.transpose(1,0)[1,:]"),
        (lambda r: r.reshape(-1)[1], "b:f32[] <- a.reshape(12)[1]"),
    ],
)
def test_printed_forms(use: Any, text: str) -> None:
    jaxpr = make_jaxpr(use)(new_ref(jnp.zeros((3, 4))))
    assert text in str(jaxpr)


def test_closed_over_refs_are_constants() -> None:
    r = new_ref(jnp.zeros(3))
    jaxpr = make_jaxpr(lambda: r.set(1.0, 0))()
    assert str(jaxpr) == "{ lambda a:Ref{f32[3]}; . let a[0] <- 1.0:f32[] in () }"


def test_r41_aliased() -> None:
    def add_one(r: Any) -> None:
        r[...] += 1.0

    lowered = jit(add_one).lower(new_ref(jnp.zeros(3)))
    text = lowered.as_text()
    assert "%arg0: tensor<3xf32> {tf.aliasing_output = 0 : i32}" in text
    assert "-> tensor<3xf32>" in text
    assert "stablehlo.add" in text
    hlo = lowered.compile().as_text()
    assert "input_output_alias={ {}: (0, {}, may-alias) }" in hlo
    assert "copy(" not in hlo


def test_r42_effects() -> None:
    r = new_ref(jnp.zeros(3))

    def names(use: Any) -> set[str]:
        return {type(e).__name__ for e in make_jaxpr(use)(r).effects}

    assert names(lambda r: r[0]) == {"ReadEffect"}
    assert names(lambda r: ref.addupdate(r, 0, 1.0)) == {"AccumEffect"}
    assert names(lambda r: r.set(1.0, 0)) == {"WriteEffect"}
    assert names(jit(lambda r: r.set(1.0, 0))) == {"WriteEffect"}


def test_r43_view_of_an_internal_ref() -> None:
    def total(x: Any) -> Any:
        r = new_ref(jnp.ones(5))
        r.at[1:4][...] += x
        return r[...].sum()

    for f in (total, jit(total)):
        assert tans.grad(f)(jnp.arange(3.0)).tolist() == [1, 1, 1]


def test_r44_same_ref_twice() -> None:
    x = new_ref(0.0)
    with pytest.raises(ValueError, match="as a_ref and b_ref"):
        jit(lambda a_ref, b_ref: 0)(x, x)
    with pytest.raises(ValueError, match=r"as d\['a'\] and d\['b'\]"):
        jit(lambda d: 0)({"a": x, "b": x})
    assert jit(lambda a, b: a[...] + b[...])(x, new_ref(1.0)) == 1.0
    with pytest.raises(ValueError, match="twice"):
        jit(lambda r: jit(lambda a, b: 0)(r, r))(x)


def test_r45_closed_over_and_passed() -> None:
    x = new_ref(1.0)
    total = jit(lambda y: x[...] + y[...])
    assert total(new_ref(2.0)) == 3.0
    for y in (x, x):
        with pytest.raises(ValueError, match="argument y, but the function also closed over it"):
            total(y)


def test_r46_returned() -> None:
    x = new_ref(0.0)
    with pytest.raises(ValueError, match="is the argument r"):
        jit(lambda r: r)(x)
    with pytest.raises(ValueError, match=r"created on line .*test_vectors_jit.py:\d+"):
        jit(new_ref)(0.0)
    with pytest.raises(ValueError, match=r"result\['hi'\].*closed over"):
        jit(lambda: {"hi": x})()


def test_r47_nested() -> None:
    r = new_ref(0.0)

    @jit
    def add(r: Any, y: Any) -> None:
        r[...] += y

    @jit
    def twice(r: Any) -> None:
        add(r, 2.0)
        add(r, 2.0)

    twice(r)
    assert r[...] == 4.0


def test_r48_leak() -> None:
    leak = []
    jit(lambda x: (leak.append(new_ref(x)), x)[1])(1.0)
    with pytest.raises(UnexpectedTracerError, match=r"Ref\{f32\[\]\}"):
        leak[0][...]


def test_r49_order_of_prints(capfd: Any) -> None:
    r = new_ref(0.0)

    @jit
    def step(r: Any) -> None:
        r[...] += 1
        tans.debug.print("{}", r[...])
        tans.debug.print("{}", r)
        r[...] += 1

    step(r)
    tans.effects_barrier()
    assert capfd.readouterr().out.split() == ["1.0", "1.0"]
    assert r[...] == 2.0


def test_r50_dead_code() -> None:
    @jit
    def inner(x: Any, y: Any) -> Any:
        r = new_ref(x)
        r[...] += y
        return r[...]

    @jit
    def outer(x: Any, y: Any) -> Any:
        inner(x, y)
        return x

    assert "add" not in outer.lower(1, 2).as_text()
    assert "add" in jit(lambda x, y: inner(x, y)).lower(1, 2).as_text()


def test_types_decide_about_tracing() -> None:
    traced = []

    @jit
    def read(r: Any) -> Any:
        traced.append(1)
        return r[0]

    for x in (1.0, 2.0, 3.0):
        assert read(new_ref(jnp.full(3, x))) == x
    assert len(traced) == 1
    assert jit(lambda r: r[0], static_argnums=0)(new_ref(jnp.ones(3))) == 1.0
