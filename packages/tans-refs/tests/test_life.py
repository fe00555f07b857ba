"""What errors leave behind: refs keep their value, or say that they lost it."""

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import jit, lax, make_jaxpr, new_ref, ref
from tans_core import jaxpr_as_fun
from tans_core.refs import AbstractRef
from tans_refs import discharge_state, ds


def test_error_while_tracing_leaves_refs_alone() -> None:
    r = new_ref(jnp.zeros(3))

    def fails(r: Any) -> None:
        r[...] += 1.0
        raise RuntimeError("stop")

    for run in (lambda: jit(fails)(r), lambda: lax.scan(lambda c, _: (fails(r), c), 0, None, 2)):
        with pytest.raises(RuntimeError, match="stop"):
            run()
        assert r[...].tolist() == [0, 0, 0]
    r[0] = 1.0
    assert r[0] == 1.0


def test_error_of_a_type_leaves_refs_alone() -> None:
    r = new_ref(jnp.zeros(3))
    with pytest.raises(ValueError, match="invalid shape"):
        r[...] = jnp.zeros(4)
    with pytest.raises(TypeError):
        r[...] = None
    assert r[...].tolist() == [0, 0, 0]


def test_failed_execution_marks_the_ref_as_lost() -> None:
    r = new_ref(jnp.zeros(3))
    other = new_ref(jnp.ones(3))

    def refuse(x: Any) -> None:
        raise ValueError("no")

    @jit
    def fails(r: Any, other: Any) -> Any:
        tans.pure_callback(refuse, None, r[...])
        x = tans.pure_callback(lambda x: refuse(x) or x, jnp.zeros(3), r[...])
        r[...] = x
        return other[0]

    def run() -> None:
        tans.block_until_ready(fails(r, other))
        r[...].block_until_ready()

    with pytest.raises(Exception, match="no"):
        run()
    # The ref was being overwritten; what it holds now is an error or nothing.
    with pytest.raises(Exception, match=r"no|lost"):
        np.asarray(r[...])
    assert other[...].tolist() == [1, 1, 1]


def test_lost_ref_says_so() -> None:
    r = new_ref(jnp.zeros(3))
    r.take().delete()
    add = jit(lambda r: r.set(r[...] + 1.0))
    with pytest.raises(Exception, match="deleted"):
        add(r)
    with pytest.raises(ValueError, match=r"Ref\{float32\[3\]\} that was lost"):
        r[...]
    with pytest.raises(ValueError, match="lost"):
        add(r)


def test_write_after_freeze_in_one_more_view() -> None:
    r = new_ref(jnp.arange(3))
    v = r.at[1:]
    a = tans.freeze(r)
    with pytest.raises(ValueError, match="was frozen"):
        v[0] = 5
    assert a.tolist() == [0, 1, 2]
    assert ref.free_ref(new_ref(1.0)) == ()


def test_methods_of_all_kinds() -> None:
    def use(r: Any) -> Any:
        before = r.get(slice(0, 2))
        r.set(10.0, 0)
        old = r.swap(20.0, 1)
        r.addupdate(5.0, 2)
        return before, old, r.get()

    def check(out: Any) -> None:
        before, old, now = out
        assert before.tolist() == [0, 1]
        assert old == 1
        assert now.tolist() == [10, 20, 7]

    check(use(new_ref(jnp.arange(3.0))))
    check(jit(use)(new_ref(jnp.arange(3.0))))
    for run in (use, jit(use)):
        whole = new_ref(jnp.arange(12.0).reshape(4, 3))
        check(run(whole.reshape(12).at[:3]))
        check(run(new_ref(jnp.arange(3.0)[:, None]).T.at[0]))
        check(run(new_ref(jnp.arange(3.0)).at[ds(0, 3)]))


def test_attributes() -> None:
    r = new_ref(jnp.zeros((2, 3)))
    v = r.at[0]
    assert (r.shape, r.dtype, r.ndim, r.size, len(r), r.committed) == (
        (2, 3),
        np.float32,
        2,
        6,
        2,
        True,
    )
    assert (v.shape, v.dtype, v.ndim, v.size) == ((3,), np.float32, 1, 3)
    assert r.sharding == jnp.zeros(3).sharding
    assert r == r
    assert r != new_ref(jnp.zeros((2, 3)))
    assert len({r, r}) == 1
    twin = copy.copy(r)
    twin[0, 0] = 1.0
    assert r[0, 0] == 1.0
    other = copy.deepcopy(r)
    other[0, 0] = 2.0
    assert r[0, 0] == 1.0
    assert jit(lambda r: (r.shape, r.ndim) == ((2, 3), 2) and r[0, 0])(r) == 1.0


def _closing_over(r: Any) -> Any:
    def body(*args: Any) -> Any:
        r[...] += 1.0
        return args

    return body


@pytest.mark.parametrize(
    "use",
    [
        lambda f: jit(f)(),
        lambda f: jit(lambda x: tans.grad(lambda x: (f(), x)[1])(x))(1.0),
        lambda f: lax.cond(True, lambda: (f(), None)[1], lambda: None),
        lambda f: lax.scan(lambda c, _: (c, (f(), None)[1]), 0, None, 2),
        lambda f: jit(f).lower().compile()(),
    ],
)
def test_functions_do_not_keep_refs_that_they_close_over(use: Any) -> None:
    r = new_ref(jnp.zeros(3))
    gone = weakref.ref(r)
    use(_closing_over(r))
    assert r[0] > 0.0
    del r
    for _ in range(3):  # cycles through objects of the runtime go one after another
        gc.collect()
    assert gone() is None


def test_pickle() -> None:
    r = new_ref(jnp.arange(3.0))
    one, two = pickle.loads(pickle.dumps((r, r)))
    assert one is two
    one[0] = 5.0
    assert one[...].tolist() == [5, 1, 2]
    assert tans.typeof(one) is tans.typeof(r)
    assert r[0] == 0.0
    tans.freeze(r)
    with pytest.raises(ValueError, match=r"pickle: given .* that was frozen"):
        pickle.dumps(r)


def test_bitcast() -> None:
    r = new_ref(jnp.array([1.0, -0.0]))
    assert r.bitcast("uint32")[0] == 0x3F800000
    r.bitcast("uint32")[1] = jnp.uint32(0x40000000)
    assert r[1] == 2.0
    with pytest.raises(ValueError, match="same width"):
        r.bitcast("uint8")
    with pytest.raises(ValueError, match="2 elements"):
        r.reshape(3)
    with pytest.raises(ValueError, match="each of 0 to 0 once"):
        r.transpose(1)
    with pytest.raises(NotImplementedError, match="memory_space_cast"):
        r.memory_space_cast("host")


def test_options_of_new_ref() -> None:
    with pytest.raises(ValueError, match="kind='other'"):
        new_ref(1.0, kind="other")
    for options in ({"pin": True}, {"memory_space": "foo"}):
        with pytest.raises(NotImplementedError, match="outside of traced code"):
            new_ref(1.0, **options)
    text = str(make_jaxpr(lambda x: new_ref(x, memory_space="foo")[...])(jnp.zeros(2)))
    assert "b:Ref<foo>{f32[2]} = new_ref[kind=None memory_space=foo pin=False] a" in text
    for name, use in (("freeze", tans.freeze), ("free_ref", ref.free_ref), ("get", ref.get)):
        with pytest.raises(TypeError, match=f"{name}: given .* ref"):
            use(jnp.zeros(2))


def test_windows() -> None:
    r = new_ref(jnp.arange(8))
    assert r[ds(2, 3)].tolist() == [2, 3, 4]
    assert jit(lambda i: r[ds(i, 3, 2)])(1).tolist() == [1, 3, 5]
    text = str(make_jaxpr(lambda i: r[ds(i, 3)])(1))
    assert "c:i32[3] <- a[b:b+3]" in text
    for window in (ds(6, 3), ds(0, 9), ds(jnp.int32(0), 9), ds(0, 2, 0)):
        with pytest.raises(ValueError, match="dimension 0"):
            r[window]


def test_discharge_of_a_read_and_a_write() -> None:
    def f(r: Any, x: Any) -> Any:
        r[0] = x
        return r[1]

    pure = discharge_state(make_jaxpr(f)(new_ref(jnp.arange(3.0)), 5.0))
    assert not pure.effects
    value, new = jaxpr_as_fun(pure)(jnp.arange(3.0), 5.0)
    assert value == 1.0
    assert new.tolist() == [5, 1, 2]


def test_discharge_of_loops_and_branches() -> None:
    r = new_ref(jnp.zeros(2))

    def loop() -> Any:
        return lax.while_loop(lambda c: c < 3, lambda c: (r.set(r[...] + 1.0), c + 1)[1], 0)

    pure = discharge_state(make_jaxpr(loop)())
    (eqn,) = pure.eqns
    assert [a.str_short() for a in eqn.op.out_avals] == ["f32[2]", "i32[]"]
    count, new = jaxpr_as_fun(pure)(jnp.zeros(2))
    assert count == 3
    assert new.tolist() == [3, 3]

    branch = make_jaxpr(lambda p, r: lax.cond(p, lambda: r.set(jnp.ones(2)), lambda: None))
    pure = discharge_state(branch(True, r))
    assert pure.eqns[-1].params["branches"][0].jaxpr.eqns == []
    assert jaxpr_as_fun(pure)(False, jnp.zeros(2))[0].tolist() == [0, 0]
    assert jaxpr_as_fun(pure)(True, jnp.zeros(2))[0].tolist() == [1, 1]


def test_discharge_refuses_what_it_does_not_know() -> None:
    r = new_ref(jnp.zeros(2))
    f = jit(lambda r: tans.pure_callback(lambda x: x, jnp.zeros(2), r))
    with pytest.raises(NotImplementedError, match="pure_callback"):
        f(r)


def test_types() -> None:
    aval = tans.typeof(new_ref(jnp.zeros(3)))
    assert aval is AbstractRef(tans.typeof(jnp.zeros(3)))
    assert aval.update(shape=(2,)) is AbstractRef(tans.typeof(jnp.zeros(2)))
    assert aval.to_tangent() is aval
    assert copy.deepcopy(aval) is aval
    assert aval.lo_types() == (aval,)
    with pytest.raises(AttributeError, match="immutable"):
        aval.kind = "x"
    with pytest.raises(AttributeError):
        aval.nothing  # noqa: B018


def test_hidden_operations_are_refused() -> None:
    from tans_core import rules
    from tans_core.refs import get_p, new_ref_p

    for primitive in (get_p, new_ref_p):
        with pytest.raises(NotImplementedError, match="still holds refs"):
            rules.lowering[primitive](None)


def test_same_ref_twice_to_a_compiled_program() -> None:
    a, b = new_ref(1.0), new_ref(2.0)
    compiled = jit(lambda a, b: a.set(b[...])).lower(a, b).compile()
    with pytest.raises(ValueError, match="argument a and argument b"):
        compiled(a, a)
    compiled(a, b)
    assert a[...] == 2.0


def test_debug_nans() -> None:
    r, bad = new_ref(jnp.zeros(2)), new_ref(jnp.array([0.0, -1.0]))
    with tans.debug_nans(True):
        jit(lambda r: r.set(r[...] + 1.0))(r)
        with pytest.raises(FloatingPointError, match="log"):
            jit(lambda bad: jnp.log(bad[...]))(bad)
        with pytest.raises(FloatingPointError):
            jit(lambda r: r.set(jnp.log(r[...] - 2.0)))(r)
    assert bad[...].tolist() == [0, -1]
    with pytest.raises(ValueError, match="lost"):
        r[...]
