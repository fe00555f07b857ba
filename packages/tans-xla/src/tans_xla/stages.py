"""The stages between a function and its executable: `Traced`, `Lowered`, `Compiled`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tans_core import ClosedJaxpr, Jaxpr
from tans_core.tree import registry
from tans_xla import compile as compiling
from tans_xla.argument_checks import check_structure, check_types
from tans_xla.compiled import Compiled as Compiled
from tans_xla.context_locks import lock_of
from tans_xla.executable import load, lower, lowering_platform
from tans_xla.jit.refs import held
from tans_xla.layouts import sharding_of_format
from tans_xla.placement import Placement
from tans_xla.shape_dtype_struct import ShapeDtypeStruct
from tans_xla.stage_types import StageTypes

if TYPE_CHECKING:
    from tans_xla.jit.dispatch import Jitted
    from tans_xla.jit.tracing import Call, Program
    from tans_xla.module import LoweredModule


_PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")


class Traced(StageTypes):
    """A recorded call.

    Attributes:
      jaxpr: the program; captured constants are in ``jaxpr.consts``.
      in_tree: structure of the dynamic arguments ``(args, kwargs)``.
      out_tree: structure of the result.
      fun_name: the function's name.
    """

    def __init__(self, jitted: "Jitted", call: "Call", program: "Program") -> None:
        self._jitted = jitted
        self._call = call
        self._program = program
        self.fun_name = jitted.name
        closed = program.closed
        donated = tuple(i for i, d in enumerate(jitted.donated(call)) if d)
        trees = call.in_tree, program.out_tree
        self._set_types(trees, closed.in_avals[len(program.consts) :], closed.out_avals, donated)

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program with its constants."""
        return close(self._program)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the recorded program, also inside of transformations.

        Args:
          *args: the dynamic positional arguments; static ones are part of the program.
          **kwargs: the dynamic keyword arguments.

        Raises:
          TypeError: their structure or types are not the recorded ones.
        """
        leaves, in_tree = registry.flatten((args, kwargs))
        check_structure(self.fun_name, in_tree, self.in_tree)
        name = self._program.input_name
        count = len(self._program.consts)
        check_types(self.fun_name, leaves, self._in_avals, lambda i: name(count + i))
        whole = self._call.replace(leaves, in_tree).rebuild(leaves)
        return self._jitted.miss(*whole[0], **whole[1])[0]

    @property
    def out_avals(self) -> Any:
        """Types of the result, as a tree."""
        return self.out_tree.unflatten(self._out_avals)

    @property
    def effects(self) -> Any:
        """Effects of the program."""
        return self._program.closed.effects

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """Lower the program to StableHLO.

        Args:
          lowering_platforms: platform names to lower for instead of the devices' platform.
        """
        jitted = self._jitted
        call, program = jitted.low_form(self._call, self._program)
        # A ShapeDtypeStruct with a sharding stands for an array that is committed to it.
        ins = tuple(map(_struct_sharding, call.leaves))
        flat = [*program.consts, *call.leaves]
        pure = jitted.pure(call, program) if program.has_refs else None
        if pure is None:
            placement, outs = jitted.placement(call, program, flat, ins)
            donated = (False,) * len(program.consts) + jitted.donated(call)
        else:
            placement, outs = pure.placement(jitted, call, list(map(held, flat)), ins)
            donated = pure.donated
        platforms = checked_platforms(lowering_platforms, "lower: given lowering_platforms") or (
            lowering_platform(placement.devices[0]),
        )
        lowered = lower(
            (pure or program).closed,
            self.fun_name,
            platforms,
            donated=donated,
            aliases=pure.aliases if pure else {},
            in_shardings=placement.in_shardings,
            out_shardings=outs,
            num_devices=len(placement.devices),
            keep_unused=jitted.options.keep_unused,
        )
        return Lowered(self, lowered, platforms, placement, outs)


def checked_platforms(given: Sequence[str] | None, where: str) -> tuple[str, ...]:
    """Return platform names as a tuple; `where` opens the message.

    Raises:
      ValueError: there is no such platform, or `given` is one name and not a sequence.
    """
    platforms = () if given is None else tuple(given)
    unknown = [p for p in platforms if p not in _PLATFORMS]
    if isinstance(given, str) or unknown:
        raise ValueError(
            f"{where}={given!r}, expected a sequence of names among "
            f"{', '.join(_PLATFORMS)}. Write for example ('tpu',)."
        )
    return platforms


def close(program: "Program") -> ClosedJaxpr:
    """Return the program as a closed jaxpr whose constants are constants again."""
    jaxpr, n = program.closed.jaxpr, len(program.consts)
    if not n:
        return program.closed
    opened = Jaxpr(
        jaxpr.invars[:n], jaxpr.invars[n:], jaxpr.outvars, jaxpr.eqns, jaxpr.effects,
        jaxpr.debug_info,
    )  # fmt: skip
    return ClosedJaxpr(opened, program.consts)


def _unknown_dialect(where: str, dialect: Any) -> ValueError:
    return ValueError(
        f"{where}: given dialect={dialect!r}, expected 'stablehlo' or 'hlo'. Leave it out for "
        "StableHLO."
    )


def _struct_sharding(x: Any) -> Any:
    return sharding_of_format(x.format, "lower") if isinstance(x, ShapeDtypeStruct) else None


class Lowered(StageTypes):
    """A lowered module."""

    def __init__(
        self,
        traced: Traced,
        lowered: "LoweredModule",
        platforms: tuple[str, ...],
        placement: Placement,
        out_shardings: Any,
    ) -> None:
        self._traced = traced
        self._lowered = lowered
        self._platforms = platforms
        self._placement = placement
        self._out_shardings = out_shardings
        self._take_types(traced)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the module as text.

        Args:
          dialect: ``stablehlo`` (the default) or ``hlo`` (before optimisation).
          debug_info: whether to print locations.
        """
        module = self._lowered.module
        if dialect in (None, "stablehlo"):
            with lock_of(module.context):
                return module.operation.get_asm(enable_debug_info=debug_info)
        if dialect == "hlo":
            from tans_xla._jaxlib import hlo_text_of

            with lock_of(module.context):
                return hlo_text_of(module, debug_info)
        raise _unknown_dialect("as_text", dialect)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the MLIR module (dialect ``stablehlo``), or the XLA computation (``hlo``)."""
        module = self._lowered.module
        if dialect in (None, "stablehlo"):
            return module
        if dialect == "hlo":
            from tans_xla._jaxlib import computation_of

            with lock_of(module.context):
                return computation_of(module)
        raise _unknown_dialect("compiler_ir", dialect)

    def cost_analysis(self) -> Any:
        """Return XLA's estimate of the program's cost before optimisation, without compiling."""
        from tans_xla._jaxlib import cost_of

        module = self._lowered.module
        with lock_of(module.context):
            return cost_of(module, self._placement.devices[0].client)

    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        device_assignment: Sequence[Any] | None = None,
    ) -> "Compiled":
        """Compile the module.

        Args:
          compiler_options: are added to those of `jit`.
          device_assignment: the devices, to check that they are those of the shardings.

        Raises:
          ValueError: the module was lowered for other platforms than that of the devices, or has
            symbolic sizes; or its devices are not `device_assignment`.
        """
        self._check_devices(device_assignment)
        if any(hasattr(d, "size_emitter") for a in self._in_avals for d in getattr(a, "shape", ())):
            types = ", ".join(a.str_short(False) for a in self._in_avals)
            raise ValueError(
                f"compile: given {self._traced.fun_name} for arguments of types {types}, expected "
                "sizes that are numbers: programs with symbolic sizes are compiled where they are "
                "called. Export it with tans.export, or lower it for arguments of one size."
            )
        platform = lowering_platform(self._placement.devices[0])
        if platform not in self._platforms:
            raise ValueError(
                f"compile: given a module lowered for {', '.join(self._platforms)}, but the "
                f"program's devices are of platform {platform}. Lower for {platform}, or keep the "
                "module's text."
            )
        traced = self._traced
        _, program = traced._jitted.low_form(traced._call, traced._program)
        options = dict(self._traced._jitted.options.compiler_options)
        options.update(compiling.option_items(compiler_options))
        pure = traced._jitted.pure(traced._call, program) if program.has_refs else None
        executable = load(
            (pure or program).closed,
            self._lowered,
            self._placement,
            self._out_shardings,
            tuple(sorted(options.items())),
        )
        return Compiled(self._traced, executable)

    def _check_devices(self, given: Sequence[Any] | None) -> None:
        expected = tuple(self._placement.devices)
        matches = isinstance(given, Sequence) and tuple(given) == expected
        if given is not None and not matches:
            raise ValueError(
                f"compile: given device_assignment={given!r}, expected {expected!r}, which the "
                "shardings of the arguments and results ask for. Leave it out, or lower with other "
                "shardings."
            )
