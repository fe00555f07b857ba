"""`ufunc`: elementwise functions that can also fold, accumulate and update.

A ufunc is called as often as any function of the package, so the object is a `functools.partial`
without arguments: its call goes straight to the wrapped function, with no Python method between.
"""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib import import_module
from inspect import Parameter, Signature
from operator import index
from typing import Any, Self

from tans_core import ArrayImpl, state
from tans_core.cache import register_cache
from tans_core.trace import eval_trace
from tans_numpy.operands import ArrayLike, check_arraylike
from tans_xla import composite

type Array = Any
type Implementation = Callable[..., Any] | None

_SIGNATURE = Signature(
    [
        Parameter("args", Parameter.VAR_POSITIONAL),
        Parameter("out", Parameter.KEYWORD_ONLY, default=None),
        Parameter("where", Parameter.KEYWORD_ONLY, default=None),
    ]
)


class ufunc(partial):  # noqa: N801  (NumPy's name)
    """An elementwise function with the methods of NumPy's universal functions.

    Args:
      func: function of `nin` scalars that returns one value, or a tuple of `nout`.
      nin: number of operands.
      nout: number of results.
      name: name that is shown; that of `func` if None.
      nargs: number of operands that the call takes; `nin` if None.
      identity: value that leaves another operand as it is, or None.
      call: function of whole arrays; `func` is mapped over the elements if None.
      reduce, accumulate, at, reduceat: implementations of the methods, with the arguments of the
        method; folds of `func`, one element after another, if None.

    Example:
      >>> jnp.add.reduce(jnp.arange(4))
      Array(6, dtype=int32)
    """

    __slots__ = (
        "_identity", "_made", "_nargs", "_nin", "_nout", "_own", "_scalar", "compiled", "inline",
    )  # fmt: skip

    def __new__(
        cls,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Implementation = None,
        reduce: Implementation = None,
        accumulate: Implementation = None,
        at: Implementation = None,
        reduceat: Implementation = None,
    ) -> Self:
        """Make a ufunc."""
        if not callable(func):
            raise TypeError(
                f"ufunc: given {func!r} of type {type(func).__name__}, expected a function of "
                "scalars."
            )
        nin, nout = index(nin), index(nout)
        nargs = nin if nargs is None else index(nargs)
        shown = name or getattr(func, "__name__", type(func).__name__)
        whole = _mapped(func, shown, nargs) if call is None else call
        whole = whole if hasattr(whole, "compiled") else composite(whole)
        self = super().__new__(cls, _entry(whole, shown, nargs))
        self._scalar, self._identity = func, identity
        self._nin, self._nout, self._nargs = nin, nout, nargs
        self._own = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}
        self._made: dict[str, Any] = {}
        self.compiled, self.inline = whole.compiled, whole.inline
        self.__name__ = self.__qualname__ = shown
        self.__module__ = getattr(func, "__module__", __name__)
        self.__doc__ = getattr(func, "__doc__", None)
        self.__signature__ = _SIGNATURE
        return self

    nin = property(lambda self: self._nin, doc="Number of operands.")
    nout = property(lambda self: self._nout, doc="Number of results.")
    nargs = property(lambda self: self._nargs, doc="Number of operands of a call.")
    identity = property(
        lambda self: self._identity, doc="Value that leaves another operand as it is, or None."
    )

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    @property
    def is_builtin(self) -> bool:
        """Whether this package defines the function."""
        return str(getattr(self._scalar, "__module__", None)).partition(".")[0] == "tans_numpy"

    def _facts(self) -> tuple[Any, ...]:
        return (self._scalar, self.__name__, self._nin, self._nout, self._nargs, self._identity)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is ufunc and self._facts() == other._facts())

    def __hash__(self) -> int:
        return hash(self._scalar)

    def __reduce__(self) -> Any:
        if getattr(import_module("tans_numpy"), self.__name__, None) is self:
            return _by_name, (self.__name__,)
        return frompyfunc, (self._scalar, self._nin, self._nout)

    def reduce(
        self,
        a: ArrayLike,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Combine the elements along a dimension, from the first to the last.

        Args:
          a: at least one dimension.
          axis: the dimension; None means all.
          dtype: dtype to compute in.
          out: not supported.
          keepdims: whether the dimension stays, with size 1.
          initial: first operand.
          where: which elements count, broadcast against `a`.

        Raises:
          ValueError: not a function of two operands; nothing to combine and no identity.
        """
        method = self._made.get("reduce") or self._make("reduce")
        return method(a, axis, dtype, out, keepdims, initial, where)

    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Return the combinations of the first elements along a dimension: 1, 2, ... of them.

        Args:
          a: any shape.
          axis: the dimension; None means the flattened array.
          dtype: dtype to compute in.
          out: not supported.

        Raises:
          ValueError: not a function of two operands.
        """
        method = self._made.get("accumulate") or self._make("accumulate")
        return method(a, axis, dtype, out)

    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """Return an array with the function applied at some places, once for each mention.

        Args:
          a: any shape.
          indices: what ``a[indices]`` takes.
          b: second operands, broadcast against ``a[indices]``.
          inplace: must be False.

        Raises:
          NotImplementedError: `inplace` is not False.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at: given inplace={inplace}; arrays can't be written to, "
                "expected inplace=False. Use the result that is returned."
            )
        return _module("updates").at(self, a, indices, b)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Apply the function to all pairs of elements of two arrays.

        Args:
          A, B: any shapes.

        Returns:
          Array of shape ``A.shape + B.shape``.

        Raises:
          ValueError: not a function of two operands.
        """
        method = self._made.get("outer") or self._make("outer")
        return method(A, B)

    def reduceat(
        self,
        a: ArrayLike,
        indices: Any,
        axis: int = 0,
        dtype: Any = None,
        out: None = None,
    ) -> Array:
        """Combine the elements of stretches of a dimension.

        Args:
          a: any shape.
          indices: ints [m], where the stretches start. Each ends where the next one starts; one
            whose successor starts no later has one element.
          axis: the dimension.
          dtype: dtype to compute in.
          out: not supported.

        Returns:
          Array of the shape of `a` with size m along `axis`.

        Raises:
          ValueError: not a function of two operands, or `indices` is not a vector.
        """
        method = self._made.get("reduceat") or self._make("reduceat")
        return method(a, indices, axis, dtype, out)

    def _make(self, method: str) -> Any:
        if self._nin != 2 or self._nout != 1:
            raise ValueError(
                f"{self.__name__}.{method}: given a function of {self._nin} operands with "
                f"{self._nout} results, expected 2 operands and 1 result."
            )
        return self._made.setdefault(method, _module("folds").made(self, method))


@cache
def _module(name: str) -> Any:
    return import_module(f"tans_numpy.ufuncs.{name}")


def _by_name(name: str) -> ufunc:
    return getattr(import_module("tans_numpy"), name)


def _mapped(func: Callable[..., Any], name: str, nargs: int) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        check_arraylike(name, *args)
        return import_module("tans_numpy.mapping").vectorize(func)(*args)

    call.__name__ = call.__qualname__ = name
    return call


def _refuse(name: str, option: str) -> None:
    raise NotImplementedError(
        f"{name}: given {option}=, expected None; arrays can't be written to. Use the result"
        f"{', with jnp.where' if option == 'where' else ''}."
    )


def _entry(whole: Any, name: str, nargs: int) -> Callable[..., Any]:
    """Return the function that a call runs: compiled on concrete arrays, inline in a trace."""
    compiled, inline = whole.compiled, whole.inline

    def unary(x: Any, /, *, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            _refuse(name, "where" if out is None else "out")
        if type(x) is ArrayImpl or state.trace is eval_trace:
            return compiled(x)
        return inline(x)

    def binary(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            _refuse(name, "where" if out is None else "out")
        if type(x) is type(y) is ArrayImpl or state.trace is eval_trace:
            return compiled(x, y)
        return inline(x, y)

    def several(*args: Any, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            _refuse(name, "where" if out is None else "out")
        if len(args) != nargs:
            raise TypeError(f"{name}: given {len(args)} operands, expected {nargs}.")
        return compiled(*args) if state.trace is eval_trace else inline(*args)

    entry = {1: unary, 2: binary}.get(nargs, several)
    entry.__name__ = entry.__qualname__ = name
    return entry


def as_ufunc(function: Any, nin: int, identity: Any = None) -> ufunc:
    """Return a composite of arrays as a ufunc of one result."""
    return ufunc(function.inline, nin, 1, identity=identity, call=function)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return a function of scalars as a ufunc.

    Args:
      func: function of `nin` scalars that returns one value, or a tuple of `nout`.
      nin, nout: number of operands and of results.
      identity: value that leaves another operand as it is, or None.

    Raises:
      TypeError: `func` is not a function, or a number is not an integer.

    Example:
      >>> frompyfunc(lambda a, b: 10 * a + b, 2, 1).reduce(jnp.array([1, 2, 3]))
      Array(123, dtype=int32)
    """
    try:
        return _remembered(func, nin, nout, identity)
    except TypeError:  # no function, or something without a hash
        return ufunc(func, nin, nout, identity=identity)


@lru_cache(maxsize=256, typed=True)
def _remembered(func: Any, nin: int, nout: int, identity: Any) -> ufunc:
    """Return the ufunc of a function, whose programs are compiled once however often it is made."""
    return ufunc(func, nin, nout, identity=identity)


register_cache("ufuncs of functions", _remembered.cache_clear)
