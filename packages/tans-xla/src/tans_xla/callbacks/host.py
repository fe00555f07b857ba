"""The host's side of a callback: from the runtime's NumPy views to the user's function and back.

The runtime checks nothing: a result of the wrong shape or dtype would be read as garbage, and a
wrong container is a cast error. So every call goes through `FlatCallback.__call__`.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tans_core import dtypes, tree
from tans_core.state import set_current_trace, state
from tans_core.types import ShapedArray
from tans_xla import backend
from tans_xla._jaxlib import ArrayImpl, JaxRuntimeError
from tans_xla.transfer.place import put_numpy
from tans_xla.transfer.target import make_target


class FlatCallback:
    """A user's function with its calling convention, on flat lists.

    Args:
      fun: the user's function.
      in_tree: structure of ``(args, kwargs)``.
      out_tree: structure of the result; None when the result is ignored.
      name: the public function that made it, for messages.
      static: flat positions and values of arguments that are not arrays.
    """

    __slots__ = ("fun", "in_tree", "name", "out_tree", "static")

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: Any,
        out_tree: Any,
        name: str,
        static: tuple[tuple[int, Any], ...] = (),
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.name = name
        self.static = static

    def __repr__(self) -> str:
        return f"FlatCallback({getattr(self.fun, '__qualname__', self.fun)!s})"

    def __call__(self, *arrays: np.ndarray, avals: Sequence[ShapedArray]) -> list[np.ndarray]:
        """Call the user's function; return its results as NumPy arrays of types `avals`.

        Raises:
          ValueError: the result does not have the announced structure, shape or dtype.
        """
        leaves: list[Any] = [_as_array(x) for x in arrays]
        for position, value in self.static:
            leaves.insert(position, value)
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        with _plain_evaluation():
            result = self.fun(*args, **kwargs)
        if self.out_tree is None:
            return []
        return self._check(result, avals)

    def _check(self, result: Any, avals: Sequence[ShapedArray]) -> list[np.ndarray]:
        leaves, found = tree.flatten(result)
        if found != self.out_tree:
            raise ValueError(
                f"{self.name}: the callback {self.fun!r} returned a value of structure {found}, "
                f"but result_shape_dtypes announced {self.out_tree}. Make the two agree."
            )
        return [
            self._check_leaf(x, aval, i)
            for i, (x, aval) in enumerate(zip(leaves, avals, strict=True))
        ]

    def _check_leaf(self, leaf: Any, aval: ShapedArray, position: int) -> np.ndarray:
        value = np.asarray(leaf)
        # Python scalars take the announced dtype, as weakly typed values do elsewhere.
        fits = type(leaf) in dtypes.PYTHON_SCALARS and np.can_cast(
            type(leaf), aval.dtype, "same_kind"
        )
        if value.shape != aval.shape or not (fits or _same_dtype(value.dtype, aval.dtype)):
            raise ValueError(
                f"{self.name}: result {position} of the callback {self.fun!r} has type "
                f"{value.dtype}{list(value.shape)}, but result_shape_dtypes announced "
                f"{aval.str_short(short_dtypes=False)}. Convert it with "
                "np.asarray(result, dtype), or announce what the callback returns."
            )
        return np.ascontiguousarray(value, aval.dtype).reshape(aval.shape)


def _same_dtype(found: Any, expected: Any) -> bool:
    try:
        return dtypes.canonicalize(found) == expected
    except TypeError:
        return False


def _as_array(value: np.ndarray) -> ArrayImpl:
    """Return a private CPU array: the runtime's views are only valid during the call."""
    return put_numpy(np.asarray(value), make_target(backend.get_client("cpu").local_devices()[0]))


@contextlib.contextmanager
def _plain_evaluation() -> Iterator[None]:
    """Run user code as outside any trace, whatever the thread was doing when it was called."""
    with set_current_trace(state.evaluation):
        yield


def callback_error(error: BaseException) -> JaxRuntimeError:
    """Return the error that a failed callback surfaces as, with the user's traceback."""
    text = "".join(traceback.format_exception(error))
    return JaxRuntimeError(f"INTERNAL: a callback raised {type(error).__name__}: {error}\n{text}")


class HostCallback:
    """What the executable holds: NumPy views in, a tuple of NumPy arrays out.

    Args:
      callback: the callback on flat lists.
      avals: types of the results.
      has_token: whether a token comes first among operands and results.
      deferred: keep an exception for `raise_failure` and return zeros. In a program over several
        devices the others would wait for the failed one in a collective, and after a while the
        runtime ends the process.
    """

    __slots__ = ("avals", "callback", "deferred", "failures", "has_token")

    def __init__(
        self,
        callback: Callable[..., Any],
        avals: Sequence[ShapedArray],
        has_token: bool,
        deferred: bool = False,
    ) -> None:
        self.callback = callback
        self.avals = tuple(avals)
        self.has_token = has_token
        self.deferred = deferred
        self.failures: list[Exception] = []

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """Call back; a token comes first and is handed through."""
        if self.has_token:
            return (args[0], *self._results(args[1:]))
        return tuple(self._results(args))

    def _results(self, args: Sequence[Any]) -> list[np.ndarray]:
        if not self.deferred:
            return self.callback(*args, avals=self.avals)
        try:
            return self.callback(*args, avals=self.avals)
        except Exception as error:
            self.failures.append(error)
            return [np.zeros(aval.shape, aval.dtype) for aval in self.avals]

    def raise_failure(self) -> None:
        """Raise the first exception that was kept, and forget the others.

        Raises:
          JaxRuntimeError: the callback raised.
        """
        failures, self.failures = self.failures, []
        if failures:
            raise callback_error(failures[0]) from failures[0]
