"""Making and ending refs."""

from typing import Any

from tans_core.hi_types import is_hi_value
from tans_core.refs import (
    NO_GRAD_NO_REMAT,
    AbstractRef,
    RefCell,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    is_ref_type,
    new_ref_p,
)
from tans_core.state import state
from tans_core.trace import Tracer, eval_trace
from tans_core.values import is_value, typeof
from tans_refs import eager
from tans_refs.access import TransformedRef
from tans_refs.ref import Ref

type Value = Any


def new_ref(
    init_val: Value, *, memory_space: Any = None, kind: str | None = None, pin: bool = False
) -> Any:
    """Return a new ref that holds a copy of a value.

    Args:
      init_val: array of any shape and dtype, Python or NumPy number, or array of typed keys. A
        Python number gives a ref of its default dtype.
      memory_space: kind of memory; only inside of `jit`.
      kind: None, or ``"no_grad_no_remat"``: reads are constants for differentiation, and
        `checkpoint` reads and writes only on the forward pass.
      pin: keep the buffer in one place; only inside of `jit`.

    Raises:
      TypeError: `init_val` is not an array, or is a ref.
      ValueError: an unknown kind.
      NotImplementedError: `memory_space` or `pin` outside of `jit`.

    Example:
      >>> import numpy as np
      >>> new_ref(np.zeros(2))
      Ref([0., 0.], dtype=float32)
    """
    if kind not in (None, NO_GRAD_NO_REMAT):
        raise ValueError(
            f"new_ref: given kind={kind!r}; expected None or {NO_GRAD_NO_REMAT!r}. Leave it out "
            "for a ref that is differentiated."
        )
    _check_init(init_val)
    if state.trace is eval_trace:
        return concrete_ref(init_val, memory_space=memory_space, kind=kind, pin=pin)
    return new_ref_p.bind(init_val, memory_space=memory_space, kind=kind, pin=bool(pin))


def _check_init(x: Any) -> None:
    if isinstance(x, TransformedRef) or (is_value(x) and is_ref_type(typeof(x))):
        raise TypeError(
            f"new_ref: given a ref of type {x.aval.str_short(False)} as the initial value; "
            "expected an array, because refs of refs are not supported. Pass its value, ref[...]."
        )
    if not is_value(x):
        raise TypeError(
            f"new_ref: given {x!r} of type {type(x).__name__} as the initial value; expected an "
            "array or a number. Convert it with jnp.asarray."
        )


def concrete_ref(init: Value, *, memory_space: Any, kind: str | None, pin: bool) -> Ref:
    """Make a ref outside of traced code."""
    if memory_space is not None or pin:
        raise NotImplementedError(
            f"new_ref: given memory_space={memory_space!r} and pin={pin!r} outside of traced code; "
            "expected neither. Call new_ref inside of jit, or leave them out."
        )
    array = init if is_hi_value(init) else eager.copied(init)
    return Ref(AbstractRef(typeof(array), None, kind), array)


def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Any:
    """Return a new ref whose elements are not set yet; only inside of traced code.

    Args:
      ty: shape and dtype: a `ShapeDtypeStruct`, a type or an array.
      memory_space: kind of memory.
      pin: keep the buffer in one place.

    Raises:
      NotImplementedError: outside of traced code.
      TypeError: `ty` has no shape or dtype.

    Example:
      >>> import numpy as np
      >>> from tans_lax import add
      >>> from tans_xla import jit
      >>> def double(x):
      ...     r = empty_ref(x)
      ...     r[...] = add(x, x)
      ...     return r[...]
      >>> float(jit(double)(np.float32(2)))
      4.0
    """
    aval = ty if hasattr(ty, "to_tangent") else typeof(ty)
    if is_ref_type(aval):
        aval = aval.inner_aval
    if state.trace is eval_trace:
        raise NotImplementedError(
            f"empty_ref: given the type {aval.str_short(False)} outside of traced code; expected a "
            "call inside of jit, where something is written before it is read. Use "
            "new_ref(jnp.empty(shape, dtype))."
        )
    return empty_ref_p.bind(ty=aval.strong(), memory_space=memory_space, pin=bool(pin))


def freeze(ref: Any) -> Value:
    """End a ref and return its last value; the ref can't be used any more.

    Args:
      ref: a ref made in the same function.

    Raises:
      ValueError: the ref has ended, or was made outside of the traced function.
      TypeError: not a ref.

    Example:
      >>> import numpy as np
      >>> freeze(new_ref(np.arange(3))).tolist()
      [0, 1, 2]
    """
    _check_ref("freeze", ref)
    if state.trace is eval_trace and isinstance(ref, RefCell):
        return eager.end(ref, "freeze", "was frozen")
    return freeze_p.bind(ref)


def free_ref(ref: Any) -> tuple[()]:
    """End a ref and drop its value; the ref can't be used any more.

    Args:
      ref: a ref made in the same function.

    Raises:
      ValueError: the ref has ended, or was made outside of the traced function.
      TypeError: not a ref.

    Example:
      >>> import numpy as np
      >>> free_ref(new_ref(np.arange(3)))
      ()
    """
    _check_ref("free_ref", ref)
    if state.trace is eval_trace and isinstance(ref, RefCell):
        eager.end(ref, "free_ref", "was freed")
    else:
        free_ref_p.bind(ref)
    return ()


def _check_ref(name: str, ref: Any) -> None:
    if isinstance(ref, RefCell) or (isinstance(ref, Tracer) and is_ref_type(ref.aval)):
        return
    raise TypeError(
        f"{name}: given {type(ref).__name__} where a ref is expected. Pass what new_ref returned; "
        "of a view, its ref."
    )
