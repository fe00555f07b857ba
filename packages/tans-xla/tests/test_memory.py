"""Values in the memory of the host."""

import numpy as np
import pytest

from tans_xla import device_put, jit, make_jaxpr
from tans_xla.memory import MemorySpace, memory


@pytest.mark.parametrize("x", [np.arange(3.0, dtype=np.float32), np.float32(2), np.ones((2, 0))])
def test_arrays_move_between_memories(x):
    away = device_put(x, MemorySpace.Host)
    assert away.sharding.memory_kind == "pinned_host"
    back = device_put(away, memory.Space.Device)
    assert back.sharding.memory_kind == device_put(x).sharding.memory_kind
    np.testing.assert_array_equal(back, x)


def test_the_memory_is_part_of_the_type_in_programs():
    def there_and_back(x):
        return device_put(device_put(x, MemorySpace.Host), MemorySpace.Device)

    x = np.ones(3, np.float32)
    assert "b:f32<host>[3] = device_put[" in str(make_jaxpr(there_and_back)(x))
    np.testing.assert_array_equal(jit(there_and_back)(x), x)


@pytest.mark.parametrize("kind", ["tape", None, 3])
def test_a_memory_that_there_is_not_is_refused(kind):
    with pytest.raises(ValueError, match="pinned_host"):
        MemorySpace.of(kind)
    assert MemorySpace.of("unpinned_host") is MemorySpace.Host
