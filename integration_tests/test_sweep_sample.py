"""A fixed sample of 500 calls of the sweep, with NumPy in float64 as the oracle.

The calls are texts; here `jnp` stands for NumPy and every operand is widened.
"""

import random
import re
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tans.numpy as jnp

sys.path.insert(0, str(Path(__file__).parent.parent / "tools" / "sweep"))
import operands
import rows

COUNT = 500
GROUPS = 10
TOPICS = ("numpy_elementwise", "numpy_reductions", "numpy_shapes", "numpy_rest")
# Values that differ by design: overflow of narrow integers, documented differences.
NOT_NUMPY = re.compile(
    r"'[iu]8'.*(prod|cumsum|sum|square|power|matmul|dot|inner|outer|kron|poly|convolve|correlate)"
    r"|float_power|spacing|dtype=jnp\.int8|jnp\.int8\)|uint8|astype|argpartition|/ 0"
    r"|argsort|'u(8|32)'|True|np\.int8|dtype=|'b1'|left_shift|right_shift|reciprocal|'s'|empty"
    r"|bool\)|bitwise_invert|invert|negative|top_k"
)


def _wide(dtype, *args):
    x = operands.array(dtype, *args)
    kinds = {"c": np.complex128, "b": np.bool_, "u": np.int64, "i": np.int64}
    return x.astype(kinds.get(x.dtype.kind, np.float64) if dtype != "bf16" else np.float64)


def _numpy(text):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, {"jnp": np, "np": np, "A": _wide})


def _ours(text):
    def array(*args):
        return jnp.asarray(operands.array(*args))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, {"jnp": jnp, "np": np, "A": array})


def _sample():
    calls = [c.text for t in TOPICS for c in rows.load(t) if not c.x64]
    random.Random(0).shuffle(calls)
    chosen = []
    for text in calls:
        if NOT_NUMPY.search(text):
            continue
        try:
            expected = _numpy(text)
            numbers = (
                isinstance(expected, np.ndarray | np.number) and expected.dtype.kind in "biufc"
            )
        except Exception:  # a call that NumPy has not, or refuses
            continue
        if numbers:
            chosen.append((text, expected))
        if len(chosen) == COUNT:
            return chosen
    raise AssertionError(f"only {len(chosen)} calls")


SAMPLE = _sample()


@pytest.mark.parametrize("group", range(GROUPS))
def test_sample_against_numpy(group):
    wrong, refused = [], 0
    for text, expected in SAMPLE[group::GROUPS]:
        try:
            found = np.asarray(_ours(text))
        except (TypeError, ValueError, NotImplementedError):  # lists, arguments NumPy alone has
            refused += 1
            continue
        half = found.dtype.itemsize < 4 and found.dtype.kind in "fV"
        tolerance = 3e-2 if half or "f16" in text else 2e-5
        if found.dtype == ml_dtypes.bfloat16:
            found = found.astype(float)
        scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
        if found.shape != expected.shape or not np.allclose(
            found, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True
        ):
            wrong.append(f"{text}: {found.ravel()[:4]}, expected {np.ravel(expected)[:4]}")
    assert not wrong, "\n".join(wrong)
    assert refused <= COUNT // GROUPS // 5
