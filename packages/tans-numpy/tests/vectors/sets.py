"""Numbered expressions and the results they must have: set functions with static size."""

from typing import Final

SETUP: Final = """\
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    322: (
        "jnp.union1d(jnp.array([3,5]),jnp.array([4]),size=5)",
        "Array([3, 4, 5, 3, 3], dtype=int32)",
        "",
    ),
    323: (
        "jnp.intersect1d(jnp.array([3,5]),jnp.array([5,3]),size=4)",
        "Array([3, 5, 3, 3], dtype=int32)",
        "",
    ),
    324: (
        "jnp.setdiff1d(jnp.array([3,5]),jnp.array([5]),size=3)",
        "Array([3, 0, 0], dtype=int32)",
        "",
    ),
    325: (
        "jnp.setxor1d(jnp.array([3,5]),jnp.array([5]),size=3)",
        "Array([3, 3, 3], dtype=int32)",
        "",
    ),
    326: (
        "jnp.compress(jnp.array([True,False,True]),jnp.arange(3)+5,size=3)",
        "Array([5, 7, 0], dtype=int32)",
        "",
    ),
    327: (
        "jnp.compress(jnp.array([True,False,True]),jnp.arange(3),size=4)",
        "raises ValueError",
        "",
    ),
    328: (
        "jnp.extract(jnp.array([True,False,True]),jnp.arange(3)+5,size=3)",
        "Array([5, 7, 0], dtype=int32)",
        "",
    ),
    329: ("jnp.sum(jnp.ones(4096,jnp.float16))", "Array(4.096e+03, dtype=float16)", ""),
}
