"""Evaluates calls under one framework and writes what came out, one pickle per call.

The framework is named on the command line (``--framework tans``), so that this file imports none.
"""

import argparse
import faulthandler
import importlib
import operator
import os
import pickle
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import operands

# Seconds of processor time that a call may take; then its process ends, and a new one goes on. On
# the clock it may take ten times as long: others may use the machine.
LIMIT = 40
SLOW = 2  # seconds of processor time after which a call is printed


def namespace(framework: str) -> dict[str, Any]:
    """Return the names that a call may use."""
    modules = {
        "jax": "", "jnp": ".numpy", "lax": ".lax", "nn": ".nn", "random": ".random",
        "jsp": ".scipy", "ops": ".ops", "image": ".image", "init": ".nn.initializers",
    }  # fmt: skip
    names = {short: importlib.import_module(framework + path) for short, path in modules.items()}
    for path in "special linalg stats signal ndimage fft optimize integrate cluster sparse".split():
        try:
            importlib.import_module(f"{framework}.scipy.{path}")
        except ImportError:
            continue
    jnp = names["jnp"]

    def array(*args: Any) -> Any:
        return jnp.asarray(operands.array(*args))

    return names | {
        "np": np,
        "A": array,
        "N": operands.array,
        "D": operands.DTYPES,
        "operator": operator,
        "key": lambda seed=0, **kw: names["random"].key(seed, **kw),
        "P": names["lax"].Precision.HIGHEST,
    }


def record(value: Any, key_data: Any) -> Any:
    """Turn a result into plain data: type, dtype, weak type, shape, values."""
    if isinstance(value, np.ndarray | np.generic):
        return ("numpy", str(value.dtype), np.shape(value), _raw(value))
    if hasattr(value, "aval") and hasattr(value, "dtype"):
        dtype = str(value.dtype)
        if dtype.startswith("key<"):
            return ("key", dtype, tuple(value.shape), _raw(key_data(value)))
        weak = bool(value.weak_type)
        return ("array", dtype, tuple(value.shape), weak, _raw(value))
    if isinstance(value, tuple | list):
        kind = type(value).__name__
        return (kind, [record(v, key_data) for v in value])
    if isinstance(value, dict):
        return ("dict", [(repr(k), record(v, key_data)) for k, v in value.items()])
    if value is None or isinstance(value, bool | int | float | complex | str | slice):
        return (type(value).__name__, repr(value))
    if isinstance(value, np.dtype):
        return ("dtype", str(value))
    if isinstance(value, type):
        return ("type", value.__name__)
    return ("object", "")


def _raw(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind == "V":
        return array.astype(np.float32)
    return np.array(array)


def evaluate(code: Any, names: dict[str, Any]) -> Any:
    """Return ``("value", record, warnings)`` or ``("error", class name, text)``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = record(eval(code, dict(names)), names["random"].key_data)
        except Exception as error:
            return ("error", type(error).__name__, str(error)[:300])
    kinds = sorted({w.category.__name__ for w in caught})
    return ("value", found, kinds)


def main() -> None:
    """Read (text, x64) pairs, append (place, outcome) pairs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--framework", required=True)
    parser.add_argument("--calls", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    names = namespace(options.framework)
    calls = pickle.loads(Path(options.calls).read_bytes())
    enable_x64 = names["jax"].enable_x64
    start = time.perf_counter()
    with Path(options.out).open("ab") as out, Path(os.devnull).open("w") as quiet:
        for place, text, x64 in calls:
            # Written first: a call that kills the process is then known.
            pickle.dump((place, None), out)
            out.flush()
            faulthandler.dump_traceback_later(10 * LIMIT, exit=True, file=quiet)
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            begin = time.process_time()
            with enable_x64(x64):
                outcome = evaluate(text, names)
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            pickle.dump((place, outcome), out)
            if (seconds := time.process_time() - begin) > SLOW:
                print(f"{options.framework} {seconds:.1f} s for {text}", flush=True)
            if place % 1000 == 0:
                print(options.framework, place, round(time.perf_counter() - start), "s", flush=True)
                names["jax"].clear_caches()


if __name__ == "__main__":
    main()
