"""Older spelling of `HiPrim`, for programs written for JAX 0.11."""

from typing import Any, override

from tans_core.context import AxisData
from tans_hijax.batching import vmap_rule
from tans_hijax.hiprim import HiPrim

type Tree = Any


class VJPHiPrimitive(HiPrim):
    """A `HiPrim` with the rules that JAX 0.11 had.

    It honours `batch_dim_rule(axis_data, in_dims)`, which returns where the output is mapped while
    `expand` is mapped for it; ``dce(used_outs)`` with one argument; and the class attribute
    `vjp_bwd_retval_logs = True`, with which `vjp_bwd_retval` returns a pair of cotangents and logs.
    """

    def batch_dim_rule(self, axis_data: AxisData, in_dims: Tree) -> Tree:
        """Return where the output is mapped."""
        return super().batch(axis_data, (), in_dims)

    @override
    def batch(self, axis_data: AxisData, args: tuple[Tree, ...], dims: tuple[Tree, ...]) -> Any:
        out_dim = self.batch_dim_rule(axis_data, dims)
        return vmap_rule(axis_data, self.expand, tuple(dims), out_dim)(*args), out_dim

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__dict__.get("vjp_bwd_retval_logs") is True:
            cls.vjp_bwd_retval_logs = cls.vjp_bwd_retval
        own: Any = cls.__dict__.get("dce")
        if own is not None and own.__code__.co_argcount == 2:
            cls.dce = lambda self, used_outs, live_ins: own(self, used_outs)
