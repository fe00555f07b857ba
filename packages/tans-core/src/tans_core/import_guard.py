"""Make a later `import jax` raise, in a process whose array classes are Tans's."""

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

from tans_core.coexistence import ALLOW_VARIABLE, REMEDY


class _RefusingLoader(importlib.abc.Loader):
    """Loader of a module that may not be imported here."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        raise ImportError(
            "jax is being imported into a process that runs Tans, and the two cannot share "
            f"jaxlib's array classes. {REMEDY}",
            name="jax",
        )

    def exec_module(self, module: types.ModuleType) -> None:
        """Never reached: `create_module` raises."""


class JaxImportGuard:
    """A meta-path finder that makes `import jax` raise where real jax would be found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec that refuses to load for an installed `jax`; None for all else."""
        if name != "jax" or os.environ.get(ALLOW_VARIABLE):
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        # Probing with find_spec stays possible: only loading is refused.
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(name, _RefusingLoader(), origin=found.origin)


def install_guard() -> None:
    """Put one `JaxImportGuard` in front of the other finders."""
    if not any(isinstance(finder, JaxImportGuard) for finder in sys.meta_path):
        sys.meta_path.insert(0, JaxImportGuard())
