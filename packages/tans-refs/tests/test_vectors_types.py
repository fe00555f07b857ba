"""The numbered vectors R01 to R37: creation, types, life, indexing."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import freeze, grad, jit, lax, new_ref, ref
from tans.errors import NonConcreteBooleanIndexError


def add_one(r: Any) -> None:
    """Add one to a ref."""
    r[...] += 1.0


def test_r01_printed() -> None:
    r = new_ref(jnp.zeros(3))
    assert repr(r) == str(r) == "Ref([0., 0., 0.], dtype=float32)"
    assert repr(tans.typeof(r)) == "Ref{float32[3]}"


def test_r02_weak_type_is_dropped() -> None:
    assert tans.typeof(new_ref(1.0)[...]).weak_type is False


def test_r03_init_is_copied() -> None:
    x = jnp.arange(3.0)
    r = new_ref(x)
    r[0] = 9.0
    assert x.tolist() == [0, 1, 2]
    assert r[...].tolist() == [9, 1, 2]


def test_r03_numpy_init_is_copied() -> None:
    x = np.arange(64.0, dtype=np.float32)
    r = new_ref(x)
    r[0] = 9.0
    assert x[0] == 0
    x[1] = 7
    assert r[1] == 1


def test_r04_instances() -> None:
    r = new_ref(jnp.zeros(3))
    assert isinstance(r, tans.Ref)
    assert isinstance(r, ref.Ref)
    assert not isinstance(r, tans.Array)
    assert not isinstance(jnp.zeros(3), tans.Ref)
    assert jit(lambda r: isinstance(r, tans.Ref) and 1.0)(r) == 1.0


def test_r05_list() -> None:
    with pytest.raises(TypeError, match=r"\[1.0, 2.0\]"):
        new_ref([1.0, 2.0])


@pytest.mark.parametrize(
    ("init", "name"), [(np.arange(3), "int32[3]"), (3, "int32[]"), (True, "bool[]")]
)
def test_r06_inits(init: Any, name: str) -> None:
    assert repr(tans.typeof(new_ref(init))) == f"Ref{{{name}}}"


def test_r07_ref_of_ref() -> None:
    r = new_ref(jnp.zeros(3))
    for make in (new_ref, jit(lambda r: new_ref(r)[...])):
        with pytest.raises(TypeError, match="refs of refs are not supported"):
            make(r)
    with pytest.raises(TypeError, match="refs of refs"):
        new_ref(r.at[0])


def test_r08_leaf() -> None:
    r = new_ref(jnp.zeros(3))
    leaves = tans.tree.leaves({"a": r})
    assert len(leaves) == 1
    assert leaves[0] is r
    assert tans.tree.map(lambda x: x, r) is r


def test_r09_empty_ref_eager() -> None:
    with pytest.raises(NotImplementedError, match="inside of jit"):
        ref.empty_ref(tans.ShapeDtypeStruct((2,), "float32"))


def test_r10_empty_ref() -> None:
    def double(x: Any) -> Any:
        r = ref.empty_ref(tans.typeof(x))
        r.set(2 * x)
        return r[...]

    assert jit(double)(3.0) == 6.0
    assert grad(jit(double))(3.0) == 2.0
    text = str(tans.make_jaxpr(lambda: ref.empty_ref(jnp.zeros(2)).get())())
    assert "a:Ref{f32[2]} = empty_ref[memory_space=None pin=False ty=float32[2]]" in text


def test_r11_keys() -> None:
    r = new_ref(tans.random.key(0))
    assert repr(tans.typeof(r)) == "Ref{key<fry>[]}"
    r[...] = tans.random.key(1)
    assert bool(jnp.all(tans.random.key_data(r[...]) == jnp.array([0, 1], "uint32")))


@pytest.fixture
def table() -> Any:
    """A ref of 0 to 11 in three rows."""
    return new_ref(jnp.arange(12.0).reshape(3, 4))


def test_r12_reads(table: Any) -> None:
    assert table[1, 2] == 6.0
    assert table[:, 1].tolist() == [1, 5, 9]
    assert table[0, :3].tolist() == [0, 1, 2]


def test_r13_arrays_and_steps(table: Any) -> None:
    assert table[jnp.array([0, 0, 1]), jnp.array([1, 2, 3])].tolist() == [1, 2, 7]
    assert table[..., 0].tolist() == [0, 4, 8]
    assert table[::2, 1::2].tolist() == [[1, 3], [9, 11]]


def test_r14_int_out_of_range() -> None:
    r = new_ref(jnp.arange(5))
    for read in (lambda r: r[7], jit(lambda r: r[7])):
        with pytest.raises(ValueError, match=r"given 7 .* less than 5"):
            read(r)


def test_r15_traced_out_of_range() -> None:
    r = new_ref(jnp.arange(5))
    assert jit(lambda i: r[i])(7) == 4
    assert jit(lambda i: r[i])(-1) == 4
    assert r[jnp.array(7)] == 4
    assert r[jnp.array([7, -1])].tolist() == [4, 4]


def test_r16_slices_are_clipped() -> None:
    r = new_ref(jnp.arange(5))
    assert r[2:9].tolist() == [2, 3, 4]
    assert r[-1] == 4
    assert r[2:2].shape == (0,)
    assert r[-7] == 0


@pytest.mark.parametrize(
    ("idx", "error", "fact"),
    [
        (slice(None, None, -1), ValueError, "step -1"),
        ((0, 0), ValueError, "2 indices"),
        ((..., ...), ValueError, "2 ellipses"),
        (np.ones(5, bool), NonConcreteBooleanIndexError, "mask"),
        (True, NonConcreteBooleanIndexError, "mask"),
        (slice(12, None), ValueError, "slice from 12"),
        ([0, 1], TypeError, r"\[0, 1\]"),
        (1.0, TypeError, "float32"),
        ("a", TypeError, "'a'"),
        (ref.new_ref(1), TypeError, r"i\[...\]"),
    ],
)
def test_r17_refused_indices(idx: Any, error: Any, fact: str) -> None:
    r = new_ref(jnp.arange(5))
    with pytest.raises(error, match=fact):
        r[idx]
    with pytest.raises(error, match=fact):
        r[idx] = 0
    with pytest.raises(error, match=fact):
        r.at[idx]


def test_r18_dropped() -> None:
    r = new_ref(jnp.arange(5))
    r[jnp.array([0, 9])] = jnp.array([7, 8])
    assert r[...].tolist() == [7, 1, 2, 3, 4]


def test_r19_in_place() -> None:
    r = new_ref(jnp.zeros(3))
    p = r.unsafe_buffer_pointer()
    jit(add_one)(r)
    r[1] = 5.0
    r[...] = jnp.ones(3)
    assert r.unsafe_buffer_pointer() == p


def test_r20_reads_stay() -> None:
    r = new_ref(jnp.zeros(3))
    a = r[...]
    r[...] = jnp.ones(3)
    assert a.tolist() == [0, 0, 0]


def test_r21_reads_stay_under_jit() -> None:
    r = new_ref(jnp.zeros(1000))
    y = r[...]
    jit(add_one)(r)
    assert float(y.sum()) == 0.0


def test_r22_frozen() -> None:
    r = new_ref(jnp.arange(3))
    a = freeze(r)
    with pytest.raises(ValueError, match="was frozen"):
        r[0] = 5
    with pytest.raises(ValueError, match="was frozen"):
        jit(lambda r: r[0])(r)
    with pytest.raises(ValueError, match="was frozen"):
        freeze(r)
    assert a.tolist() == [0, 1, 2]
    assert "was frozen" in repr(r)


def test_r23_no_broadcasting() -> None:
    r = new_ref(jnp.zeros(3))
    with pytest.raises(ValueError, match=r"invalid shape.*float32\[\]; expected float32\[3\]"):
        r[...] = 5.0
    with pytest.raises(ValueError, match="invalid shape"):
        ref.addupdate(r, slice(1), jnp.ones(2))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float32", 1), ("int32", 1.0), ("bfloat16", np.float32(1)), ("float32", np.int32(1))],
)
def test_r24_dtypes(dtype: str, value: Any) -> None:
    for write in (lambda r: r.set(value, 0), jit(lambda r: r.set(value, 0))):
        with pytest.raises(ValueError, match=f"invalid dtype.*{dtype}"):
            write(new_ref(jnp.zeros(2, dtype)))


def test_r24_add_of_another_dtype() -> None:
    r = new_ref(jnp.zeros(2, "int32"))
    with pytest.raises(ValueError, match="invalid dtype"):
        r[...] += 1.0


def test_r25_freeze_of_an_argument() -> None:
    r = new_ref(0.0)
    for end in (freeze, ref.free_ref):
        with pytest.raises(ValueError, match="scope that created it"):
            jit(lambda r, end=end: end(r))(r)
        with pytest.raises(ValueError, match="scope that created it"):
            jit(lambda end=end: end(r))()
    assert r[...] == 0.0


def test_r26_ended_twice() -> None:
    def freeze_twice(x: Any) -> Any:
        r = new_ref(x)
        freeze(r)
        return freeze(r)

    def free_twice(x: Any) -> None:
        r = new_ref(x)
        ref.free_ref(r)
        ref.free_ref(r)

    for twice in (freeze_twice, jit(freeze_twice)):
        with pytest.raises(ValueError, match="frozen"):
            twice(1.0)
    for twice in (free_twice, jit(free_twice)):
        with pytest.raises(ValueError, match="freed"):
            twice(1.0)


def test_r27_read_after_free() -> None:
    def read(x: Any) -> Any:
        r = new_ref(x)
        ref.free_ref(r)
        return r[...]

    for run in (read, jit(read)):
        with pytest.raises(ValueError, match="freed"):
            run(1.0)


def test_r28_conversions() -> None:
    r = new_ref(jnp.zeros((), "bfloat16"))
    r[...] += 1.0
    assert repr(r) == "Ref(1, dtype=bfloat16)"
    small = new_ref(jnp.zeros((), "int8"))
    small[...] = jnp.int32(300)
    assert small[...] == 44


def test_r29_compiled() -> None:
    spec = tans.ShapeDtypeStruct((3,), "float32", is_ref=True)
    assert repr(spec) == "ShapeDtypeStruct(shape=(3,), dtype=float32, is_ref=True)"
    compiled = jit(add_one).lower(spec).compile()
    r = new_ref(jnp.zeros(3))
    p = r.unsafe_buffer_pointer()
    compiled(r)
    compiled(r)
    assert r[...].tolist() == [2, 2, 2]
    assert r.unsafe_buffer_pointer() == p


def test_r30_array_for_a_ref() -> None:
    r = new_ref(jnp.zeros(3))
    compiled = jit(add_one).lower(r).compile()
    with pytest.raises(TypeError, match=r"float32\[3\], expected Ref\{float32"):
        compiled(jnp.zeros(3))
    with pytest.raises(TypeError, match=r"Ref\{float32\[3\]\}, expected float32"):
        jit(lambda x: x).lower(jnp.zeros(3)).compile()(r)


def test_r31_swap_and_addupdate() -> None:
    r = new_ref(jnp.arange(5))
    assert ref.swap(r, 3, 10) == 3
    ref.addupdate(r, 2, 10)
    assert r[...].tolist() == [0, 1, 12, 10, 4]
    assert ref.get(r, None).tolist() == ref.get(r, ()).tolist() == r[...].tolist()


def test_r32_repeated_indices_add_up() -> None:
    r = new_ref(jnp.zeros(5))
    ref.addupdate(r, jnp.array([1, 1, 2]), jnp.ones(3))
    assert r[...].tolist() == [0, 2, 1, 0, 0]


def test_r33_last_write_wins() -> None:
    r = new_ref(jnp.zeros(5))
    r[jnp.array([1, 1, 2])] += jnp.ones(3)
    assert r[...].tolist() == [0, 1, 1, 0, 0]


def test_r34_view() -> None:
    r = new_ref(jnp.arange(6.0))
    v = r.at[1:4]
    v[0] = 10.0
    v[1:] = jnp.full(2, 7.0)
    assert v.shape == (3,)
    assert r[...].tolist() == [0, 10, 7, 7, 4, 5]


def test_r35_view_of_view() -> None:
    r = new_ref(jnp.arange(12.0).reshape(3, 4))
    v = r.at[1].at[2:]
    v[...] += 1.0
    assert r[1].tolist() == [4, 5, 7, 8]


def test_r36_view_as_argument() -> None:
    r = new_ref(jnp.arange(6.0))

    @jit
    def write(v: Any) -> Any:
        v[0] = 9.0
        return v[...]

    assert write(r.at[2:4]).tolist() == [9, 3]
    assert r[...].tolist() == [0, 1, 9, 3, 4, 5]
    assert write(r.at[jnp.array([4, 5])]).tolist() == [9, 5]


def test_r37_refs_are_no_arrays() -> None:
    r = new_ref(1.0)
    for use in (jnp.sin, lambda r: r + 1, lambda r: lax.add(r, 1.0), lambda r: jnp.ones(3) * r):
        for run in (use, jit(use)):
            with pytest.raises(TypeError, match=r"ref\[\.\.\.\]"):
                run(r)
    for use in (np.asarray, tans.device_put, list):
        with pytest.raises(TypeError):
            use(r)
