"""Numbered expressions and the results they must have: integer arithmetic."""

from typing import Final

SETUP: Final = """\
q=jnp.array([7,-7,7,-7]); r=jnp.array([3,3,-3,-3]); imin=jnp.int32(-2**31); imax=jnp.int32(2**31-1)
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    277: ("imax+1", "Array(-2147483648, dtype=int32)", ""),
    278: ("-imin", "Array(-2147483648, dtype=int32)", ""),
    279: ("abs(imin)", "Array(-2147483648, dtype=int32)", ""),
    280: ("jnp.uint8(200)+jnp.uint8(100)", "Array(44, dtype=uint8)", ""),
    281: ("-jnp.uint8(1)", "Array(255, dtype=uint8)", ""),
    282: ("q//r", "Array([ 2, -3, -3, 2], dtype=int32)", ""),
    283: ("q%r", "Array([ 1, 2, -2, -1], dtype=int32)", ""),
    284: ("jnp.fmod(q,r)", "Array([ 1, -1, 1, -1], dtype=int32)", ""),
    285: ("lax.div(q,r)", "Array([ 2, -2, -2, 2], dtype=int32)", ""),
    286: ("lax.rem(q,r)", "Array([ 1, -1, 1, -1], dtype=int32)", ""),
    287: (
        "jnp.divmod(q,r)",
        "(Array([ 2, -3, -3,  2], dtype=int32), Array([ 1,  2, -2, -1], dtype=int32))",
        "",
    ),
    288: ("jnp.array([7.,-7.])%jnp.array([3.,3.])", "Array([1., 2.], dtype=float32)", ""),
    289: ("jnp.int32(5)//jnp.int32(0)", "Array(-2, dtype=int32)", ""),
    290: ("jnp.int32(5)%jnp.int32(0)", "Array(0, dtype=int32)", ""),
    291: ("jnp.uint32(5)//jnp.uint32(0)", "Array(4294967295, dtype=uint32)", ""),
    292: ("lax.div(jnp.int32(5),jnp.int32(0))", "Array(-1, dtype=int32)", ""),
    293: ("lax.rem(jnp.int32(5),jnp.int32(0))", "Array(5, dtype=int32)", ""),
    294: ("imin//jnp.int32(-1)", "Array(-2147483648, dtype=int32)", ""),
    295: ("jnp.int32(1)/jnp.int32(0)", "Array(inf, dtype=float32)", ""),
    296: ("jnp.float32(1)//0.", "Array(inf, dtype=float32)", ""),
    297: ("jnp.float32(1)%0.", "Array(nan, dtype=float32)", ""),
    298: ("jnp.int32(1)<<31", "Array(-2147483648, dtype=int32)", ""),
    299: ("jnp.int32(1)<<32", "Array(0, dtype=int32)", ""),
    300: ("jnp.int32(1)<<-1", "Array(0, dtype=int32)", ""),
    301: ("jnp.int32(-8)>>1", "Array(-4, dtype=int32)", ""),
    302: ("jnp.int32(-8)>>40", "Array(-1, dtype=int32)", ""),
    303: ("jnp.uint32(1)>>32", "Array(0, dtype=uint32)", ""),
    304: (
        "lax.shift_right_logical(jnp.int32(-8),jnp.int32(1))",
        "Array(2147483644, dtype=int32)",
        "",
    ),
    305: ("~jnp.array(True)", "Array(False, dtype=bool)", ""),
    306: ("jnp.array(True)+jnp.array(True)", "Array(True, dtype=bool)", ""),
    307: ("jnp.array(True)-jnp.array(True)", "raises TypeError", ""),
    308: ("-jnp.array(True)", "raises TypeError", ""),
    309: ("jnp.array(True)&1", "Array(1, dtype=int32, weak_type=True)", ""),
    310: ("jnp.float32(1)&1", "raises TypeError", ""),
    311: ("jnp.int32(2)**-1", "raises TypeError", ""),
    312: ("jnp.array([2])**jnp.array([-1])", "Array([0], dtype=int32)", ""),
    313: ("jnp.int32(2)**jnp.int32(31)", "Array(-2147483648, dtype=int32)", ""),
    314: ("jnp.int32(2)**0.5", "Array(1.4142135, dtype=float32, weak_type=True)", ""),
    315: ("2**jnp.int32(3)", "Array(8, dtype=int32, weak_type=True)", ""),
    316: (
        "jnp.round(jnp.array([0.5,1.5,2.5,-0.5,-1.5]))",
        "Array([ 0., 2., 2., -0., -2.], dtype=float32)",
        "",
    ),
    317: (
        "lax.round(jnp.array([0.5,1.5,2.5,-0.5]))",
        "Array([ 1., 2., 3., -1.], dtype=float32)",
        "",
    ),
    318: ("round(jnp.float32(2.5))", "Array(2, dtype=int32)", ""),
    319: ("jnp.round(jnp.array([15,25]),-1)", "raises NotImplementedError", ""),
    320: ("jnp.bitwise_count(jnp.uint8(255))", "Array(8, dtype=uint8)", ""),
    321: ("jnp.gcd(12,18)", "Array(6, dtype=int32, weak_type=True)", ""),
}
