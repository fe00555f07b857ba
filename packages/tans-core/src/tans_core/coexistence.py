"""Refuse to share a process with another owner of jaxlib's classes.

jaxlib's array and sharding classes are one per process, and so are the hooks that a front end
attaches to them. The second owner silently changes the results of the first, so an error that
names the way out is the only safe answer.
"""

import contextlib
import os
import sys
import threading
import types
from collections.abc import Generator, Mapping
from typing import Any, Final

from tans_core._jaxlib import ArrayImpl

ALLOW_VARIABLE: Final = "TANS_ALLOW_JAX"
REMEDY: Final = (
    "Use one of them per process. To run a program that imports jax on Tans, install tans-jax and "
    "start it with: python -m tans_jax program.py"
)
_stub_lock: Final = threading.RLock()


def check_alone() -> None:
    """Raise if real jax already owns jaxlib's classes in this process.

    Raises:
      ImportError: jax was imported before Tans.
    """
    if os.environ.get(ALLOW_VARIABLE):
        return
    jax = sys.modules.get("jax")
    if jax is not None and hasattr(jax, "__version__") and not _is_ours(jax):
        raise ImportError(
            f"jax {jax.__version__} is already imported in this process, and Tans needs to be the "
            f"only owner of jaxlib's array classes. {REMEDY}",
            name="tans",
        )
    if hasattr(ArrayImpl, "shape") and not hasattr(ArrayImpl, "_tans_owner"):
        raise ImportError(
            "another front end has already attached its methods to jaxlib's array class, and Tans "
            f"needs to be its only owner. {REMEDY}",
            name="tans",
        )


def _is_ours(module: types.ModuleType) -> bool:
    return getattr(module, "__name__", "").split(".")[0].startswith("tans")


@contextlib.contextmanager
def stub_modules(attributes: Mapping[str, Mapping[str, Any]]) -> Generator[None]:
    """Serve the modules that jaxlib's C++ imports by name, for the length of the block.

    `attributes` maps a dotted module name to the attributes C++ asks for. The entries vanish at
    the end, because other libraries take `'jax' in sys.modules` as a sign of the real package.
    """
    with _stub_lock:
        modules = {"jax": types.ModuleType("jax"), "jax._src": types.ModuleType("jax._src")}
        for package in modules.values():
            package.__path__ = []
        for name, values in attributes.items():
            modules.setdefault(name, types.ModuleType(name)).__dict__.update(values)
        saved = {name: sys.modules[name] for name in modules if name in sys.modules}
        sys.modules.update(modules)
        try:
            yield
        finally:
            for name in modules:
                sys.modules.pop(name, None)
            sys.modules.update(saved)
