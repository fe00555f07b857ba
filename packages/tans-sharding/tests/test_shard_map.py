"""shard_map: what crosses its boundary, the types inside, and the errors of both."""

import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import AbstractMesh, AxisType, ManualAxisType, NamedSharding
from tans_core.manual_axis_type import ManualAxisType as CoreManualAxisType
from tans_core.partition_spec import UnreducedKind

U, R = P(unreduced={"X"}), P(reduced={"X"})


def placed(shape: tuple[int, ...], *spec: Any, dtype: Any = np.float32, **states: Any) -> Any:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    return tans.reshard(jnp.asarray(values), P(*spec, **states))


def types_inside(*args: Any, **options: Any) -> list[str]:
    seen: list[str] = []

    def body(*parts: Any) -> Any:
        seen.extend(str(tans.typeof(x)) for x in parts)
        return jnp.zeros(())

    tans.shard_map(body, out_specs=P(), **options)(*args)
    return seen


@pytest.fixture
def auto_mesh() -> Any:
    return tans.make_mesh((2, 4), ("X", "Y"), (AxisType.Auto, AxisType.Auto))


class TestBoundary:
    def test_parts_have_types_of_their_own(self, mesh: Any) -> None:
        args = (placed((8, 4), "X", "Y"), placed((8,), ("X", "Y")), placed((4,)))
        assert types_inside(*args) == ["float32[4,1]{V:(X,Y)}", "float32[1]{V:(X,Y)}", "float32[4]"]

    def test_states_cross_as_they_are(self, mesh: Any) -> None:
        args = (placed((8, 4), unreduced={"X"}), placed((4,), "Y", reduced={"X"}))
        assert types_inside(*args) == ["float32[8,4]{U:X}", "float32[1]{V:Y, R:X}"]

    @pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64])
    @pytest.mark.parametrize("shape", [(), (0,), (8,), (2, 3, 4)])
    def test_identity_returns_the_argument(self, mesh: Any, dtype: Any, shape: Any) -> None:
        spec = ("X",) if shape and shape[0] % 2 == 0 else ()
        x = placed(shape, *spec, dtype=dtype)
        y = tans.shard_map(lambda v: v, out_specs=P(*spec))(x)
        assert tans.typeof(y) is tans.typeof(x)
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))

    def test_an_invarying_result_is_repeated_along_a_named_axis(self, mesh: Any) -> None:
        x = placed((3,))
        y = tans.shard_map(lambda v: v, out_specs=P("X"))(x)
        np.testing.assert_array_equal(y, np.tile(np.arange(3), 2))

    def test_trees_and_prefixes(self, mesh: Any) -> None:
        tree = {"a": placed((4,), "X"), "b": (placed((2,)),)}
        fun = tans.shard_map(
            lambda t, s: {"sum": t["a"] + t["b"][0], "s": s},
            in_specs=({"a": P("X"), "b": P()}, P()),
            out_specs={"sum": P("X"), "s": P()},
        )
        out = fun(tree, np.float32(3))
        np.testing.assert_array_equal(out["sum"], [0, 2, 2, 4])
        assert float(out["s"]) == 3

    def test_static_arguments(self, mesh: Any) -> None:
        fun = tans.shard_map(
            lambda v, name: v * len(name), in_specs=(P("X"), None), out_specs=P("X")
        )
        np.testing.assert_array_equal(fun(placed((4,), "X"), "abc"), [0, 3, 6, 9])

    def test_decorator(self, mesh: Any) -> None:
        @tans.shard_map(out_specs=P("X"))
        def double(v: Any) -> Any:
            """Double."""
            return v * 2

        assert double.__doc__ == "Double."
        np.testing.assert_array_equal(double(placed((4,), "X")), [0, 2, 4, 6])

    def test_in_auto_mode_arguments_are_moved(self, auto_mesh: Any) -> None:
        fun = tans.shard_map(
            lambda v: v * lax.axis_index("X"), mesh=auto_mesh, in_specs=P("X"), out_specs=P("X")
        )
        x = np.ones((4, 2), np.float32)
        for y in (fun(x), tans.jit(fun)(x)):
            np.testing.assert_array_equal(y, [[0, 0], [0, 0], [1, 1], [1, 1]])
        assert fun(x).sharding.spec == P("X")

    def test_a_mesh_without_devices_takes_those_of_the_arguments(self, auto_mesh: Any) -> None:
        x = tans.device_put(np.arange(4.0, dtype=np.float32), NamedSharding(auto_mesh, P("X")))
        options = {"mesh": auto_mesh.abstract_mesh, "in_specs": P("X"), "out_specs": P()}
        total = tans.shard_map(lambda v: lax.psum(v, "X"), **options)
        np.testing.assert_array_equal(total(x), [2, 4])
        with pytest.raises(ValueError, match="without devices"):
            total(np.arange(4.0, dtype=np.float32))

    def test_one_device(self) -> None:
        mesh = tans.make_mesh((1, 1), ("X", "Y"))

        def body(v: Any) -> Any:
            index = lax.axis_index(("X", "Y"))
            return lax.psum(v, "X") + index, lax.ppermute(v, "Y", [(0, 0)])

        with tans.set_mesh(mesh):
            mapped = tans.shard_map(body, out_specs=(P("X", "Y"), P("X", "Y")))
            total, same = mapped(placed((2, 3), "X", "Y"))
        np.testing.assert_array_equal(total, np.arange(6).reshape(2, 3))
        np.testing.assert_array_equal(same, np.arange(6).reshape(2, 3))

    def test_arrays_of_keys(self, mesh: Any) -> None:
        keys = tans.reshard(tans.random.split(tans.random.key(0), 4), P("X"))
        draw = tans.shard_map(tans.vmap(tans.random.normal), out_specs=P("X"))
        np.testing.assert_array_equal(draw(keys), tans.vmap(tans.random.normal)(keys))

    def test_threads_do_not_share_the_inside(self, mesh: Any) -> None:
        found: list[Any] = []

        def body(v: Any) -> Any:
            look = lambda: found.append(tans.sharding.get_abstract_mesh().empty)  # noqa: E731
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            return v

        tans.shard_map(body, out_specs=P("X"))(placed((2,), "X"))
        assert found == [True]

    def test_the_context_is_restored_after_an_error(self, mesh: Any) -> None:
        def body(v: Any) -> Any:
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            tans.shard_map(body, out_specs=P("X"))(placed((2,), "X"))
        assert tans.sharding.get_abstract_mesh().manual_axes == ()
        with pytest.raises(NameError):
            lax.axis_index("X")


class TestTypesInside:
    def test_the_states_are_data(self, mesh: Any) -> None:
        found: list[Any] = []

        def body(v: Any, u: Any, r: Any, largest: Any) -> Any:
            for x in (v, u, r, largest):
                found.append(tans.typeof(x).mat)
                assert tans.typeof(x).manual_axis_type is found[-1]
                assert tans.typeof(x).sharding.spec == P(None)
            return v

        kind = UnreducedKind.max
        args = (placed((8,), "X"), placed((8,), unreduced={"X"}), placed((8,), reduced={"X"}))
        spec = P(None, unreduced={"X"}, unreduced_kind=kind)
        largest = lax.reduce_max(placed((2, 8), "X"), [0], out_sharding=spec)
        tans.shard_map(body, out_specs=P("X"))(*args, largest)
        assert found[0] is ManualAxisType(varying={"X"})
        assert found[1] is ManualAxisType(unreduced={"X"})
        assert found[2] is ManualAxisType(reduced={"X"})
        assert found[3] is ManualAxisType(unreduced={"X"}, unreduced_kind=kind)

    def test_manual_axis_types_are_interned_and_immutable(self) -> None:
        states = ManualAxisType(varying={"x"}, unreduced={"y"})
        assert states is ManualAxisType(varying=frozenset({"x"}), unreduced=frozenset({"y"}))
        assert pickle.loads(pickle.dumps(states)) is states
        assert ManualAxisType is CoreManualAxisType
        assert repr(states).startswith("ManualAxisType(varying=frozenset({'x'})")
        assert not ManualAxisType()
        with pytest.raises(AttributeError, match="immutable"):
            states.varying = frozenset()

    def test_the_mesh_inside_is_manual(self, mesh: Any) -> None:
        found: list[Any] = []

        def body(v: Any) -> Any:
            found.append(tans.sharding.get_abstract_mesh().axis_types)
            return v

        tans.shard_map(body, out_specs=P("X"))(placed((2,), "X"))
        tans.shard_map(body, out_specs=P("X"), axis_names={"X"})(placed((2,), "X"))
        assert found == [
            (AxisType.Manual, AxisType.Manual),
            (AxisType.Manual, AxisType.Explicit),
        ]

    @pytest.mark.parametrize(
        ("make", "expected"),
        [
            (lambda v: jnp.zeros(3), "float32[3]"),
            (lambda v: jnp.arange(4), "int32[4]"),
            (jnp.zeros_like, "float32[4]{V:X}"),
            (jnp.ones_like, "float32[4]{V:X}"),
            (lambda v: jnp.full_like(v, 2), "float32[4]{V:X}"),
            (lambda v: lax.full_like(v, 2.0), "float32[4]{V:X}"),
            (lambda v: v + 1, "float32[4]{V:X}"),
            (lambda v: v > jnp.arange(4), "bool[4]{V:X}"),
            (lambda v: jnp.where(v > 2, v, 0.0), "float32[4]{V:X}"),
            (lambda v: jnp.concatenate([v, jnp.ones(2)]), "float32[6]{V:X}"),
            (lambda v: v.at[0].set(1.0), "float32[4]{V:X}"),
            (lambda v: jnp.arange(8)[v.astype(int)], "int32[4]{V:X}"),
            (lambda v: jnp.ones((2, 4)) @ v, "float32[2]{V:X}"),
            (jnp.sort, "float32[4]{V:X}"),
            (lambda v: v.sum(), "float32[]{V:X}"),
            (lambda v: lax.axis_index("Y"), "int32[]{V:Y}"),
            (lambda v: v * lax.axis_index(("X", "Y")), "float32[4]{V:(X,Y)}"),
            (lambda v: tans.jit(lambda a: a * 2)(v), "float32[4]{V:X}"),
        ],
    )
    def test_results_vary_as_operands_do(
        self, mesh: Any, make: Callable[[Any], Any], expected: str
    ) -> None:
        found: list[str] = []

        def body(v: Any) -> Any:
            found.append(str(tans.typeof(make(v))))
            return v

        tans.shard_map(body, out_specs=P("X"))(placed((8,), "X"))
        assert found == [expected]

    def test_eval_shape_keeps_the_states(self, mesh: Any) -> None:
        def body(v: Any) -> Any:
            struct = tans.eval_shape(lambda a: a * 2, v)
            assert struct.manual_axis_type is ManualAxisType(varying={"X"})
            assert tans.typeof(struct) is tans.typeof(v)
            return v

        tans.shard_map(body, out_specs=P("X"))(placed((8,), "X"))

    def test_casts_can_be_made_errors(self, mesh: Any) -> None:
        fun = tans.shard_map(lambda v, w: v * w, out_specs=P("X"))
        tans.config.update("jax_auto_pcast", False)
        try:
            with pytest.raises(ValueError, match="pcast"):
                fun(placed((8,), "X"), placed((4,)))
        finally:
            tans.config.update("jax_auto_pcast", True)
        np.testing.assert_array_equal(fun(placed((8,), "X"), placed((4,))).shape, (8,))

    def test_without_the_check_nothing_varies(self, mesh: Any) -> None:
        assert types_inside(placed((8, 4), "X", "Y"), check_vma=False) == ["float32[4,1]"]
        first = tans.shard_map(lambda v: v, out_specs=P(), check_vma=False)(placed((4,), "X"))
        np.testing.assert_array_equal(first, [0, 1])

    def test_values_are_not_concrete(self, mesh: Any) -> None:
        x = placed((8,), "X")
        for use, error in (
            (lambda v: bool(v.sum()), tans.errors.TracerBoolConversionError),
            (lambda v: float(v.sum()), tans.errors.ConcretizationTypeError),
            (np.asarray, tans.errors.TracerArrayConversionError),
        ):
            with pytest.raises(error):
                tans.shard_map(use, out_specs=P("X"))(x)


class TestStates:
    """The algebra of unreduced and reduced values inside: that of explicit mode."""

    def run(self, fun: Any, out: Any, *args: Any) -> str:
        return str(tans.typeof(tans.shard_map(fun, out_specs=out)(*args)))

    def test_reduced(self, mesh: Any) -> None:
        r = placed((8,), reduced={"X"})
        assert self.run(lambda v: v + v, R, r) == "float32[8]{R:X}"
        assert self.run(lambda v: v[:4] * 1, P("X"), placed((8,), "X")) == "float32[8@X]"
        assert self.run(lambda v, w: v[:4] + w, P("X"), r, placed((8,), "X")) == "float32[8@X]"
        two = lambda: lax.pcast(jnp.float32(2), "X", to="reduced")  # noqa: E731
        assert self.run(lambda v: v * two(), R, r) == "float32[8]{R:X}"
        square = placed((4, 4), reduced={"X"})
        assert self.run(lambda v: v @ v, P(), square) == "float32[4,4]"

    def test_unreduced(self, mesh: Any) -> None:
        u = placed((8,), unreduced={"X"})
        assert self.run(lambda v: v + v, U, u) == "float32[8]{U:X}"
        assert self.run(lambda v: -v, U, u) == "float32[8]{U:X}"
        assert self.run(jnp.zeros_like, P(), u) == "float32[8]"

        def zero(v: Any) -> Any:
            z = lax.pcast(jnp.zeros(8), "X", to="varying")
            return v + lax.pcast(z, "X", to="unreduced")

        np.testing.assert_array_equal(
            tans.reshard(tans.shard_map(zero, out_specs=U)(u), P()), np.arange(8)
        )

    @pytest.mark.parametrize(
        ("fun", "kind", "error"),
        [
            (lambda v: v * 2, "reduced", "ShardingTypeError"),
            (lambda v: v + jnp.ones(8), "reduced", "ShardingTypeError"),
            (lambda v: v * 2, "unreduced", "ShardingTypeError"),
            (jnp.sin, "unreduced", "ShardingTypeError"),
            (lambda v: v + lax.axis_index("X"), "unreduced", "ValueError"),
            (lambda v: lax.all_gather(v, "X"), "reduced", "ValueError"),
        ],
    )
    def test_refused(self, mesh: Any, fun: Any, kind: str, error: str) -> None:
        x = placed((8,), **{kind: {"X"}})
        with pytest.raises(Exception, match="expected") as found:
            tans.shard_map(fun, out_specs=P())(x)
        assert type(found.value).__name__ == error


IN_ERRORS: list[tuple[str, type[Exception], str, dict[str, Any]]] = [
    ("leaf", TypeError, "PartitionSpec entries", {"in_specs": "X"}),
    ("tree", ValueError, "in_specs", {"in_specs": (P("X"), P("X"))}),
    ("long", ValueError, "at most 2 entries", {"in_specs": P("X", None, None)}),
    ("unknown", ValueError, "'Q' is not mapped", {"in_specs": P("Q")}),
    ("twice", Exception, "duplicate", {"in_specs": P("X", "X")}),
    ("other spec", ValueError, "does not match the specs", {"in_specs": P(None, "X")}),
    ("unconstrained", ValueError, "UNCONSTRAINED", {"in_specs": P(P.UNCONSTRAINED)}),
    ("names list", TypeError, "a set of axis names", {"axis_names": ["X"]}),
    ("names unknown", ValueError, "'Q' is no axis", {"axis_names": {"Q"}}),
    ("mesh class", TypeError, "a Mesh or an AbstractMesh", {"mesh": 3}),
    ("other mesh", ValueError, "should match the mesh", {"mesh": AbstractMesh((8,), ("Z",))}),
    ("empty mesh", ValueError, "without axes", {"mesh": AbstractMesh((), ())}),
]
OUT_ERRORS: list[tuple[str, type[Exception], str, Any, Any]] = [
    ("leaf", TypeError, "PartitionSpec entries", lambda v: v, "X"),
    ("none", ValueError, "PartitionSpec entries", lambda v: v, None),
    ("tree", ValueError, "out_specs", lambda v: v, (P("X"), P("X"))),
    ("scalar", ValueError, r"x\[None\]", lambda v: v.sum(), P("X")),
    ("long", ValueError, "at most 2 entries", lambda v: v, P("X", None, None)),
    ("unknown", ValueError, "'Q' is not mapped", lambda v: v, P("Q")),
    ("varying", ValueError, "statically inferred", lambda v: v, P()),
    ("unreduced", ValueError, "unreduced axes in both", lambda v: v, U),
    ("reduced", ValueError, "reduced axes in both", lambda v: lax.psum(v, "X"), R),
    ("not an array", TypeError, "expected arrays", lambda v: "text", P()),
]


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "text", "options"), [c[1:] for c in IN_ERRORS], ids=[c[0] for c in IN_ERRORS]
    )
    def test_arguments(self, mesh: Any, error: Any, text: str, options: Any) -> None:
        with pytest.raises(error, match=text):
            tans.shard_map(lambda v: v, out_specs=P("X"), **options)(placed((8, 4), "X"))

    @pytest.mark.parametrize(
        ("error", "text", "fun", "out"), [c[1:] for c in OUT_ERRORS], ids=[c[0] for c in OUT_ERRORS]
    )
    def test_results(self, mesh: Any, error: Any, text: str, fun: Any, out: Any) -> None:
        with pytest.raises(error, match=text):
            tans.shard_map(fun, out_specs=out)(placed((8, 4), "X"))

    def test_calls(self, mesh: Any) -> None:
        with pytest.raises(TypeError, match="a function"):
            tans.shard_map(3, out_specs=P())
        with pytest.raises(TypeError, match="positional arguments"):
            tans.shard_map(lambda v: v, out_specs=P("X"))(v=placed((8,), "X"))
        with pytest.raises(TypeError, match="an array or a scalar"):
            tans.shard_map(lambda v: v, out_specs=P())("text")

    def test_no_mesh(self) -> None:
        with pytest.raises(ValueError, match="none is in context"):
            tans.shard_map(lambda v: v, in_specs=P(), out_specs=P())(np.ones(2))

    def test_auto_axes(self, auto_mesh: Any) -> None:
        x = np.ones(8, np.float32)
        with tans.set_mesh(auto_mesh):
            with pytest.raises(TypeError, match="no in_specs"):
                tans.shard_map(lambda v: v, out_specs=P("X"))(x)
            with pytest.raises(ValueError, match="along the Auto axis"):
                tans.shard_map(lambda v: v, in_specs=U, out_specs=U)(x)
            with pytest.raises(ValueError, match="evenly divide"):
                tans.shard_map(lambda v: v, in_specs=P("X"), out_specs=P("X"))(np.ones(7))

    def test_captured_values(self, mesh: Any) -> None:
        whole, reduced = placed((4,)), placed((4,), reduced={"X"})
        with pytest.raises(NotImplementedError, match="reads its arguments only"):
            tans.shard_map(lambda v: v + whole, out_specs=P("X"))(placed((8,), "X"))
        with pytest.raises(ValueError, match="expected one mesh"):
            tans.shard_map(lambda v: v + reduced, out_specs=P("X"))(placed((8,), "X"))
        with pytest.raises(NotImplementedError, match="reads its arguments only"):
            tans.jit(lambda c, x: tans.shard_map(lambda v: v + c, out_specs=P("X"))(x))(
                np.ones(4, np.float32), placed((8,), "X")
            )
        fine = tans.shard_map(lambda v: v + np.ones(4, np.float32), out_specs=P("X"))
        np.testing.assert_array_equal(fine(placed((8,), "X")), np.arange(8) + 1)

    def test_captured_values_in_auto_mode(self, auto_mesh: Any) -> None:
        def fun(c: Any, x: Any) -> Any:
            body = tans.shard_map(lambda v: v + c, in_specs=P("X"), out_specs=P("X"))
            return body(x)

        with tans.set_mesh(auto_mesh):
            c, x = jnp.arange(4.0), jnp.ones(8)
            for run in (fun, tans.jit(fun)):
                np.testing.assert_array_equal(run(c, x), np.tile(np.arange(4), 2) + 1)
            slope = tans.grad(lambda c: (fun(c, x) ** 2).sum())(c)
        np.testing.assert_array_equal(slope, 2 * 2 * (np.arange(4) + 1))

    def test_inside(self, mesh: Any) -> None:
        x = placed((8,), "X")
        run = lambda body: tans.shard_map(body, out_specs=P("X"))(x)  # noqa: E731
        with pytest.raises(ValueError, match="outside of"):
            run(lambda v: (tans.set_mesh(mesh), v)[1])
        with pytest.raises(ValueError, match="Manual"):
            run(lambda v: tans.reshard(v, P("X")))
        with pytest.raises(ValueError, match="Manual"):
            run(lambda v: lax.with_sharding_constraint(v, P("X")))
        with pytest.raises(ValueError, match="manual already"):
            run(lambda v: tans.shard_map(lambda w: w, out_specs=P("X"), axis_names={"X"})(v))
        with pytest.raises(ValueError, match="manual already"):
            run(lambda v: tans.shard_map(lambda w: w, out_specs=P())(v))

    def test_states_need_all_axes_mapped(self, mesh: Any) -> None:
        for x, out in ((placed((8,), unreduced={"X"}), U), (placed((8,), reduced={"X"}), R)):
            with pytest.raises(NotImplementedError, match="all axes of the mesh mapped"):
                tans.shard_map(lambda v: v, out_specs=out, axis_names={"X"})(x)


class TestSmap:
    def test_integers_in_place_of_specs(self, mesh: Any) -> None:
        x = placed((8, 4), "X")
        for axes in ({}, {"in_axes": 0}):
            y = tans.smap(lambda v: v * 2, out_axes=0, axis_name="X", **axes)(x)
            np.testing.assert_array_equal(y, 2 * np.arange(32).reshape(8, 4))
        wide = tans.smap(lambda v: v, in_axes=0, out_axes=1, axis_name="X")(x)
        assert wide.shape == (4, 8)
        added = tans.smap(lambda v, c: v + c, in_axes=(0, None), out_axes=0, axis_name="X")
        np.testing.assert_array_equal(added(x, np.float32(1)), np.arange(32).reshape(8, 4) + 1)

    def test_decorator(self, mesh: Any) -> None:
        @tans.smap(out_axes=None, axis_name="X")
        def total(v: Any) -> Any:
            return lax.psum(v.sum(), "X")

        assert float(total(placed((8,), "X"))) == 28

    @pytest.mark.parametrize(
        "options",
        [
            {"in_axes": [0], "out_axes": 0, "axis_name": "X"},
            {"in_axes": 0, "out_axes": 0, "axis_name": ("X", "Y")},
            {"in_axes": -1, "out_axes": 0, "axis_name": "X"},
            {"in_axes": "a", "out_axes": 0, "axis_name": "X"},
        ],
    )
    def test_errors(self, mesh: Any, options: Any) -> None:
        with pytest.raises(TypeError, match="smap"):
            tans.smap(lambda v: v, **options)(placed((8,), "X"))
