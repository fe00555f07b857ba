"""The compiler's form of named shardings, and the shapes of their shards."""

import pytest

from tans_core.mesh import AbstractMesh, AxisType
from tans_core.partition_spec import PartitionSpec as P
from tans_core.sharding import IndivisibleError, NamedSharding
from tans_xla import devices as devices  # attaches what the tests ask for

ABSTRACT = AbstractMesh((2, 4), ("x", "y"), (AxisType.Explicit,) * 2)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P(), "{replicated}"),
        (P("x"), "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"),
        (P(None, ("y", "x")), "{devices=[1,8]<=[2,4]T(1,0)}"),
        (P("x", "y"), "{devices=[2,4]<=[8]}"),
        (P(unreduced={"x"}), "{devices=[1,1,2,4]<=[8] last_tile_dims={unreduced, replicated}}"),
        (P("y", unreduced={"x"}), "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}"),
        (P(unreduced={"x", "y"}), "{unreduced}"),
    ],
    ids=str,
)
def test_compiler_sharding(spec, text):
    assert str(NamedSharding(ABSTRACT, spec)._to_xla_hlo_sharding(2)) == text


def test_shard_shapes():
    assert NamedSharding(ABSTRACT, P("x", "y")).shard_shape((8, 4)) == (4, 1)
    assert NamedSharding(ABSTRACT, P(("x", "y"))).shard_shape((8, 3)) == (1, 3)
    assert NamedSharding(ABSTRACT, P()).shard_shape(()) == ()
    with pytest.raises(IndivisibleError, match="7"):
        NamedSharding(ABSTRACT, P("x")).shard_shape((7,))
    with pytest.raises(ValueError, match="2 entries"):
        NamedSharding(ABSTRACT, P("x", "y")).shard_shape((8,))
