"""The dtype of keys, and the class of concrete arrays of keys."""

import copy
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, override

import numpy as np

import tans_lax as lax
from tans_core import Array, ArrayImpl, ShapedArray, config, register_value_type
from tans_core.dtypes import prng_key
from tans_core.explicit_mode import type_sharding
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_core.tree_registry import dispatch_registry
from tans_random.implementations import IMPLEMENTATIONS, Implementation
from tans_random.key_uses import KeyUses
from tans_random.wrapping import wrap as wrap_words
from tans_xla import composite

_U32: Final = np.dtype(np.uint32)


class KeyDtype:
    """Extended dtype of keys of one generator, printed as ``key<fry>``."""

    __slots__ = ("__weakref__", "impl")

    type = prng_key
    kind = "V"
    element_dtype = _U32
    tangent_dtype = None

    def __init__(self, impl: Implementation) -> None:
        self.impl = impl

    @property
    def name(self) -> str:
        """Printed name."""
        return f"key<{self.impl.tag}>"

    @property
    def itemsize(self) -> int:
        """Bytes of one key."""
        return 4 * int(np.prod(self.impl.key_shape))

    @property
    def element_shape(self) -> tuple[int, ...]:
        """Shape of the words of one key."""
        return self.impl.key_shape

    def full(self, shape: tuple[int, ...], word: Any) -> Any:
        """Return keys all words of which are the integer `word`."""
        return wrap_words(lax.full((*shape, *self.element_shape), word, _U32), self)

    def wrap(self, physical: Any) -> "KeyArray":
        """Return the keys with the given words."""
        return KeyArray(self, physical)

    def unwrap(self, value: "KeyArray") -> Any:
        """Return the words of keys."""
        return value._words

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDtype) and self.impl == other.impl

    @override
    def __hash__(self) -> int:
        return hash(self.impl)

    @override
    def __repr__(self) -> str:
        return self.name

    @override
    def __reduce__(self) -> Any:
        return dtype_of, (self.impl,)


@functools.cache
def dtype_of(impl: Implementation) -> KeyDtype:
    """Return the dtype of keys of a generator."""
    return KeyDtype(impl)


def dtype_named(name: str) -> KeyDtype:
    """Return the dtype of keys that is printed as `name`, such as ``key<fry>``.

    Raises:
      ValueError: no generator's keys are printed so.
    """
    found = {d.name: d for d in map(KeyDtype, IMPLEMENTATIONS)}
    if name not in found:
        raise ValueError(
            f"random: given keys of dtype {name}, expected one of {', '.join(found)}. Install the "
            "version of tans-random that made them."
        )
    return found[name]


@dataclass(frozen=True, slots=True)
class KeyShard:
    """One device's part of an array of keys.

    Attributes:
      device: where the part is.
      index: tuple of slices of the whole array.
      replica_id: 0 for the first device that holds this index, 1 for the next, and so on.
      data: the part; None on devices of other processes.
    """

    device: Any
    index: tuple[slice, ...]
    replica_id: int
    data: "KeyArray | None"


_FEW: Final = 16
_get: Final[Any] = ArrayImpl.__getitem__


@composite
def _unstack(words: Any) -> Any:
    return lax.unstack(words)


def _sharding_of(words: Any, keep: int) -> Any:
    """Return the sharding in the type of keys, from that of their words."""
    sharding = getattr(getattr(words, "aval", None), "_sharding", None)
    if sharding is None:
        return None
    spec = PartitionSpec(*sharding.spec.partitions[:keep])
    return type_sharding(sharding.mesh, spec, keep)


class KeyArray(Array):
    """An array of random keys; `key_data` gives its words, `wrap_key_data` makes one."""

    __slots__ = ("__weakref__", "_uses", "_words", "aval")

    def __init__(self, dtype: KeyDtype, words: Any) -> None:
        self._words = words
        self._uses: KeyUses | None = None
        keep = words.ndim - len(dtype.element_shape)
        self.aval = ShapedArray(words.shape[:keep], dtype, sharding=_sharding_of(words, keep))

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> KeyDtype:
        """Dtype of the keys."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """Number of keys."""
        return self.aval.size

    @property
    def itemsize(self) -> int:
        """Bytes of one key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all keys."""
        return self.itemsize * self.size

    @property
    def sharding(self) -> Any:
        """Sharding of the keys: that of the words, without their last dimensions."""
        return self._logical(self._words.sharding)

    def _logical(self, sharding: Any) -> Any:
        if type(sharding) is NamedSharding and len(sharding.spec) > self.ndim:
            return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[: self.ndim]))
        return sharding

    @property
    def committed(self) -> bool:
        """Whether the words are committed to a device."""
        return self._words.committed

    @property
    def device(self) -> Any:
        """Device of the words, or their sharding if they are on several."""
        device = self._words.device
        return self._logical(device)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process holds all keys."""
        return self._words.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all keys."""
        return self._words.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Any]:
        """The parts of the keys on the devices of this process."""
        return [self._shard(shard) for shard in self._words.addressable_shards]

    @property
    def global_shards(self) -> list[Any]:
        """The parts of the keys on all devices."""
        return [self._shard(shard) for shard in self._words.global_shards]

    def _shard(self, shard: Any) -> "KeyShard":
        data = None if shard.data is None else KeyArray(self.dtype, shard.data)
        return KeyShard(shard.device, shard.index[: self.ndim], shard.replica_id, data)

    def addressable_data(self, index: int) -> "KeyArray":
        """Return the keys on a device of this process."""
        return KeyArray(self.dtype, self._words.addressable_data(index))

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the words."""
        return self._words.unsafe_buffer_pointer()

    def on_device_size_in_bytes(self) -> int:
        """Return the size of the words in memory."""
        return self._words.on_device_size_in_bytes()

    def devices(self) -> set[Any]:
        """Return the devices that hold the words."""
        return self._words.devices()

    def block_until_ready(self) -> "KeyArray":
        """Wait until the words are computed."""
        self._words.block_until_ready()
        return self

    def copy_to_host_async(self) -> None:
        """Start copying the words to the host."""
        self._words.copy_to_host_async()

    def is_deleted(self) -> bool:
        """Whether the buffer was deleted or donated."""
        return self._words.is_deleted()

    def delete(self) -> None:
        """Free the buffer."""
        self._words.delete()

    @property
    def uses(self) -> KeyUses:
        """Which of the keys were used; noted only while the flag debug_key_reuse is on."""
        if self._uses is None:
            self._uses = KeyUses.none(self.shape)
        return self._uses

    def _part(self, words: Any, index: Any) -> "KeyArray":
        """Return some of the keys, whose uses are uses of this array's keys."""
        part = KeyArray(self.dtype, words)
        if config.debug_key_reuse.value:
            part._uses = self.uses.at(index)
        return part

    def share_uses(self, uses: KeyUses) -> None:
        """Make these keys count as those whose uses are given."""
        self._uses = uses

    def use(self, name: str) -> None:
        """Note that the function `name` uses all keys.

        Raises:
          KeyReuseError: one of them was used before.
        """
        self.uses.note(name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"given an array of dtype {self.dtype}, which has no NumPy form; expected numbers. "
            "Use random.key_data(keys) for the words."
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single key: expected at least one dimension.")
        return self.shape[0]

    def __iter__(self) -> Iterator["KeyArray"]:
        if not self.shape:
            raise TypeError("iteration over a single key: expected at least one dimension.")
        dtype, words = self.dtype, self._words
        # A compiled program takes the few keys of a split apart; it would be large for many.
        parts = _unstack(words) if len(words) <= _FEW else words
        if config.debug_key_reuse.value:
            return (self._part(part, i) for i, part in enumerate(parts))
        return (KeyArray(dtype, part) for part in parts)

    def __getitem__(self, index: Any) -> "KeyArray":
        if type(index) is int and self.shape:
            return self._part(self._words[index], index)
        return _get(self, index)

    def __copy__(self) -> "KeyArray":
        return self

    def __deepcopy__(self, memo: Any) -> "KeyArray":
        return KeyArray(self.dtype, copy.deepcopy(self._words, memo))

    def __reduce__(self) -> Any:
        return KeyArray, (self.dtype, self._words)

    def __bool__(self) -> bool:
        raise TypeError("the truth of a key: expected a boolean. Compare keys with ==.")

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @override
    def __repr__(self) -> str:
        dims = f"{self.shape}"
        words = str(np.asarray(self._words))
        return f"Array({dims}, dtype={self.dtype.name}) overlaying:\n{words}"


register_value_type(KeyArray, lambda keys: keys.aval)
# jit's C++ side passes keys as their words.
dispatch_registry.register_node(
    KeyArray,
    lambda keys: ((keys._words,), keys.dtype),
    lambda dtype, words: KeyArray(dtype, *words),
)
