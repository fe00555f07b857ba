"""Numbered expressions and the results they must have: reductions and numeric results."""

from typing import Final

SETUP: Final = """\
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    107: ("jnp.sum(jnp.array([True,True]))", "Array(2, dtype=int32)", ""),
    108: ("jnp.sum(jnp.array([1,2],dtype=jnp.uint8))", "Array(3, dtype=uint32)", ""),
    109: ("jnp.sum(jnp.array([1,2],dtype=jnp.bfloat16))", "Array(3, dtype=bfloat16)", ""),
    110: ("jnp.prod(jnp.array([100,100],dtype=jnp.int8))", "Array(10000, dtype=int32)", ""),
    111: ("jnp.cumsum(jnp.array([100,100],dtype=jnp.int8))", "Array([100, -56], dtype=int8)", ""),
    112: ("jnp.cumsum(jnp.array([True,True]))", "Array([1, 2], dtype=int32)", ""),
    113: ("jnp.mean(jnp.array([1,2]))", "Array(1.5, dtype=float32)", ""),
    114: ("jnp.mean(jnp.array([1,2],dtype=jnp.float16))", "Array(1.5, dtype=float16)", ""),
    115: ("jnp.var(jnp.array([1,2,4]))", "Array(1.5555555, dtype=float32)", ""),
    116: ("jnp.std(jnp.array([1,2,4]),ddof=1)", "Array(1.5275252, dtype=float32)", ""),
    117: ("jnp.true_divide(jnp.int8(1),jnp.int8(2))", "Array(0.5, dtype=float32)", ""),
    118: ("jnp.max(jnp.array([]))", "raises ValueError", ""),
    119: ("jnp.max(jnp.array([]),initial=-1.)", "Array(-1., dtype=float32)", ""),
    120: ("jnp.mean(jnp.array([]))", "Array(nan, dtype=float32)", ""),
    121: (
        "jnp.max(jnp.array([1,2,3]),where=jnp.array([True,False,False]))",
        "raises ValueError",
        "",
    ),
    122: ("jnp.percentile(jnp.array([1.,2.,3.,4.]),50)", "Array(2.5, dtype=float32)", ""),
    123: ("jnp.quantile(jnp.array([1.,2.,3.]),0.25)", "Array(1.5, dtype=float32)", ""),
    124: (
        "jnp.histogram(jnp.array([1.,2.,1.]),bins=2)",
        "(Array([2., 1.], dtype=float32), Array([1. , 1.5, 2. ], dtype=float32))",
        "",
    ),
    125: (
        "jnp.digitize(jnp.array([0.5,1.5]),jnp.array([0.,1.,2.]))",
        "Array([1, 2], dtype=int32)",
        "",
    ),
    126: (
        "jnp.interp(1.5,jnp.array([1.,2.]),jnp.array([10.,20.]))",
        "Array(15., dtype=float32)",
        "",
    ),
    127: ('jnp.einsum("i,i->",jnp.arange(3),jnp.arange(3))', "Array(5, dtype=int32)", ""),
    128: ("jnp.matmul(jnp.ones((2,3)),jnp.ones((4,3,2))).shape", "(4, 2, 2)", ""),
    129: ("jnp.matmul(jnp.float32(1),jnp.ones(2))", "raises ValueError", ""),
    130: ("jnp.vdot(jnp.array([1j]),jnp.array([1j]))", "Array(1.+0.j, dtype=complex64)", ""),
    131: (
        "jnp.linalg.inv(jnp.array([[1.,2.],[2.,4.]]))",
        "Array([[-inf, inf], [ inf, -inf]], dtype=float32)",
        "",
    ),
    132: (
        "jnp.linalg.cholesky(jnp.array([[1.,2.],[2.,1.]]))",
        "Array([[nan, 0.], [nan, nan]], dtype=float32)",
        "",
    ),
    133: ("jnp.fft.rfft(jnp.arange(4))", "Array([ 6.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)", ""),
    134: ("jnp.roots(jnp.array([1.,-3.,2.]))", "Array([2.+0.j, 1.+0.j], dtype=complex64)", ""),
    135: (
        "jnp.unravel_index(5,(2,3))",
        "(Array(1, dtype=int32, weak_type=True), Array(2, dtype=int32, weak_type=True))",
        "",
    ),
    136: ("jnp.frexp(8.)", "(Array(0.5, dtype=float32), Array(4, dtype=int32))", ""),
    137: (
        "jnp.modf(1.5)",
        "(Array(0.5, dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))",
        "",
    ),
    138: ("jnp.packbits(jnp.array([1,0,1],dtype=jnp.uint8))", "Array([160], dtype=uint8)", ""),
    139: ("jnp.split(jnp.arange(3),2)", "raises ValueError", ""),
    140: (
        "jnp.array_split(jnp.arange(3),2)",
        "[Array([0, 1], dtype=int32), Array([2], dtype=int32)]",
        "",
    ),
    141: ("jnp.unwrap(jnp.array([0.,6.5]))", "Array([0. , 0.216815], dtype=float32)", ""),
    142: ("jnp.add.reduce(jnp.arange(3))", "Array(3, dtype=int32)", ""),
    143: ("jnp.add.accumulate(jnp.arange(3))", "Array([0, 1, 3], dtype=int32)", ""),
    144: (
        "jnp.add.at(jnp.arange(3),jnp.array([0]),5,inplace=False)",
        "Array([5, 1, 2], dtype=int32)",
        "",
    ),
    145: ("jnp.add.at(jnp.arange(3),jnp.array([0]),5)", "raises NotImplementedError", ""),
    146: ("jnp.add", "<jnp.ufunc 'add'>", ""),
}
