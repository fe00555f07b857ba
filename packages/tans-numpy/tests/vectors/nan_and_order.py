"""Numbered expressions and the results they must have: nan, sorting, extrema."""

from typing import Final

SETUP: Final = """\
n=jnp.array([3.,jnp.nan,1.,2.]); nn=jnp.array([jnp.nan,jnp.nan])
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    330: ("jnp.max(n)", "Array(nan, dtype=float32)", ""),
    331: ("jnp.nanmax(nn)", "Array(nan, dtype=float32)", ""),
    332: ("jnp.argmax(n)", "Array(1, dtype=int32)", ""),
    333: ("jnp.argmin(n)", "Array(1, dtype=int32)", ""),
    334: ("jnp.nanargmax(n)", "Array(0, dtype=int32)", ""),
    335: ("jnp.nanargmax(nn)", "Array(-1, dtype=int32)", ""),
    336: ("jnp.argmax(jnp.array([1,3,3]))", "Array(1, dtype=int32)", ""),
    337: ("jnp.maximum(jnp.nan,1.)", "Array(nan, dtype=float32, weak_type=True)", ""),
    338: ("jnp.fmax(jnp.nan,1.)", "Array(1., dtype=float32, weak_type=True)", ""),
    339: ("jnp.maximum(-0.,0.)", "Array(0., dtype=float32, weak_type=True)", ""),
    340: ("jnp.minimum(0.,-0.)", "Array(-0., dtype=float32, weak_type=True)", ""),
    341: ("jnp.sort(n)", "Array([ 1., 2., 3., nan], dtype=float32)", ""),
    342: ("jnp.sort(n,descending=True)", "Array([nan, 3., 2., 1.], dtype=float32)", ""),
    343: ("jnp.argsort(n)", "Array([2, 3, 0, 1], dtype=int32)", ""),
    344: (
        "jnp.argsort(jnp.array([2,1,2,1]),descending=True)",
        "Array([0, 2, 1, 3], dtype=int32)",
        "",
    ),
    345: (
        "jnp.sort(jnp.array([0.,-0.,jnp.inf,-jnp.inf,-jnp.nan,jnp.nan]))",
        "Array([-inf, 0., -0., inf, nan, nan], dtype=float32)",
        "",
    ),
    346: (
        "jnp.sort(jnp.array([1+2j,1-1j,0+5j]))",
        "Array([0.+5.j, 1.-1.j, 1.+2.j], dtype=complex64)",
        "",
    ),
    347: ("jnp.median(n)", "Array(nan, dtype=float32)", ""),
    348: ("jnp.clip(n,1.5,2.5)", "Array([2.5, nan, 1.5, 2. ], dtype=float32)", ""),
    349: ("jnp.clip(jnp.array([1,5]),3,2)", "Array([2, 2], dtype=int32)", ""),
    350: ("jnp.array_equal(n,n,equal_nan=True)", "Array(True, dtype=bool)", ""),
    351: ("jnp.allclose(n,n)", "Array(False, dtype=bool)", ""),
    352: (
        "jnp.nan_to_num(jnp.array([jnp.nan,jnp.inf,-jnp.inf]))",
        "Array([ 0.0000000e+00, 3.4028235e+38, -3.4028235e+38], dtype=float32)",
        "",
    ),
    353: ("jnp.searchsorted(jnp.array([1.,2.,jnp.nan]),jnp.nan)", "Array(2, dtype=int32)", ""),
    354: (
        'jnp.searchsorted(jnp.array([1.,2.,2.,3.]),2.,side="right")',
        "Array(3, dtype=int32)",
        "",
    ),
    355: ("lax.top_k(n,2)", "[Array([nan,  3.], dtype=float32), Array([1, 0], dtype=int32)]", ""),
    356: (
        "lax.top_k(jnp.array([1,3,3,2]),2)",
        "[Array([3, 3], dtype=int32), Array([1, 2], dtype=int32)]",
        "",
    ),
    357: ("jnp.cumsum(n)", "Array([ 3., nan, nan, nan], dtype=float32)", ""),
    358: (
        "jnp.sign(jnp.array([-2.,0.,-0.,jnp.nan,3.]))",
        "Array([-1., 0., -0., nan, 1.], dtype=float32)",
        "",
    ),
    359: ("jnp.sign(jnp.array([3+4j,0j]))", "Array([0.6+0.8j, 0. +0.j ], dtype=complex64)", ""),
    360: ("jnp.sqrt(-1.)", "Array(nan, dtype=float32, weak_type=True)", ""),
    361: ("jnp.float32(0)**0", "Array(1., dtype=float32)", ""),
    362: ("jax.nn.softmax(jnp.array([1.,jnp.inf]))", "Array([nan, nan], dtype=float32)", ""),
    363: ("jax.nn.logsumexp(jnp.array([-jnp.inf,-jnp.inf]))", "Array(-inf, dtype=float32)", ""),
    364: ("jnp.logaddexp(-jnp.inf,-jnp.inf)", "Array(-inf, dtype=float32, weak_type=True)", ""),
}
