"""Which values a checkpointed function saves: the standard policies."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from tans_autodiff.decisions import Offloadable, Recompute, Saveable
from tans_autodiff.remat import name_p

type Decision = Any  # a bool, Saveable, Recompute or Offloadable
type Policy = Callable[..., Decision]


_DOTS: Final = frozenset({"dot_general", "conv_general_dilated", "scaled_matmul_wrapper"})


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Save every residual, as without checkpointing."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Save only the arguments."""
    return False


def dots_saveable(prim: Any, *_: Any, **__: Any) -> bool:
    """Save the results of matrix products and convolutions."""
    return prim.name in _DOTS


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Save the results of matrix products without batch dimensions."""
    if prim.name != "dot_general":
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Make a policy that saves the values with these names only."""
    names = frozenset(names_which_can_be_saved)
    return lambda prim, *_, **params: prim is name_p and params["name"] in names


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Make a policy that saves all named values except those with these names."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim is name_p and params["name"] not in names


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Make a policy that saves everything except the values with these names."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim is not name_p or params["name"] not in names


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Make a policy that saves what either of two policies saves.

    Raises:
      ValueError: a policy returns something else than a bool.
    """

    def policy(prim: Any, *args: Any, **params: Any) -> bool:
        decisions = policy_1(prim, *args, **params), policy_2(prim, *args, **params)
        if not all(isinstance(d, bool) for d in decisions):
            raise ValueError(
                f"save_from_both_policies: given policies that return {decisions}; expected "
                "bools. Combine policies that only save or recompute."
            )
        return any(decisions)

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Make a policy that keeps products without batch dimensions in another memory."""

    def policy(prim: Any, *args: Any, **params: Any) -> Decision:
        if dots_with_no_batch_dims_saveable(prim, *args, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute()

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: tuple[str, ...],
    names_which_can_be_offloaded: tuple[str, ...],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Make a policy that keeps some named values, and others in another memory.

    Raises:
      ValueError: a name is in both sets.
    """
    kept, moved = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if kept & moved:
        raise ValueError(
            f"save_and_offload_only_these_names: given {sorted(kept & moved)} in both sets; "
            "expected disjoint sets. Remove them from one."
        )

    def policy(prim: Any, *_: Any, **params: Any) -> Decision:
        if prim is name_p and params["name"] in kept:
            return Saveable()
        if prim is name_p and params["name"] in moved:
            return Offloadable(offload_src, offload_dst)
        return Recompute()

    return policy


checkpoint_policies: Final = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
