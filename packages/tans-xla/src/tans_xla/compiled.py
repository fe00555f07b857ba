"""`Compiled`: the last stage between a function and its results."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, override

from tans_core import ArrayImpl
from tans_core.tree import registry
from tans_xla import compile as compiling
from tans_xla._jaxlib import JaxRuntimeError
from tans_xla.argument_checks import check_concrete, check_structure, check_types
from tans_xla.dispatch_object import make_dispatch
from tans_xla.executable import Executable, check_not_deleted
from tans_xla.jit.refs import run_with_refs
from tans_xla.layouts import Format, Layout
from tans_xla.physical import physical_value
from tans_xla.ref_checks import check_distinct
from tans_xla.shape_dtype_struct import struct_of
from tans_xla.stage_types import StageTypes
from tans_xla.wide_arrays import fitting, is_wide

if TYPE_CHECKING:
    from tans_xla.communication import Communication
    from tans_xla.stages import Traced


class Compiled(StageTypes):
    """An executable for one set of argument types; calling it checks the arguments."""

    def __init__(self, traced: "Traced", executable: Executable) -> None:
        self._traced = traced
        self._executable = executable
        _, self._program = traced._jitted.low_form(traced._call, traced._program)
        self._consts = self._program.concrete_consts()
        self._take_types(traced)
        # Called while jit is disabled; the C++ object holds it weakly.
        self._run = lambda *args, **kwargs: self._miss(*args, **kwargs)[0]
        self._dispatch = make_dispatch(traced.fun_name, self._miss, object(), self._run)

    @property
    def out_info(self) -> Any:
        """Types of the result with their shardings and layouts, as `ShapeDtypeStruct`."""
        formats: list[Any] = self._output_formats()
        if len(formats) != len(self._out_avals):  # values of user types, or refs that change
            formats = [None] * len(self._out_avals)
        pairs = zip(self._out_avals, formats, strict=True)
        return self.out_tree.unflatten([struct_of(a, f) for a, f in pairs])

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
        return self.out_tree.unflatten(self._output_formats())

    def _output_formats(self) -> list[Format]:
        count = len(self._executable.lowered.effects)
        layouts = self._executable.loaded.get_output_layouts()[count:]
        pairs = zip(layouts, self._executable.out_shardings, strict=True)
        return [Format(Layout.from_pjrt_layout(x), s) for x, s in pairs]

    def __copy__(self) -> "Compiled":
        return self

    @override
    def __reduce__(self) -> Any:
        raise TypeError(
            f"pickle: given the compiled program {self._traced.fun_name}, expected bytes that "
            "hold it. Write tans.experimental.serialize_executable.serialize(compiled)."
        )

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
        function, avals = self._traced.fun_name, self._in_avals
        check_structure(function, in_tree, self.in_tree)
        check_concrete(function, leaves, self._argument_name)
        if any(map(is_wide, leaves)):
            fit = [fitting(x, a) for x, a in zip(leaves, avals, strict=True)]
            if any(x is not y for x, y in zip(fit, leaves, strict=True)):
                args, kwargs = in_tree.unflatten(fit)
                return self._miss(*args, **kwargs)[0], None, False
        check_types(function, leaves, avals, self._argument_name)
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

    def _argument_name(self, i: int) -> str:
        return self._traced._program.input_name(len(self._consts) + i)

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
