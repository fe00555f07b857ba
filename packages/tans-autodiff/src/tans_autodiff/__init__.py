"""Automatic differentiation: forward and reverse mode, custom rules, checkpointing."""

from tans_core import require_interface

_INTERFACE_BUILT_FOR = 1
require_interface("tans-autodiff", built_for=_INTERFACE_BUILT_FOR)

from tans_autodiff.accumulators import NullAccum, RefAccum, ValAccum  # noqa: E402
from tans_autodiff.checkpoint import (  # noqa: E402
    checkpoint,
    checkpoint_name,
    checkpoint_name_fwd,
    remat,
)
from tans_autodiff.checkpoint_policies import checkpoint_policies  # noqa: E402
from tans_autodiff.closure_convert import closure_convert  # noqa: E402
from tans_autodiff.custom_gradient import custom_gradient  # noqa: E402
from tans_autodiff.custom_jvp import custom_jvp  # noqa: E402
from tans_autodiff.custom_root import custom_root  # noqa: E402
from tans_autodiff.custom_vjp import custom_vjp  # noqa: E402
from tans_autodiff.decisions import Offloadable, Recompute, Saveable  # noqa: E402
from tans_autodiff.forward import jvp, linearize  # noqa: E402
from tans_autodiff.fwd_and_bwd import fwd_and_bwd  # noqa: E402
from tans_autodiff.gradient import grad, value_and_grad  # noqa: E402
from tans_autodiff.jacobian import hessian, jacfwd, jacobian, jacrev  # noqa: E402
from tans_autodiff.linear_call import linear_call  # noqa: E402
from tans_autodiff.linear_solve import custom_linear_solve  # noqa: E402
from tans_autodiff.linear_transpose import linear_transpose  # noqa: E402
from tans_autodiff.ref_entries import ad  # noqa: E402
from tans_autodiff.residuals import NotNeeded, NotSaveable  # noqa: E402
from tans_autodiff.saved_residuals import print_saved_residuals  # noqa: E402
from tans_autodiff.symbolic_zero import (  # noqa: E402
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from tans_autodiff.vjp import vjp  # noqa: E402
from tans_autodiff.vjp_object import VJP  # noqa: E402

__all__ = [
    "VJP",
    "CustomVJPPrimal",
    "NotNeeded",
    "NotSaveable",
    "NullAccum",
    "Offloadable",
    "Recompute",
    "RefAccum",
    "Saveable",
    "SymbolicZero",
    "ValAccum",
    "ad",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_name_fwd",
    "checkpoint_policies",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear_call",
    "linear_transpose",
    "linearize",
    "print_saved_residuals",
    "remat",
    "value_and_grad",
    "vjp",
    "zero_from_primal",
]
