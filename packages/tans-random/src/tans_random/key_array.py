"""The dtype of keys, and the class of concrete arrays of keys."""

import functools
from typing import Any, Final, override

import numpy as np

import tans_lax as lax
from tans_core import Array, ShapedArray, register_value_type
from tans_core.dtypes import prng_key
from tans_random.implementations import Implementation
from tans_random.wrapping import wrap as wrap_words

_U32: Final = np.dtype(np.uint32)


class KeyDtype:
    """Extended dtype of keys of one generator, printed as ``key<fry>``."""

    __slots__ = ("__weakref__", "impl")

    type = prng_key
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

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Return keys whose words are zero."""
        return wrap_words(lax.full((*shape, *self.element_shape), 0, _U32), self)

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


@functools.cache
def dtype_of(impl: Implementation) -> KeyDtype:
    """Return the dtype of keys of a generator."""
    return KeyDtype(impl)


class KeyArray(Array):
    """An array of random keys; `key_data` gives its words, `wrap_key_data` makes one."""

    __slots__ = ("__weakref__", "_words", "aval")

    def __init__(self, dtype: KeyDtype, words: Any) -> None:
        self._words = words
        keep = words.ndim - len(dtype.element_shape)
        self.aval = ShapedArray(words.shape[:keep], dtype)

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
    def weak_type(self) -> bool:
        """Keys have no weak type."""
        return False

    @property
    def sharding(self) -> Any:
        """Sharding of the words."""
        return self._words.sharding

    @property
    def committed(self) -> bool:
        """Whether the words are committed to a device."""
        return self._words.committed

    @property
    def device(self) -> Any:
        """Device of the words."""
        return self._words.device

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

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"given an array of dtype {self.dtype}, which has no NumPy form; expected numbers. "
            "Use random.key_data(keys) for the words."
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single key: expected at least one dimension.")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeError("the truth of a key: expected a boolean. Compare keys with ==.")

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @override
    def __repr__(self) -> str:
        dims = f"{self.shape}"
        words = str(np.asarray(self._words))
        return f"Array({dims}, dtype={self.dtype.name}) overlaying:\n{words}"


register_value_type(KeyArray, lambda keys: keys.aval)
