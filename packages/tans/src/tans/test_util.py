"""Checks of derivatives against differences."""

from tans_autodiff.check_grads import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
