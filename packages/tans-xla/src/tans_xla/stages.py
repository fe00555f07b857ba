"""The stages between a function and its executable: `Traced`, `Lowered`, `Compiled`."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tans_core import ArrayImpl, ClosedJaxpr, Jaxpr, Tracer, same_but_weak, typeof
from tans_core.tree import registry
from tans_xla import compile as compiling
from tans_xla._jaxlib import JaxRuntimeError
from tans_xla.context_locks import lock_of
from tans_xla.dispatch_object import make_dispatch
from tans_xla.executable import Executable, check_not_deleted, load, lower, lowering_platform
from tans_xla.jit.refs import held, run_with_refs
from tans_xla.layouts import Format, Layout
from tans_xla.physical import physical_value
from tans_xla.placement import Placement
from tans_xla.ref_checks import check_distinct
from tans_xla.shape_dtype_struct import ShapeDtypeStruct
from tans_xla.stage_types import StageTypes

if TYPE_CHECKING:
    from tans_xla.communication import Communication
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


def _struct_sharding(x: Any) -> Any:
    return x.sharding if isinstance(x, ShapeDtypeStruct) else None


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
        raise ValueError(
            f"as_text: given dialect={dialect!r}, expected 'stablehlo' or 'hlo'. Leave it out for "
            "StableHLO."
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the MLIR module (dialect ``stablehlo``)."""
        if dialect in (None, "stablehlo"):
            return self._lowered.module
        raise ValueError(f"compiler_ir: given dialect={dialect!r}, expected 'stablehlo' or None.")

    def cost_analysis(self) -> Any:
        """Return XLA's estimate of the program's cost before optimisation, without compiling."""
        from tans_xla._jaxlib import cost_of

        module = self._lowered.module
        with lock_of(module.context):
            return cost_of(module, self._placement.devices[0].client)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        """Compile the module; `compiler_options` are added to those of `jit`.

        Raises:
          ValueError: the module was lowered for other platforms than that of the devices, or has
            symbolic sizes.
        """
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


class Compiled(StageTypes):
    """An executable for one set of argument types; calling it checks the arguments."""

    def __init__(self, traced: Traced, executable: Executable) -> None:
        self._traced = traced
        self._executable = executable
        _, self._program = traced._jitted.low_form(traced._call, traced._program)
        self._consts = self._program.concrete_consts()
        self._take_types(traced)
        # Called while jit is disabled; the C++ object holds it weakly.
        self._run = lambda *args, **kwargs: self._miss(*args, **kwargs)[0]
        self._dispatch = make_dispatch(traced.fun_name, self._miss, object(), self._run)

    @property
    def input_shardings(self) -> Any:
        """Shardings of the arguments as ``(args, kwargs)``."""
        shardings = self._executable.placement.in_shardings[len(self._consts) :]
        return self.in_tree.unflatten(shardings)

    @property
    def output_shardings(self) -> Any:
        """Shardings of the result."""
        return self.out_tree.unflatten(self._executable.out_shardings)

    @property
    def input_formats(self) -> Any:
        """Layouts and shardings of the arguments as ``(args, kwargs)``; unused ones have none."""
        kept = self._executable.kept
        count = len(self._executable.lowered.effects)
        layouts = iter(self._executable.loaded.get_parameter_layouts()[count:])
        shardings = self._executable.placement.in_shardings
        formats = [
            Format(Layout.from_pjrt_layout(next(layouts)) if k else None, s)
            for k, s in zip(kept, shardings, strict=True)
        ]
        return self.in_tree.unflatten(formats[len(self._consts) :])

    @property
    def output_formats(self) -> Any:
        """Layouts and shardings of the result."""
        count = len(self._executable.lowered.effects)
        layouts = self._executable.loaded.get_output_layouts()[count:]
        pairs = zip(layouts, self._executable.out_shardings, strict=True)
        return self.out_tree.unflatten([Format(Layout.from_pjrt_layout(x), s) for x, s in pairs])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the executable.

        Raises:
          TypeError: the arguments' structure or types are not those it was compiled for.
        """
        return self._dispatch(*args, **kwargs)

    @property
    def call(self) -> Callable[..., Any]:
        """The function that runs the executable; calling this object is the same."""
        return self._dispatch

    def _miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Check and run one call that C++ does not know yet."""
        leaves, in_tree = registry.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(
                f"{self._traced.fun_name}: given arguments with the structure {in_tree}, but it "
                f"was compiled for {self.in_tree}. Pass the same structure, or lower again."
            )
        avals = self._in_avals
        for i, x in enumerate(leaves):
            if isinstance(x, Tracer):
                raise self._traced_argument(i, x)
            if typeof(x) is not avals[i]:
                self._check_type(i, x)
        whole, program = self._traced._program, self._program
        if program is not whole:
            call = self._traced._call.replace(leaves, in_tree)
            leaves = self._traced._jitted.low_form(call, whole)[0].leaves
        if program.has_refs:
            pure = self._traced._jitted.pure(self._traced._call, program)
            values = [*self._consts, *leaves]
            check_distinct(values, lambda: self._traced.fun_name, program.input_name)
            outs = run_with_refs(pure, values, self._traced.fun_name, self._execute)
            return self.out_tree.unflatten(outs), None, False
        closed = program.closed
        flat = list(map(physical_value, [*self._consts, *leaves], closed.in_avals))
        name = program.input_name
        check_not_deleted(flat, self._traced.fun_name, name)
        self._check_shardings(flat, name)
        outs = self._executable.call(flat)
        if program is not whole:
            return whole.result(outs), None, False
        result = self.out_tree.unflatten(outs)
        return result, self._executable.fast_path(result, flat[: len(self._consts)]), False

    def _execute(self, *arrays: Any) -> list[Any]:
        """Run on the arrays that refs hold, and the other arguments."""
        flat = list(map(physical_value, arrays, self._executable.in_avals))
        check_not_deleted(flat, self._traced.fun_name, self._program.input_name)
        self._check_shardings(flat, self._program.input_name)
        return self._executable.call(flat)

    def _check_shardings(self, flat: Sequence[Any], name: Callable[[int], str]) -> None:
        wrong = [
            f"  {name(i)} of type {x.aval.str_short()}: given {x._sharding}, expected {sharding}"
            for i, (x, sharding) in enumerate(
                zip(flat, self._executable.placement.in_shardings, strict=True)
            )
            if type(x) is ArrayImpl
            and x._committed
            and not x._sharding.is_equivalent_to(sharding, x.ndim)
        ]
        if wrong:
            lines = "\n".join(wrong)
            raise ValueError(
                f"{self._traced.fun_name}: arguments are committed to other shardings than the "
                f"program was compiled for:\n{lines}\nMove them with device_put(x, sharding), or "
                "lower again with these arguments."
            )

    def _traced_argument(self, i: int, x: Tracer) -> TypeError:
        name = self._traced._program.input_name(len(self._consts) + i)
        return TypeError(
            f"{self._traced.fun_name}: {name} is a {x.describe()}, but a compiled program "
            "runs only on concrete arrays. Call the jitted function inside transformations."
        )

    def _check_type(self, i: int, x: Any) -> None:
        given, expected = typeof(x), self._in_avals[i]
        if same_but_weak(given, expected):
            return
        name = self._traced._program.input_name(len(self._consts) + i)
        raise TypeError(
            f"{self._traced.fun_name}: {name} has type {given.str_short(False)}, but the "
            f"program was compiled for {expected.str_short(False)}. Convert it, or lower again."
        )

    def as_text(self) -> str:
        """Return the optimised HLO."""
        return "\n\n".join(m.to_string() for m in self._executable.loaded.hlo_modules())

    def cost_analysis(self) -> Any:
        """Return the compiler's cost estimate by name (flops, bytes accessed, ...), or None."""
        try:
            return self._executable.loaded.cost_analysis()
        except JaxRuntimeError as error:
            if "UNIMPLEMENTED" in str(error):
                return None
            raise

    def memory_analysis(self) -> Any:
        """Return the sizes in bytes of arguments, results and temporaries."""
        return self._executable.loaded.get_compiled_memory_stats()

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """Explain what the program costs; see `tans.explain`. Run it when arguments are given.

        Raises:
          ImportError: tans-compiler, which has the report, is not installed.
        """
        if compiling.slots.explain is None:
            raise ImportError(
                "explain: given an installation without tans-compiler, expected that package, "
                "which makes the report. Write: pip install tans-compiler, then import it."
            )
        return compiling.slots.explain(self, *args, **kwargs)

    def communication(self) -> "Communication":
        """Return every collective of the program: a sequence of them that prints as a table.

        Example:
          >>> import tans
          >>> print(tans.jit(lambda x: x + 1).lower(1.0).compile().communication())
          communication of <lambda> on one device: none
        """
        from tans_xla.communication import report_of

        return report_of(self._executable)

    def runtime_executable(self) -> Any:
        """Return the PJRT executable."""
        return self._executable.loaded
