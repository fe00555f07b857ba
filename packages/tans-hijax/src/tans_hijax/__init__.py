"""tans-hijax: primitives and types of the user, with all their rules.

A `HiPrim` carries its rules for both derivative modes, batching and dead-code elimination in one
class; a `HiType` is the type of values of a class of the user's own.
"""

from tans_core.interface import require_interface

require_interface("tans-hijax", built_for=1)

from tans_autodiff.accumulators import NullAccum, RefAccum, ValAccum  # noqa: E402
from tans_core import AbstractRef, AbstractValue, GradAccum, ShapedArray  # noqa: E402
from tans_core.hi_types import (  # noqa: E402
    HiPspec,
    HiType,
    MappingSpec,
    aval_method,
    aval_property,
    register_hitype,
)
from tans_hijax.aliases import VJPHiPrimitive  # noqa: E402
from tans_hijax.batching import bdims_at_front, unmap_avals, vmap_rule  # noqa: E402
from tans_hijax.derived import (  # noqa: E402
    jvp_from_lin,
    linearize_from_jvp,
    vjp_from_jvp,
    vjp_from_lin,
)
from tans_hijax.hiprim import HiPrim  # noqa: E402
from tans_hijax.zeros import Zero, instantiate_zeros, is_undefined_primal  # noqa: E402

__all__ = [
    "AbstractRef",
    "AbstractValue",
    "GradAccum",
    "HiPrim",
    "HiPspec",
    "HiType",
    "MappingSpec",
    "NullAccum",
    "RefAccum",
    "ShapedArray",
    "VJPHiPrimitive",
    "ValAccum",
    "Zero",
    "aval_method",
    "aval_property",
    "bdims_at_front",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp_from_lin",
    "linearize_from_jvp",
    "register_hitype",
    "unmap_avals",
    "vjp_from_jvp",
    "vjp_from_lin",
    "vmap_rule",
]
