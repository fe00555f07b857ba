"""Numbered expressions and the results they must have: casting."""

from typing import Final

SETUP: Final = """\
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    42: ("jnp.array(300).astype(jnp.uint8)", "Array(44, dtype=uint8)", ""),
    43: ("jnp.array(-1).astype(jnp.uint32)", "Array(4294967295, dtype=uint32)", ""),
    44: ("jnp.array([3.9,-3.9]).astype(int)", "Array([ 3, -3], dtype=int32)", ""),
    45: (
        "jnp.array([jnp.nan,jnp.inf,-jnp.inf,1e20,-1e20]).astype(jnp.int32)",
        "Array([ 0, 2147483647, -2147483648, 2147483647, -2147483648], dtype=int32)",
        "",
    ),
    46: (
        "jnp.array([jnp.nan,jnp.inf,-1.,300.]).astype(jnp.uint8)",
        "Array([ 0, 255, 0, 255], dtype=uint8)",
        "",
    ),
    47: (
        "jnp.array([1+2j]).astype(jnp.float32)",
        "Array([1.], dtype=float32)",
        "DeprecationWarning",
    ),
    48: ("jnp.array([0.,0.5,jnp.nan]).astype(bool)", "Array([False, True, True], dtype=bool)", ""),
    49: (
        "jnp.array([448.,449.,500.,1e9]).astype(jnp.float8_e4m3fn)",
        "Array([448, 448, nan, nan], dtype=float8_e4m3fn)",
        "",
    ),
    50: (
        "jnp.array([448.,500.,1e9,65536.]).astype(jnp.float8_e5m2)",
        "Array([448, 512, inf, inf], dtype=float8_e5m2)",
        "",
    ),
    51: (
        "jnp.array([65504.,65520.,1e6]).astype(jnp.float16)",
        "Array([6.55e+04, inf, inf], dtype=float16)",
        "",
    ),
    52: (
        "jnp.array([1.00390625,1.01171875]).astype(jnp.bfloat16)",
        "Array([1, 1.01562], dtype=bfloat16)",
        "",
    ),
    53: ("jnp.arange(3).view(jnp.float32)", "Array([0.e+00, 1.e-45, 3.e-45], dtype=float32)", ""),
    54: ("jnp.arange(3).view(jnp.int8).shape", "(12,)", ""),
    55: ("jnp.arange(3).astype(None)", "Array([0., 1., 2.], dtype=float32)", ""),
}
