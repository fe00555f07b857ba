"""Numbered expressions and the results they must have: promotion and weak types."""

from typing import Final

SETUP: Final = """\
def x64(f):
    with jax.enable_x64(True): return f()
def strict(f):
    with jax.numpy_dtype_promotion('strict'): return f()
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    56: ("jnp.add(1,2)", "Array(3, dtype=int32, weak_type=True)", ""),
    57: ("jnp.array(1)/jnp.array(2)", "Array(0.5, dtype=float32, weak_type=True)", ""),
    58: ("jnp.sqrt(4)", "Array(2., dtype=float32, weak_type=True)", ""),
    59: ("jnp.int8(1)+1", "Array(2, dtype=int8)", ""),
    60: ("jnp.int8(1)+1.5", "Array(2.5, dtype=float32, weak_type=True)", ""),
    61: ("jnp.int8(1)+200", "Array(-55, dtype=int8)", ""),
    62: ("jnp.uint8(1)-2", "Array(255, dtype=uint8)", ""),
    63: ("jnp.float16(1)+1e10", "Array(inf, dtype=float16)", ""),
    64: ("jnp.bfloat16(1)+1.0", "Array(2, dtype=bfloat16)", ""),
    65: ("jnp.bfloat16(1)+jnp.float16(1)", "Array(2., dtype=float32)", ""),
    66: ("jnp.bfloat16(1)+np.float64(1)", "Array(2., dtype=float32)", ""),
    67: ("jnp.int32(1)+jnp.uint32(1)", "Array(2, dtype=int32)", ""),
    68: ("jnp.int8(1)+jnp.uint8(1)", "Array(2, dtype=int16)", ""),
    69: ("jnp.float16(1)+1j", "Array(1.+1.j, dtype=complex64)", ""),
    70: ("jnp.asarray(1.)+jnp.int8(1)", "Array(2., dtype=float32, weak_type=True)", ""),
    71: ("jnp.where(True,1,2.)", "Array(1., dtype=float32, weak_type=True)", ""),
    72: ("jnp.where(jnp.array([True]),1,jnp.int8(2))", "Array([1], dtype=int8)", ""),
    73: ("jnp.stack([jnp.int8(1),2.5])", "Array([1. , 2.5], dtype=float32, weak_type=True)", ""),
    74: (
        "jnp.concatenate([jnp.ones(1,jnp.int8),jnp.ones(1,jnp.float16)])",
        "Array([1., 1.], dtype=float16)",
        "",
    ),
    75: ("jnp.array(1.0,dtype=jnp.float8_e4m3fn)+1.0", "Array(2, dtype=float8_e4m3fn)", ""),
    76: (
        "jnp.array(1.0,dtype=jnp.float8_e4m3fn)+jnp.float16(1)",
        "raises jax.dtypes.TypePromotionError",
        "",
    ),
    77: (
        "jnp.array([7],dtype=jnp.int4)+jnp.array([1],dtype=jnp.int4)",
        "Array([-8], dtype=int4)",
        "",
    ),
    78: ("jnp.array([1],dtype=jnp.int4)+jnp.int8(1)", "raises jax.dtypes.TypePromotionError", ""),
    79: ("jnp.result_type(jnp.int32,jnp.float16)", "dtype('float16')", ""),
    80: ("jnp.result_type(1,2.0)", "dtype('float32')", ""),
    81: ("jnp.result_type(jnp.ones(1,jnp.float16),2.0,3)", "dtype('float16')", ""),
    82: ("jnp.promote_types('int32','uint32')", "dtype('int32')", ""),
    83: ("jnp.promote_types('uint64','int32')", "dtype('float64')", ""),
    84: ("jnp.promote_types(int,'float16')", "dtype('float16')", ""),
    85: ("jax.typeof(1.0)", "ShapedArray(float32[], weak_type=True)", ""),
    86: ("jax.typeof(jnp.ones((2,3)))", "ShapedArray(float32[2,3])", ""),
    87: ("jax.jit(lambda x:x)(1.0)", "Array(1., dtype=float32, weak_type=True)", ""),
    88: ("np.float64(2)*jnp.array([1.],dtype=jnp.float16)", "Array([2.], dtype=float32)", ""),
    89: (
        "jnp.ones((2,2),dtype=jnp.bfloat16)@jnp.ones((2,2),dtype=jnp.float32)",
        "Array([[2., 2.], [2., 2.]], dtype=float32)",
        "",
    ),
    90: ("x64(lambda: jnp.uint64(1)+jnp.int64(1))", "Array(2., dtype=float64, weak_type=True)", ""),
    91: (
        "x64(lambda: (jnp.uint64(1)+jnp.int64(1))+jnp.float16(1))",
        "Array(3., dtype=float16)",
        "",
    ),
    92: ("x64(lambda: jnp.int32(1)+jnp.uint32(1))", "Array(2, dtype=int64)", ""),
    93: ("x64(lambda: jnp.float32(1)+1.0)", "Array(2., dtype=float32)", ""),
    94: ("x64(lambda: jnp.sqrt(jnp.int32(4)))", "Array(2., dtype=float32)", ""),
    95: ("x64(lambda: jnp.sqrt(jnp.int64(4)))", "Array(2., dtype=float64)", ""),
    96: ("x64(lambda: jnp.arange(2.))", "Array([0., 1.], dtype=float64)", ""),
    97: ("x64(lambda: jnp.argmax(jnp.arange(3)))", "Array(2, dtype=int64)", ""),
    98: ("strict(lambda: jnp.float32(1)+1)", "Array(2., dtype=float32)", ""),
    99: ("strict(lambda: jnp.int32(1)+1.5)", "raises jax.dtypes.TypePromotionError", ""),
    100: (
        "strict(lambda: jnp.int32(1)+jnp.float32(1))",
        "raises jax.dtypes.TypePromotionError",
        "",
    ),
    101: ("lax.add(1,2.0)", "raises TypeError", ""),
    102: ("lax.add(jnp.int32(1),1)", "Array(2, dtype=int32)", ""),
    103: ("lax.add(jnp.float32(1),1)", "raises TypeError", ""),
    104: ("lax.add(jnp.ones((2,3)),jnp.ones(3))", "raises TypeError", ""),
    105: ("lax.mul(jnp.ones(3),jnp.ones(()))", "Array([1., 1., 1.], dtype=float32)", ""),
    106: ("jnp.array(jnp.nan)==jnp.array(jnp.nan)", "Array(False, dtype=bool, weak_type=True)", ""),
}
