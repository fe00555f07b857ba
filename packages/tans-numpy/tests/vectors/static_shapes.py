"""Numbered expressions and the results they must have: static shapes and tracer errors."""

from typing import Final

SETUP: Final = """\
i=jnp.arange(5)
def ifx(x):
    if x>0: return x
    return -x
leak=[]
def useleak():
    jax.jit(lambda x: (leak.append(x), x)[1])(1.0); return leak[-1]+1
def reuse():
    with jax.debug_key_reuse(True):
        k=random.key(0); return random.uniform(k)+random.uniform(k)
def nans():
    with jax.debug_nans(True): return jnp.array(0.)/0.
def rank():
    with jax.numpy_rank_promotion('raise'): return jnp.ones((2,3))+jnp.ones(3)
y=jnp.array([1.,2.])
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    229: ("jax.jit(ifx)(1.)", "raises jax.errors.TracerBoolConversionError", ""),
    230: ("jax.grad(ifx)(-1.)", "Array(-1., dtype=float32, weak_type=True)", ""),
    231: ("jax.vmap(ifx)(y)", "raises jax.errors.TracerBoolConversionError", ""),
    232: ("jax.jit(lambda x: float(x))(1.)", "raises jax.errors.ConcretizationTypeError", ""),
    233: ("jax.jit(lambda x: x.item())(1)", "raises jax.errors.ConcretizationTypeError", ""),
    234: ("jax.jit(lambda x: np.sin(x))(1.)", "raises jax.errors.TracerArrayConversionError", ""),
    235: ("jax.jit(lambda x: [1,2][x])(1)", "raises jax.errors.TracerIntegerConversionError", ""),
    236: ("jax.jit(lambda x: x in [1,2])(1)", "raises jax.errors.TracerBoolConversionError", ""),
    237: ("jax.jit(lambda n: jnp.zeros(n))(3)", "raises TypeError", ""),
    238: ("jax.jit(lambda n: jnp.arange(n))(3)", "raises jax.errors.ConcretizationTypeError", ""),
    239: ("jax.jit(lambda n: jnp.ones(2).reshape(n))(2)", "raises TypeError", ""),
    240: (
        "jax.jit(lambda n: jnp.sum(jnp.ones((2,2)),axis=n))(0)",
        "raises jax.errors.ConcretizationTypeError",
        "",
    ),
    241: ("jax.jit(jnp.nonzero)(i)", "raises jax.errors.ConcretizationTypeError", ""),
    242: (
        "jax.jit(lambda x: jnp.nonzero(x,size=7,fill_value=-1))(i)",
        "(Array([ 1,  2,  3,  4, -1, -1, -1], dtype=int32),)",
        "",
    ),
    243: ("jnp.nonzero(i,size=2)", "(Array([1, 2], dtype=int32),)", ""),
    244: ("jax.jit(lambda x: jnp.unique(x))(i)", "raises jax.errors.ConcretizationTypeError", ""),
    245: ("jnp.unique(jnp.array([3,1,1]),size=4)", "Array([1, 3, 1, 1], dtype=int32)", ""),
    246: (
        "jnp.unique(jnp.array([3,1,1]),size=4,fill_value=0)",
        "Array([1, 3, 0, 0], dtype=int32)",
        "",
    ),
    247: (
        "jnp.unique(jnp.array([3,1,1]),return_index=True,return_inverse=True,return_counts=True,size=4)",
        "(Array([1, 3, 1, 1], dtype=int32), Array([1, 0, 1, 1], dtype=int32), Array([1, 0, 0], dtype=int32), Array([2, 1, 0, 0], dtype=int32))",  # noqa: E501
        "",
    ),
    248: ("jnp.unique(jnp.array([jnp.nan,1.,jnp.nan]))", "Array([ 1., nan], dtype=float32)", ""),
    249: (
        "jnp.unique(jnp.array([jnp.nan,1.,jnp.nan]),equal_nan=False)",
        "Array([ 1., nan, nan], dtype=float32)",
        "",
    ),
    250: ("jnp.where(i>2,size=4)", "(Array([3, 4, 0, 0], dtype=int32),)", ""),
    251: (
        "jnp.argwhere(i>2,size=4,fill_value=-1)",
        "Array([[ 3], [ 4], [-1], [-1]], dtype=int32)",
        "",
    ),
    252: (
        "jax.jit(lambda x,r: jnp.repeat(x,r))(y,jnp.array([1,2]))",
        "raises jax.errors.ConcretizationTypeError",
        "",
    ),
    253: (
        "jax.jit(lambda x,r: jnp.repeat(x,r,total_repeat_length=5))(y,jnp.array([1,2]))",
        "Array([1., 2., 2., 2., 2.], dtype=float32)",
        "",
    ),
    254: ("jax.jit(lambda x: jnp.bincount(x))(i)", "raises jax.errors.ConcretizationTypeError", ""),
    255: ("jax.jit(lambda x: jnp.bincount(x,length=3))(i)", "Array([1, 1, 1], dtype=int32)", ""),
    256: ("jax.jit(lambda x: jnp.intersect1d(x,x,size=3))(i)", "Array([0, 1, 2], dtype=int32)", ""),
    257: ("jax.jit(lambda x: hash(x))(1)", "raises TypeError", ""),
    258: ('jax.jit(lambda x: x)("a")', "raises TypeError", ""),
    259: ('jax.jit(lambda x: "a")(1)', "raises TypeError", ""),
    260: ("jax.jit(lambda x: x, static_argnums=0)([1])", "raises ValueError", ""),
    261: ("jax.jit(lambda x: len(x))(i)", "Array(5, dtype=int32, weak_type=True)", ""),
    262: (
        "jax.jit(lambda x: [v for v in x])(y)",
        "[Array(1., dtype=float32), Array(2., dtype=float32)]",
        "",
    ),
    263: ("useleak()", "raises jax.errors.UnexpectedTracerError", ""),
    264: ("reuse()", "raises jax.errors.KeyReuseError", ""),
    265: ("nans()", "raises FloatingPointError", ""),
    266: ("rank()", "raises ValueError", ""),
    267: ("jax.grad(lambda x: x)(1)", "raises TypeError", ""),
    268: ("jax.grad(lambda x: jnp.array([x]))(1.)", "raises TypeError", ""),
    269: ("jax.grad(lambda x: x+1j)(1.)", "raises TypeError", ""),
    270: ("jnp.ones((2,3))+jnp.ones((2,))", "raises ValueError", ""),
    271: ("jnp.ones((2,3))@jnp.ones((2,3))", "raises TypeError", ""),
    272: ("jnp.reshape(i,(2,2))", "raises TypeError", ""),
    273: ("jnp.sum(i,axis=3)", "raises ValueError", ""),
    274: ("jnp.broadcast_to(i,(2,3))", "raises ValueError", ""),
    275: (
        "[c.__name__ for c in jax.errors.NonConcreteBooleanIndexError.__mro__]",
        "['NonConcreteBooleanIndexError', 'JAXIndexError', '_JAXErrorMixin', 'IndexError', 'LookupError', 'Exception', 'BaseException', 'object']",  # noqa: E501
        "",
    ),
    276: (
        "[c.__name__ for c in jax.errors.TracerBoolConversionError.__mro__]",
        "['TracerBoolConversionError', 'ConcretizationTypeError', 'JAXTypeError', '_JAXErrorMixin', 'TypeError', 'Exception', 'BaseException', 'object']",  # noqa: E501
        "",
    ),
}
