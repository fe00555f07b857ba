"""Saves and restores with Orbax, in a process of its own: Orbax imports jax, and Tans never does.

Run by its path, so that nothing of Tans is imported either. It reads requests from standard input,
each a pickled ``(name, arguments)``, and answers on standard output with ``(status, value)``:
"done", "damaged" or "failed". It ends when its input does.
"""

import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ITEM = "default"  # the name that Orbax gives to the only item of a checkpoint


def save(orbax: Any, folder: str, step: int, tree: Any, keep: int) -> None:
    """Store a tree of NumPy arrays, in place of an older one of the same step."""
    options = orbax.CheckpointManagerOptions(
        max_to_keep=keep, create=True, enable_async_checkpointing=False
    )
    with orbax.CheckpointManager(os.path.abspath(folder), options=options) as manager:
        if step in manager.all_steps():
            manager.delete(step)
        manager.save(step, args=orbax.args.StandardSave(tree), force=True)
        manager.wait_until_finished()


def restore(orbax: Any, folder: str, step: int) -> Any:
    """Return a stored tree, of dicts, lists and tuples of NumPy arrays.

    Raises:
      Damaged: it can't be read.
    """
    path = Path(os.path.abspath(folder)) / str(step) / ITEM
    if not path.is_dir():
        raise Damaged(f"it has no item named {ITEM!r}")
    checkpointer = orbax.Checkpointer(orbax.PyTreeCheckpointHandler())
    try:
        tree = checkpointer.metadata(path).item_metadata.tree
        arguments = orbax.args.PyTreeRestore(restore_args=_as_numpy(orbax, tree))
        return checkpointer.restore(path, args=arguments)
    except Exception as error:
        text = "its list of arrays can't be read" if isinstance(error, AttributeError) else error
        raise Damaged(str(text).partition("\n")[0]) from error


class Damaged(Exception):  # noqa: N818  (an answer, not an error of this program)
    """A checkpoint that is not whole."""


def _as_numpy(orbax: Any, tree: Any) -> Any:
    """Return the tree with, in place of each leaf, the request to make it a NumPy array."""
    if isinstance(tree, dict):
        return {key: _as_numpy(orbax, part) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_as_numpy(orbax, part) for part in tree)
    return None if tree is None else orbax.RestoreArgs(restore_type=np.ndarray)


REQUESTS: dict[str, Callable[..., Any]] = {"save": save, "restore": restore}


def main() -> None:
    """Serve requests until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a save that has begun is finished
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import orbax.checkpoint as orbax  # pyright: ignore[reportMissingImports]  # optional

    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = "done", REQUESTS[name](orbax, *arguments)
        except Damaged as error:
            answer = "damaged", str(error)
        except Exception as error:
            answer = "failed", f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    main()
