"""`dce_sink`: keeps the computation of a value in the program."""

from typing import Any, Final

from tans_core import Primitive, effects, tree
from tans_core.effects import Effect

type Value = Any

dce_sink_p: Final = Primitive("dce_sink", family=__name__, multiple_results=True)


class SinkEffect(Effect):
    """Keeps an equation alive and does nothing else."""

    is_ordered = False


sink_effect: Final = SinkEffect()

for _set in (
    effects.lowerable_effects,
    effects.control_flow_allowed_effects,
    effects.custom_derivatives_allowed_effects,
    effects.remat_allowed_effects,
):
    _set.add_type(SinkEffect)


def dce_sink(val: Value, *, prevent_mlir_dce: bool = False) -> None:
    """Keep a value's computation in the traced program although nothing reads the value.

    Args:
      val: tree of arrays.
      prevent_mlir_dce: whether the compiler must keep it too; only for compilers that know the
        target ``dce_sink``.

    Example:
      >>> import numpy as np
      >>> dce_sink(np.ones(3))
    """
    for leaf in tree.leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=bool(prevent_mlir_dce))
