"""Compiled programs as bytes: compile once, run in other processes on the same kind of hardware.

The bytes hold machine code, which loading maps into the process: load only what you trust. A
checksum in front tells damaged ones, not hostile ones.
"""

import hashlib
import pickle
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tans_compiler._jaxlib import VERSION, Device, load_executable
from tans_core import ClosedJaxpr
from tans_core.jaxpr import Jaxpr, Var
from tans_core.mesh import Mesh
from tans_core.sharding import NamedSharding, named_sharding, single_device_sharding
from tans_xla import devices as devices_of
from tans_xla.backend import get_client
from tans_xla.compile import make_options
from tans_xla.executable import Executable
from tans_xla.module import LoweredModule
from tans_xla.placement import Placement
from tans_xla.stages import Compiled

__all__ = ["deserialize_and_load", "serialize"]

_FORMAT: Final = 1
_MARK: Final = b"TANSEXE1"
_DIGEST: Final = slice(len(_MARK), len(_MARK) + hashlib.sha256().digest_size)


class _Parts(NamedTuple):
    """What the bytes hold; shardings are None (one device) or (mesh shape, names, types, spec)."""

    form: int
    jaxlib: str
    platform: str
    program: bytes
    name: str
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    in_shardings: tuple[Any, ...]
    out_shardings: tuple[Any, ...]
    committed: bool
    kept: tuple[bool, ...]
    consts: list[Any]
    arg_names: tuple[str, ...]
    device_count: int
    donated: tuple[int, ...]


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """Return a compiled program as bytes, with the structures of its arguments and result.

    Args:
      compiled: what ``jit(f).lower(...).compile()`` returned, also for absent hardware.

    Raises:
      TypeError: it is no compiled program.
      ValueError: the program calls Python functions, has effects, or takes refs; or its shardings
        are not named ones.

    Example:
      >>> from tans_xla import jit
      >>> import tans_lax as lax
      >>> written = serialize(jit(lambda x: lax.mul(x, 2.0)).lower(1.0).compile())
      >>> float(deserialize_and_load(*written)(4.0))
      8.0
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"serialize: given {compiled!r} of type {type(compiled).__name__}, expected a compiled "
            "program. Write serialize(jit(f).lower(...).compile())."
        )
    executable = compiled._executable
    lowered, placement = executable.lowered, executable.placement
    program: Any = compiled._program
    if isinstance(program, _StoredProgram):  # what was loaded can't be written by the compiler
        return _packed(program.parts), compiled.in_tree, compiled.out_tree
    if not executable.is_pure or program.has_refs:
        raise ValueError(
            f"serialize: given {lowered.name}, which calls Python functions, has effects or takes "
            "refs; expected a program of arrays alone, since functions of this process are not in "
            "another. Leave callbacks out, or compile it anew with the compilation cache."
        )
    loaded = executable.loaded
    client = None if executable.is_absent else loaded.client
    data = loaded.serialize() if client is None else client.serialize_executable(loaded)
    parts = _Parts(
        _FORMAT,
        VERSION,
        placement.devices[0].platform,
        data,
        lowered.name,
        executable.in_avals,
        executable.out_avals,
        tuple(_written(s, lowered.name) for s in placement.in_shardings),
        tuple(_written(s, lowered.name) for s in executable.out_shardings),
        placement.committed,
        tuple(executable.kept),
        [np.asarray(x) for x in compiled._consts],
        tuple(program.info.arg_names),
        len(placement.devices),
        compiled.donate_argnums,
    )
    return _packed(parts), compiled.in_tree, compiled.out_tree


def _packed(parts: _Parts) -> bytes:
    content = pickle.dumps(tuple(parts))
    return _MARK + hashlib.sha256(content).digest() + content


def _unpacked(serialized: Any) -> _Parts:
    if not isinstance(serialized, bytes | bytearray | memoryview):
        raise TypeError(
            f"deserialize_and_load: given {type(serialized).__name__}, expected the bytes that "
            "serialize returned first. Write deserialize_and_load(*serialize(compiled))."
        )
    data = bytes(serialized)
    content = data[_DIGEST.stop :]
    if data[: len(_MARK)] != _MARK or data[_DIGEST] != hashlib.sha256(content).digest():
        raise ValueError(
            f"deserialize_and_load: given {len(data)} bytes that are damaged or hold no program, "
            "expected those that serialize returned. Write the program again."
        )
    form, version, *rest = pickle.loads(content)
    if form != _FORMAT:
        raise ValueError(
            f"deserialize_and_load: given a program in form {form}, expected form {_FORMAT}, which "
            "this version of tans-compiler reads. Load it with the version that wrote it."
        )
    if version != VERSION:
        raise ValueError(
            f"deserialize_and_load: given a program compiled with jaxlib {version}, expected one "
            f"of jaxlib {VERSION}, which is installed. Compile it again, or install that one."
        )
    return _Parts(form, version, *rest)


def _written(sharding: Any, name: str) -> Any:
    if isinstance(sharding, NamedSharding):
        mesh = sharding.mesh
        return mesh.axis_sizes, mesh.axis_names, mesh.axis_types, sharding.spec
    if len(sharding._internal_device_list) == 1:
        return None
    raise ValueError(
        f"serialize: given {name} with the sharding {sharding}, expected NamedSharding. Give jit "
        "in_shardings and out_shardings over a mesh."
    )


def deserialize_and_load(
    serialized: bytes,
    in_tree: Any,
    out_tree: Any,
    backend: Any = None,
    execution_devices: Sequence[Any] | None = None,
) -> Compiled:
    """Load a compiled program.

    Args:
      serialized: the bytes that `serialize` returned. They hold machine code: trust them.
      in_tree: structure of the arguments, from `serialize`.
      out_tree: structure of the result.
      backend: platform or client; the default one when left out.
      execution_devices: devices to run on; the first ones when left out.

    Returns:
      The program; call it as the one that was written.

    Raises:
      TypeError: an argument is of another kind.
      ValueError: the bytes are damaged, another version of jaxlib or another platform wrote them,
        or the structures or the number of devices are not those of the program.
    """
    parts = _unpacked(serialized)
    for name, tree, avals in (
        ("in_tree", in_tree, parts.in_avals[len(parts.consts) :]),
        ("out_tree", out_tree, parts.out_avals),
    ):
        count = getattr(tree, "num_leaves", None)
        if count != len(avals):
            raise ValueError(
                f"deserialize_and_load: given {name}={tree} for {parts.name}, expected a structure "
                f"of {len(avals)} arrays. Pass what serialize returned with the bytes."
            )
    if execution_devices is None:
        execution_devices = devices_of(get_client(backend))[: parts.device_count]
    if not isinstance(execution_devices, Sequence) or not all(
        isinstance(d, Device) for d in execution_devices
    ):
        raise TypeError(
            f"deserialize_and_load: given execution_devices={execution_devices!r}, expected a "
            "sequence of devices. Write tans.devices()[:1]."
        )
    chosen = tuple(execution_devices)
    if len(set(chosen)) != parts.device_count or len(chosen) != parts.device_count:
        raise ValueError(
            f"deserialize_and_load: given {len(set(chosen))} devices for {parts.name}, expected "
            f"{parts.device_count}, as it was compiled for. Pass execution_devices."
        )
    if chosen[0].platform != parts.platform:
        raise ValueError(
            f"deserialize_and_load: given a program for {parts.platform}, expected one for "
            f"{chosen[0].platform}, where it would run. Pass execution_devices of {parts.platform}."
        )
    loaded = load_executable(chosen[0].client, parts.program, chosen, make_options(chosen, ()), [])
    return _StoredProgram(parts, loaded, chosen, in_tree, out_tree).compiled()


class _Info(NamedTuple):
    arg_names: tuple[str, ...]


class _StoredProgram:
    """What `Compiled` asks of the stages before it, without a function to trace."""

    has_refs = False

    def __init__(
        self, parts: _Parts, loaded: Any, devices: tuple[Any, ...], in_tree: Any, out_tree: Any
    ) -> None:
        self.parts, self.in_tree, self.out_tree = parts, in_tree, out_tree
        self.fun_name, self.info = parts.name, _Info(parts.arg_names)
        self.donate_argnums = parts.donated
        self.seconds = 0.0
        placement = Placement(
            devices, tuple(_read(s, devices) for s in parts.in_shardings), parts.committed
        )
        lowered = LoweredModule(None, parts.name, parts.kept, (), False, [], [])
        outs = [_read(s, devices) for s in parts.out_shardings]
        self.executable = Executable(
            loaded, lowered, parts.in_avals, parts.out_avals, placement, outs, from_cache=True
        )
        variables = [Var(a) for a in parts.in_avals]
        self.closed = ClosedJaxpr(Jaxpr([], variables, [Var(a) for a in parts.out_avals], []))
        self.consts = parts.consts
        self._in_avals = parts.in_avals[len(parts.consts) :]
        self._out_avals = parts.out_avals
        self._call = None
        self._program = self._jitted = self

    def low_form(self, call: Any, program: Any) -> tuple[Any, Any]:
        """Return both: the program has no values of user types."""
        return call, program

    def concrete_consts(self) -> list[Any]:
        """Return the captured constants."""
        return self.consts

    def input_name(self, i: int) -> str:
        """Return the printed name of an input."""
        count = len(self.consts)
        return "a captured constant" if i < count else f"argument {self.info.arg_names[i - count]}"

    def compiled(self) -> Compiled:
        """Return the stage that can be called."""
        return Compiled(self, self.executable)  # pyright: ignore[reportArgumentType] (stands in)


def _read(written: Any, devices: tuple[Any, ...]) -> Any:
    if written is None:
        return single_device_sharding(devices[0])
    sizes, names, types, spec = written
    array = np.array(devices, object).reshape(sizes)
    return named_sharding(Mesh(array, names, axis_types=types), spec)
