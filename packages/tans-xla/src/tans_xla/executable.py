"""A compiled program with its calling convention."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tans_core import ArrayImpl, ClosedJaxpr, Tracer
from tans_core import config_module as config
from tans_core.errors import UnexpectedTracerError
from tans_core.staging import leak_message
from tans_core.tree_registry import dispatch_registry
from tans_xla import backend, hlo_shardings, runtime_tokens
from tans_xla._jaxlib import array_result_handler, batched_block_until_ready
from tans_xla.compile import OptionItems, compile_module, is_compile_only
from tans_xla.explicit_shardings import result_types
from tans_xla.host_value import LOST
from tans_xla.physical import physical_aval, physical_value
from tans_xla.placement import Placement
from tans_xla.shape_dtype_struct import ShapeDtypeStruct
from tans_xla.startup import check_not_forked
from tans_xla.transfer.place import put_leaf
from tans_xla.transfer.target import make_target

if TYPE_CHECKING:
    from tans_xla.module import LoweredModule


_NO_ALIASES: Final[Mapping[int, int]] = MappingProxyType({})


class FastPath(NamedTuple):
    """What C++ needs to run the next call without Python (attribute names are jaxlib's)."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Any
    out_shardings: Any
    out_avals: Any
    out_committed: Any
    kept_var_bitvec: Any
    in_device_local_layouts: Any
    const_args: Any


# Called with each executable before it runs; while there are any, C++ is given no fast path.
observers: Final[list[Callable[["Executable"], None]]] = []


class Executable:
    """A loaded executable; calling it takes all flat arguments and returns flat results.

    Attributes:
      seconds: how long it took to compile, or to find in the compilation cache.
      from_cache: whether it was found there.
      is_absent: whether it was compiled for hardware that is not here.
    """

    def __init__(
        self,
        loaded: Any,
        lowered: "LoweredModule",
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        placement: Placement,
        out_shardings: Sequence[Any],
        seconds: float = 0.0,
        from_cache: bool = False,
    ) -> None:
        self.loaded = loaded
        self.seconds = seconds
        self.from_cache = from_cache
        self.lowered = lowered
        self.placement = placement
        self.is_absent = is_compile_only(placement.devices[0])
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.kept = lowered.kept
        self.out_shardings = tuple(out_shardings)
        self._wraps = [getattr(a.dtype, "wrap", None) for a in out_avals]
        committed = placement.committed
        self._handlers = [
            array_result_handler(physical_aval(a), s, committed or len(placement.devices) > 1)
            for a, s in zip(out_avals, self.out_shardings, strict=True)
        ]
        token_sharding = runtime_tokens.sharding_over(placement.devices)
        token = array_result_handler(runtime_tokens.DUMMY, token_sharding, False)
        self._handlers = [token] * len(lowered.effects) + self._handlers
        self._spans_processes = len({d.process_index for d in placement.devices}) > 1

    @property
    def is_pure(self) -> bool:
        """Whether C++ may run it: no effects and no callbacks."""
        lowered = self.lowered
        return not (lowered.effects or lowered.has_unordered_effects or lowered.host_callbacks)

    def call(self, args: Sequence[Any]) -> list[Any]:
        """Run with all flat arguments (also those that the program does not take)."""
        if config.no_execution.value:
            raise RuntimeError(
                f"{self.lowered.name}: the program was called while the flag no_execution is on; "
                "expected no call. Leave the no_execution context to run programs."
            )
        if self.is_absent:
            raise self._nothing_to_run_on()
        check_not_forked(self.lowered.name)
        for observe in observers:
            observe(self)
        shardings = self.placement.in_shardings
        arrays = [
            place(x, aval, sharding)
            for x, aval, sharding, kept in zip(
                args, self.in_avals, shardings, self.kept, strict=True
            )
            if kept
        ]
        lowered = self.lowered
        if not lowered.effects and not lowered.has_unordered_effects:
            outs = self.loaded.execute_sharded(arrays).consume_with_handlers(self._handlers)
        else:
            outs = self._run_with_effects(arrays)
        if lowered.host_callbacks and len(self.placement.devices) > 1:
            self._raise_callback_failures(outs)
        if any(self._wraps):
            outs = [
                x if wrap is None else wrap(x) for x, wrap in zip(outs, self._wraps, strict=True)
            ]
        return outs

    def _nothing_to_run_on(self) -> RuntimeError:
        device = self.placement.devices[0]
        return RuntimeError(
            f"{self.lowered.name}: the program was called, but it was compiled for a compile-only "
            f"topology ({len(self.placement.devices)} x {device.device_kind}), which has no "
            "devices to run on; expected as_text, cost_analysis, memory_analysis, explain or "
            "serialize. Run it where the hardware is, or compile it for devices()."
        )

    def _raise_callback_failures(self, outs: list[Any]) -> None:
        """Wait for the program, and raise what a callback could not raise inside it."""
        batched_block_until_ready(outs)
        runtime_tokens.wait_pending(self.placement.devices[0])
        for callback in self.lowered.host_callbacks:
            callback.raise_failure()

    def _run_with_effects(self, arrays: list[Any]) -> list[Any]:
        effects = self.lowered.effects
        devices = self.placement.devices
        tokens = [runtime_tokens.take(e, devices) for e in effects]
        results = self.loaded.execute_sharded([*tokens, *arrays], with_tokens=True)
        outs = results.consume_with_handlers(self._handlers)
        runtime_tokens.add_pending(devices[0], results.consume_token())
        for effect, token in zip(effects, outs, strict=False):
            runtime_tokens.put(effect, token)
        return outs[len(effects) :]

    def fast_path(self, result: Any, consts: Sequence[Any]) -> FastPath | None:
        """Return what C++ needs, or None when each call must come through Python.

        Args:
          result: the result of the first call, whose structure the others have.
          consts: the leading arguments of every call.
        """
        if observers or not self.is_pure or any(type(c) is not ArrayImpl for c in consts):
            return None
        # C++ raises a failed collective as ValueError; through Python it is a JaxRuntimeError.
        if self._spans_processes and self.placement.devices[0].platform == "cpu":
            return None
        for c in consts:
            c._is_captured = True
        outs, out_tree = dispatch_registry.flatten(result)
        if any(type(x) is not ArrayImpl for x in outs):
            return None  # values of an extended dtype that the registry can't wrap
        kept_in = [s for s, k in zip(self.placement.in_shardings, self.kept, strict=True) if k]
        committed = self.placement.committed or len(self.placement.devices) > 1
        return FastPath(
            self.loaded,
            out_tree,
            kept_in,
            list(self.out_shardings),
            [physical_aval(a) for a in self.out_avals],
            [committed] * len(self.out_avals),
            list(self.kept),
            [None] * len(kept_in),
            list(consts),
        )


def check_not_deleted(args: Sequence[Any], function: str, name: Callable[[int], str]) -> None:
    """Check that no argument's buffer is gone, or was never there.

    Raises:
      RuntimeError: naming the argument.
      TypeError: it is a `ShapeDtypeStruct`.
    """
    for i, x in enumerate(args):
        if type(x) is ShapeDtypeStruct:
            raise TypeError(
                f"{function}: given {x} as {name(i)}, expected an array, since the program runs. "
                "For types alone write eval_shape; to compile without arrays, lower(...).compile()."
            )
        if type(x) is ArrayImpl and x.is_deleted():
            given = f"{function}: {name(i)} of type {x.aval.str_short()}"
            if backend.is_lost(x._sharding._internal_device_list[0]):
                raise RuntimeError(f"{given} {LOST}")
            raise RuntimeError(
                f"{given} was given, but the array has been deleted; expected an array with a "
                "buffer. It was donated to an earlier call or deleted: use that call's result, or "
                "don't donate it."
            )


def place(x: Any, aval: Any, sharding: Any) -> ArrayImpl:
    """Return the (physical) array of a value on the devices of `sharding`."""
    x = physical_value(x, aval)
    if type(x) is ArrayImpl and (x._sharding is sharding or x._sharding == sharding):
        return x
    return shard_argument(x, sharding)


def shard_argument(x: Any, sharding: Any) -> ArrayImpl:
    """Transfer a value to a sharding.

    Raises:
      UnexpectedTracerError: a tracer reached an operation that runs now.
    """
    if isinstance(x, Tracer):
        raise UnexpectedTracerError(_escaped(x))
    return put_leaf(x, make_target(sharding))


def _escaped(x: Tracer) -> str:
    if not x._trace.alive:
        return leak_message(x)
    return (
        f"a {x.describe()} reached an operation outside of its transformation, for example in a "
        "function with a custom derivative rule that captures it; expected an argument. Pass the "
        "value to that function as an argument."
    )


def lowering_platform(device: Any) -> str:
    """Return the name by which lowering rules know a device's platform: cpu, cuda, rocm, tpu."""
    return device.client._raw_platform


def lower(closed: ClosedJaxpr, name: str, platforms: Sequence[str], **options: Any) -> Any:
    """Lower a closed program; see `tans_xla.module.lower_module`.

    The import waits until here: with it come the MLIR dialects, 15 to 20 ms.
    """
    from tans_xla.module import lower_module

    start = time.perf_counter()
    lowered = lower_module(closed, name, platforms, **options)
    return lowered._replace(seconds=time.perf_counter() - start)


def compile_closed(
    closed: ClosedJaxpr,
    name: str,
    placement: Placement,
    *,
    donated: Sequence[bool],
    out_shardings: Sequence[Any],
    keep_unused: bool = False,
    options: OptionItems = (),
    aliases: Mapping[int, int] = _NO_ALIASES,
) -> Executable:
    """Lower and compile a closed program for a placement."""
    lowered = lower(
        closed,
        name,
        (lowering_platform(placement.devices[0]),),
        donated=donated,
        in_shardings=placement.in_shardings,
        out_shardings=out_shardings,
        num_devices=len(placement.devices),
        keep_unused=keep_unused,
        aliases=aliases,
    )
    return load(closed, lowered, placement, out_shardings, options)


def load(
    closed: ClosedJaxpr,
    lowered: "LoweredModule",
    placement: Placement,
    out_shardings: Sequence[Any],
    options: OptionItems,
) -> Executable:
    """Compile a lowered module and wrap the executable."""
    made = compile_module(
        lowered.module,
        placement.devices,
        options,
        lowered.host_callbacks,
        lowered.name,
        use_cache=not lowered.observed,
    )
    chosen = hlo_shardings.result_shardings(
        made.loaded, placement, out_shardings, closed.out_avals, len(lowered.effects),
        closed.in_avals,
    )  # fmt: skip
    out_avals = result_types(closed.out_avals, chosen)
    return Executable(
        made.loaded,
        lowered,
        closed.in_avals,
        out_avals,
        placement,
        chosen,
        made.seconds,
        made.from_cache,
    )
