"""Rematerialisation: what is saved for the backward pass."""

from tans_autodiff import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint,
    checkpoint_name,
    checkpoint_name_fwd,
    checkpoint_policies,
    print_saved_residuals,
    remat,
)

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_name_fwd",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]
