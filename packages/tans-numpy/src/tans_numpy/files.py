"""Arrays in files and buffers: save, load, savez, frombuffer, fromstring, from_dlpack, ..."""

from typing import Any, NoReturn

import numpy as np

from tans_core import dtypes
from tans_numpy.creation import asarray
from tans_xla.dlpack import from_dlpack as import_array

type Array = Any


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a file in NumPy's format.

    Args:
      file: path or binary file.
      arr: any shape.
      allow_pickle: passed on to NumPy.
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one file in NumPy's format.

    Args:
      file: path or binary file.
      *args: arrays, named arr_0, arr_1, ...
      allow_pickle: passed on to NumPy.
      **kwds: arrays by name.
    """
    arrays = {name: np.asarray(value) for name, value in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **arrays)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Read what `save` or `savez` wrote.

    Args:
      file: path or binary file.
      *args, **kwargs: passed on to NumPy.

    Returns:
      An array, or a mapping from name to NumPy array.
    """
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, np.ndarray):
        return out
    if out.dtype.kind == "V" and out.dtype.names is None:
        # NumPy's format forgets the names of small floating-point types; of two bytes, only
        # bfloat16 is common enough to be meant.
        same = [t for t in dtypes.MACHINE_LEARNING_TYPES if np.dtype(t).itemsize == out.itemsize]
        if out.itemsize == 2 and same:
            out = out.view(next(t for t in same if np.dtype(t).name == "bfloat16"))
    return asarray(out)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """Make a vector from the bytes of a buffer.

    Args:
      buffer: bytes, or an object with the buffer protocol.
      dtype: dtype of the elements.
      count: number of elements; -1 means all.
      offset: number of bytes to skip.
    """
    return asarray(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """Make a vector from numbers written in a text.

    Args:
      string: the text.
      dtype: dtype of the elements.
      count: number of elements; -1 means all.
      sep: text between numbers.
    """
    return asarray(np.fromstring(string, dtype=np.dtype(dtype), count=count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: reading a file depends on more than the arguments.

    Raises:
      NotImplementedError: always.
    """
    del args, kwargs
    raise NotImplementedError(
        "fromfile: given a file, which a compiled program can't read. Read it first: "
        "jnp.asarray(np.fromfile(...))."
    )


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: an iterator can be read only once.

    Raises:
      NotImplementedError: always.
    """
    del args, kwargs
    raise NotImplementedError(
        "fromiter: given an iterator, which a compiled program can't read. Read it first: "
        "jnp.asarray(list(...))."
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Make an array from another library's, through DLPack.

    Args:
      x: object with ``__dlpack__`` and ``__dlpack_device__``.
      device: device or sharding to put the array on.
      copy: whether memory may be shared; None shares it where that is possible.

    Raises:
      TypeError: the object has no such methods.
    """
    return import_array(x, device=device, copy=copy)
