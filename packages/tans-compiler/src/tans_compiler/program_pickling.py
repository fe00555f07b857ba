"""Programs as bytes: what lets a VJP object be pickled and used in another process.

A program is written equation by equation, with primitives by name: all of its structure is there
again after loading, and the derivatives of what is loaded are those of the original. Backward
rules of custom functions, which are Python, are recorded as programs first. As any pickle, the
bytes must be trusted.
"""

import copyreg
import dataclasses
import hashlib
import io
import pickle
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from tans_autodiff.backward_program import BackwardProgram
from tans_autodiff.vjp_object import VJP
from tans_compiler._jaxlib import Device
from tans_compiler.placed_pickling import reduce_array, reduce_device, reduce_mesh
from tans_core import ArrayImpl, ClosedJaxpr, Primitive, Tracer, Zero, eval_jaxpr, trace_to_jaxpr
from tans_core.errors import message
from tans_core.jaxpr import DropVar, Eqn, Jaxpr, Literal, TypedOp, Var
from tans_core.mesh import Mesh
from tans_core.zeros import is_zero
from tans_lax import full

FORMAT: Final = 2  # raised when older programs can't be read any more


def install() -> None:
    """Let `pickle` write backward programs and the VJP objects that hold them."""
    copyreg.pickle(BackwardProgram, _reduce_program)
    copyreg.pickle(VJP, _reduce_vjp)


def _reduce_program(program: BackwardProgram) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    fields = {f.name: getattr(program, f.name) for f in dataclasses.fields(program)}
    fields["place"] = str(program.place)
    return load_program, _written(program.name, fields)


def _reduce_vjp(f_vjp: VJP) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return load_vjp, _written(f_vjp.fun.name, vars(f_vjp))


def _written(name: str, fields: dict[str, Any]) -> tuple[int, bytes, bytes]:
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(fields)
    except _UnpicklableError as error:
        raise pickle.PicklingError(
            message(f"VJP object of {name}", error.given, error.expected, error.remedy)
        ) from error
    data = buffer.getvalue()
    return FORMAT, data, hashlib.sha256(data).digest()


def load_program(written_as: int, data: bytes, digest: bytes = b"") -> BackwardProgram:
    """Return the backward program in `data`; `pickle` calls this.

    Raises:
      UnpicklingError: it is damaged, another version of Tans wrote it, or it needs a package or
        devices that are missing.
    """
    return BackwardProgram(**_read(written_as, data, digest))


def load_vjp(written_as: int, data: bytes, digest: bytes) -> VJP:
    """Return the VJP object in `data`; `pickle` calls this.

    Raises:
      UnpicklingError: as for `load_program`.
    """
    return VJP(**_read(written_as, data, digest))


def _read(written_as: int, data: bytes, digest: bytes) -> dict[str, Any]:
    if written_as != FORMAT:
        raise pickle.UnpicklingError(
            f"VJP object: given a program in form {written_as}, expected form {FORMAT}, which this "
            "version of tans-compiler reads. Load it with the version that wrote it."
        )
    if hashlib.sha256(data).digest() != digest:
        raise pickle.UnpicklingError(
            f"VJP object: given {len(data)} bytes that are damaged, expected those that were "
            "written. Write them again."
        )
    return pickle.loads(data)


class _UnpicklableError(Exception):
    def __init__(self, given: str, expected: str, remedy: str) -> None:
        super().__init__(given)
        self.given, self.expected, self.remedy = given, expected, remedy


class _Pickler(pickle.Pickler):
    """Knows programs; types, dtypes and arrays pickle by themselves."""

    def reducer_override(self, obj: Any) -> Any:
        rule = _RULES.get(type(obj))
        if rule is None and isinstance(obj, Tracer):
            raise _UnpicklableError(
                f"a {obj.describe()} as a saved value",
                "saved values that are arrays",
                "Pickle it outside of jit, grad and vmap.",
            )
        return NotImplemented if rule is None else rule(obj)


def _fields(*names: str) -> Callable[[Any], Any]:
    return lambda x: (type(x), tuple([getattr(x, name) for name in names]))


def _reduce_eqn(eqn: Eqn) -> Any:
    op = eqn.op
    if "pull" in op.params and not isinstance(op.params["pull"], RecordedPull):
        params = {**op.params, "pull": _recorded(eqn)}
        op = TypedOp(op.primitive, op.in_avals, params, op.out_avals, op.effects)
    _check_params(op)
    return Eqn, (op, eqn.invars, eqn.outvars, None, eqn.name_stack, eqn.metadata)


def _check_params(op: TypedOp) -> None:
    for name, value in op.params.items():
        if callable(value) and not isinstance(value, type | RecordedPull):
            try:
                pickle.dumps(value)
            except Exception as error:
                raise _UnpicklableError(
                    f"an equation {op.primitive.name} whose {name} is the Python function "
                    f"{value!r}, which can't be pickled ({error})",
                    "functions that a module defines by name",
                    "Define the function in a module, or leave the callback out of what is "
                    "differentiated.",
                ) from error


def _reduce_primitive(primitive: Primitive) -> Any:
    family = primitive.family or ""
    module = import_module(family) if family else None
    for name, value in vars(module).items() if module else ():
        if value is primitive:
            return _find_primitive, (family, name)
    raise _UnpicklableError(
        f"the primitive {primitive.name}, which module {family!r} holds under no name",
        "a primitive that can be found again by module and name",
        f"Bind it to a name at module level, such as {primitive.name}_p, and pass that module's "
        "__name__ as its family.",
    )


def _find_primitive(module: str, name: str) -> Primitive:
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise pickle.UnpicklingError(
            f"VJP object: given a program with the primitive {name} of {module}, which is not "
            f"installed here ({error}); expected the packages of the process that wrote it. "
            "Install them in the versions used there."
        ) from error


_RULES: Final[dict[type, Callable[[Any], Any]]] = {
    Primitive: _reduce_primitive,
    Var: _fields("aval"),
    DropVar: _fields("aval"),
    Literal: _fields("val", "aval"),
    TypedOp: _fields("primitive", "in_avals", "params", "out_avals", "effects"),
    Eqn: _reduce_eqn,
    Jaxpr: lambda x: (Jaxpr, (x.constvars, x.invars, x.outvars, x.eqns, x.effects, None)),
    ClosedJaxpr: _fields("jaxpr", "consts"),
    ArrayImpl: reduce_array,
    BackwardProgram: _reduce_program,
    Device: reduce_device,
    Mesh: reduce_mesh,
}


# ---- backward rules of custom functions -----------------------------------------------------


class RecordedPull:
    """The backward rule of a custom function, as a program.

    Args:
      closed: from residuals and cotangents to the cotangents that are not zero.
      zeros: per primal the type of its zero cotangent, or None.
    """

    def __init__(self, closed: ClosedJaxpr, zeros: Sequence[Any]) -> None:
        self.closed = closed
        self.zeros = tuple(zeros)

    def __call__(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the primals."""
        given = [*residuals, *map(_array, cts)]
        found = iter(eval_jaxpr(self.closed.jaxpr, self.closed.consts, *given))
        return [next(found) if z is None else Zero(z) for z in self.zeros]


def _array(ct: Any) -> Any:
    return full(ct.aval.shape, 0, ct.aval.dtype) if is_zero(ct) else ct


def _recorded(eqn: Eqn) -> RecordedPull:
    params = eqn.params
    count, pull = params["num_residuals"], params["pull"]
    residuals = [v.aval for v in eqn.invars[:count]]
    inexact = params["out_inexact"]
    if not all(inexact):
        raise _UnpicklableError(
            f"a custom_vjp function {params['name']} with results that have no tangents",
            "results with tangents",
            "Return integers and booleans from a function around it.",
        )
    zeros: list[Any] = []

    def run(*values: Any) -> list[Any]:
        found = pull(values[:count], values[count:])
        if not isinstance(found, list):
            raise _UnpicklableError(
                f"a custom_vjp function {params['name']} whose backward rule gives logs",
                "a rule that returns cotangents alone",
                "Set the rule with defvjp before pickling.",
            )
        zeros[:] = [x.aval if is_zero(x) else None for x in found]
        return [x for x in found if not is_zero(x)]

    cts = [a.to_cotangent() for a in params["out_avals"]]
    return RecordedPull(trace_to_jaxpr(run, [*residuals, *cts]), zeros)
