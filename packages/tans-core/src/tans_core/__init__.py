"""The tiny interface of Tans: types, primitives, traces, jaxprs, rule tables.

A reader who knows these objects can read every other package.
"""

from tans_core import config as config_module
from tans_core import dtypes, errors, refs, rules, tree
from tans_core._jaxlib import Array, ArrayImpl
from tans_core.accumulators import AccumRule, GradAccum
from tans_core.check import check_jaxpr
from tans_core.context import (
    AxisData,
    BatchContext,
    JVPContext,
    LinearizeContext,
    Linearized,
    Split,
    SplitContext,
    TransposeContext,
    Transposed,
    merge,
    partition,
)
from tans_core.dce import dce_jaxpr
from tans_core.debug_info import CallInfo, DebugInfo, debug_info_of
from tans_core.dtypes import ExtendedDType, float0
from tans_core.errors import MissingRuleError
from tans_core.interface import INTERFACE, INTERFACE_OLDEST, require_interface
from tans_core.jaxpr import (
    NO_EFFECTS,
    Atom,
    ClosedJaxpr,
    DropVar,
    Eqn,
    Jaxpr,
    Literal,
    TypedOp,
    Var,
    eval_closed,
    eval_jaxpr,
    subjaxprs,
)
from tans_core.primitive import Primitive
from tans_core.refs import AbstractRef, RefCell, is_ref_type
from tans_core.rules import ContextRule, RuleTable, Typed
from tans_core.staging import (
    JaxprTrace,
    JaxprTracer,
    hoist_consts,
    jaxpr_as_fun,
    lift_tracer_consts,
    recording_trace,
    trace_to_jaxpr,
)
from tans_core.state import named_scope, set_current_trace, state
from tans_core.trace import EvalTrace, Trace, Tracer, current_trace, eval_trace, is_evaluating
from tans_core.types import (
    AbstractToken,
    AbstractValue,
    ShapedArray,
    abstract_token,
    same_but_weak,
    same_type,
)
from tans_core.values import is_value, register_value_type, typeof
from tans_core.zeros import LinearInput, Zero, is_linear_input, is_zero, zero_tangent

__all__ = [
    "INTERFACE",
    "INTERFACE_OLDEST",
    "NO_EFFECTS",
    "AbstractRef",
    "AbstractToken",
    "AbstractValue",
    "AccumRule",
    "Array",
    "ArrayImpl",
    "Atom",
    "AxisData",
    "BatchContext",
    "CallInfo",
    "ClosedJaxpr",
    "ContextRule",
    "DebugInfo",
    "DropVar",
    "Eqn",
    "EvalTrace",
    "ExtendedDType",
    "GradAccum",
    "JVPContext",
    "Jaxpr",
    "JaxprTrace",
    "JaxprTracer",
    "LinearInput",
    "LinearizeContext",
    "Linearized",
    "Literal",
    "MissingRuleError",
    "Primitive",
    "RefCell",
    "RuleTable",
    "ShapedArray",
    "Split",
    "SplitContext",
    "Trace",
    "Tracer",
    "TransposeContext",
    "Transposed",
    "Typed",
    "TypedOp",
    "Var",
    "Zero",
    "abstract_token",
    "check_jaxpr",
    "config_module",
    "current_trace",
    "dce_jaxpr",
    "debug_info_of",
    "dtypes",
    "errors",
    "eval_closed",
    "eval_jaxpr",
    "eval_trace",
    "float0",
    "hoist_consts",
    "is_evaluating",
    "is_linear_input",
    "is_ref_type",
    "is_value",
    "is_zero",
    "jaxpr_as_fun",
    "lift_tracer_consts",
    "merge",
    "named_scope",
    "partition",
    "recording_trace",
    "refs",
    "register_value_type",
    "require_interface",
    "rules",
    "same_but_weak",
    "same_type",
    "set_current_trace",
    "state",
    "subjaxprs",
    "trace_to_jaxpr",
    "tree",
    "typeof",
    "zero_tangent",
]
