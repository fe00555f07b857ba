"""Reading the tables of oracles.

A line is ``names ; arguments [; oracle [; flags]]``. The arguments and the oracle are Python
expressions over the operands of `operands.py`; without an oracle, the function of NumPy or SciPy
of the same name is called with the same arguments. ``$`` stands for the name; ``ours=...`` at the
end of the flags is another expression of the function under test. Other flags: ``eager`` (the size
of the result depends on values), ``shape`` (values are not defined), ``near`` (an approximation),
``bfloat16`` (a result of 8 digits), ``nograd`` (no derivative to compare), ``sorted``, ``product``
(the product of the results), ``skip``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
# Table: name of the namespace under test, and of the oracle.
TOPICS = {
    "numpy": ("jnp", "np"),
    "linalg_fft": ("jnp", "np"),
    "lax": ("lax", "np"),
    "nn": ("nn", "np"),
    "scipy": ("jsp", "scipy"),
}
_IN_SCIPY = {
    "digamma": "digamma", "bessel_i0e": "i0e", "bessel_i1e": "i1e", "lgamma": "gammaln",
    "logistic": "expit", "erf_inv": "erfinv", "igamma": "gammainc", "igammac": "gammaincc",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """The oracle of one function."""

    name: str
    ours: str
    theirs: str
    flags: frozenset[str]


def load(topic: str) -> list[Row]:
    """Return the rows of a table."""
    namespace, oracle = TOPICS[topic]
    rows = []
    for line in (FOLDER / f"{topic}.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, args, *rest = [part.strip() for part in re.split(r"\s+;(?=\s)", f"{line} ")]
        theirs = rest[0] if rest and rest[0] else f"{oracle}.$({args})"
        flags, _, ours = (rest[1] if len(rest) > 1 else "").partition("ours=")
        ours = ours or f"{namespace}.$({args})"
        words = frozenset(flags.split())
        rows += [Row(n, _fill(ours, n), _fill(theirs, n), words) for n in names.split()]
    return rows


def _fill(text: str, name: str) -> str:
    short = name.rsplit(".", 1)[-1]
    text = text.replace("$S", _IN_SCIPY.get(short, short)).replace("$A", short.lstrip("a"))
    text = text.replace("$R", {"neg": "negative", "ceil": "ceil"}.get(short, short))
    return text.replace("$", name)
