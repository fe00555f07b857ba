"""Calls of stages and their arguments: what is refused, and that each culprit is named."""

import copy
import pickle

import numpy as np
import pytest

from tans_core import config_module as config
from tans_core.partition_spec import PartitionSpec as P
from tans_core.sharding import named_sharding
from tans_xla import ShapeDtypeStruct, device_put, devices, jit
from tans_xla.layouts import Format, Layout

X = np.ones((2, 3), np.float32)


@pytest.fixture
def program(toys):
    def f(x, *, y):
        return toys.add(x["a"], y)

    return jit(f).trace({"a": X}, y=X)


STAGES = {"traced": lambda traced: traced, "compiled": lambda traced: traced.lower().compile()}
stages = pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)


@stages
@pytest.mark.parametrize(
    ("args", "kwargs", "texts"),
    [
        ((), {"y": X}, ["args: given a tuple of length 0; expected length 1"]),
        (({"a": X}, X), {}, ["args: given a tuple of length 2", "kwargs: given a dict without"]),
        (({"b": X},), {"y": X}, ["args[0]: given a dict without ['a']", "unknown keys ['b']"]),
        (({"a": [X]},), {"y": X}, ["args[0]['a']: given a list of length 1; expected a leaf"]),
        (({"a": None},), {"y": X}, ["args[0]['a']: given None; expected a leaf"]),
        ((X,), {"y": X}, ["args[0]: given a leaf; expected a dict with keys ['a']"]),
        (
            ({"a": X[:1]},),
            {"y": X.astype(int)},
            ["x['a'] has type f32[1,3], expected f32[2,3]", "y has type i32[2,3]"],
        ),
        (({"a": "text"},), {"y": X}, ["x['a'] is 'text' of type str, expected f32[2,3]"]),
        (({"a": ShapeDtypeStruct((2, 3), "f4")},), {"y": X}, ["x['a'] is ShapeDtypeStruct"]),
    ],
)
def test_each_culprit_is_named(program, stage, args, kwargs, texts):
    with pytest.raises(TypeError) as caught:
        stage(program)(*args, **kwargs)
    message = str(caught.value).replace("float32", "f32").replace("int32", "i32")
    message = message.replace("int64", "i32")
    assert message.startswith("f: given arguments of ")
    for text in texts:
        assert text in message
    assert message.endswith("or lower again.")


@stages
def test_stages_are_called_with_the_dynamic_arguments(toys, stage):
    f = jit(lambda n, x: toys.mul(x, float(n)), static_argnums=0)
    assert float(stage(f.trace(3, 1.0))(2.0)) == 6.0
    with pytest.raises(TypeError, match="args: given a tuple of length 2; expected length 1"):
        stage(f.trace(3, 1.0))(3, 2.0)


def test_a_recorded_program_is_not_traced_again(toys, program):
    count = []

    @jit
    def f(x):
        count.append(1)
        return toys.sin(x)

    traced = f.trace(X)
    np.testing.assert_allclose(traced(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(jit(lambda x: traced(x))(X), np.sin(X), rtol=1e-6)
    assert len(count) == 1


def test_devices_of_a_compilation_are_checked(program):
    lowered = program.lower()
    first, second = devices()[:2]
    for given in (None, (first,), [first]):
        lowered.compile(device_assignment=given)
    for given in ((second,), (first, second), (), 3):
        with pytest.raises(ValueError, match=r"given device_assignment=.*expected .*id=0"):
            lowered.compile(device_assignment=given)


def test_results_of_a_compiled_program_have_shardings_and_layouts(mesh):
    spec = named_sharding(mesh, P("x"))
    compiled = jit(lambda x: x).lower(device_put(X, spec)).compile()
    assert compiled.out_info.sharding.is_equivalent_to(spec, 2)
    assert compiled.out_info.format.layout.major_to_minor == (0, 1)
    again = jit(lambda x: x).lower(compiled.out_info).compile()
    assert again.input_shardings[0][0].is_equivalent_to(spec, 2)


def test_compiled_programs_are_copied_but_not_pickled(program):
    compiled = program.lower().compile()
    assert copy.copy(compiled) is compiled
    with pytest.raises(TypeError, match="serialize_executable"):
        pickle.dumps(compiled)


def test_a_struct_in_place_of_an_array_names_the_argument(toys):
    with pytest.raises(TypeError, match=r"f: given ShapeDtypeStruct.* as argument x.*eval_shape"):
        named(toys)(ShapeDtypeStruct((2,), "float32"))


def named(toys):
    def f(x):
        return toys.sin(x)

    return jit(f)


@pytest.mark.parametrize("sharding", ["x", 3, devices])
def test_structs_refuse_what_is_no_sharding(sharding):
    with pytest.raises(ValueError, match=r"ShapeDtypeStruct: given sharding=.*expected a Sharding"):
        ShapeDtypeStruct((2,), "float32", sharding=sharding)


def test_structs_take_specs_over_the_mesh_in_context(mesh):
    with pytest.raises(TypeError, match="without a mesh in context"):
        ShapeDtypeStruct((2,), "float32", sharding=P("x"))
    old = config.concrete_mesh.swap_local(mesh)
    try:
        struct = ShapeDtypeStruct((2,), "float32", sharding=P("x"))
    finally:
        config.concrete_mesh.set_local(old)
    assert struct.sharding == named_sharding(mesh, P("x"))


def test_structs_of_values(mesh):
    array = device_put(X, named_sharding(mesh, P("x")))
    struct = ShapeDtypeStruct.like(array)
    assert (struct.shape, struct.dtype, struct.sharding) == ((2, 3), X.dtype, array.sharding)
    assert struct.format == array.format
    assert ShapeDtypeStruct.like(struct) is struct
    assert ShapeDtypeStruct.like(2.0).weak_type
    assert ShapeDtypeStruct.like(X).sharding is None


def test_structs_with_formats(mesh):
    sharding = named_sharding(mesh, P("x"))
    struct = ShapeDtypeStruct((2, 3), "float32", sharding=Format(Layout((0, 1)), sharding))
    assert struct.sharding == sharding
    assert struct.update(shape=(4, 3)).format == struct.format
    assert struct != ShapeDtypeStruct((2, 3), "float32", sharding=sharding)
    assert "major_to_minor=(0, 1)" in repr(struct)
    jit(lambda x: x).lower(struct)
    columns = struct.update(sharding=Format(Layout((1, 0)), sharding))
    with pytest.raises(NotImplementedError, match=r"lower: given .*row by row"):
        jit(lambda x: x).lower(columns)
