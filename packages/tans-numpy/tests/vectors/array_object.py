"""Numbered expressions and the results they must have: array object."""

from typing import Final

import ml_dtypes
import numpy as np


def _version(module) -> tuple[int, ...]:
    return tuple(map(int, module.__version__.split(".")[:2]))


# What NumPy reads through DLPack is its own matter, and ours to offer.
READS_BFLOAT16 = _version(np) >= (2, 5) and _version(ml_dtypes) >= (0, 7)
SETUP: Final = """\
i=jnp.arange(3); x=jnp.array([1.5,2.]); s=jnp.float32(2.5)
def deleted():
    a=jnp.arange(3.)+0; a.delete(); return a.is_deleted(), a.shape
def deleted2():
    a=jnp.arange(3.)+0; a.delete(); return a+1
def donated():
    f=jax.jit(lambda a:a+1,donate_argnums=0); a=jnp.arange(3.)+0; f(a); return a.is_deleted()
"""
# number: (expression, text of the result or the class it raises, classes of warnings)
VECTORS: Final[dict[int, tuple[str, str, str]]] = {
    365: ("i", "Array([0, 1, 2], dtype=int32)", ""),
    366: ("str(i)", "'[0 1 2]'", ""),
    367: ("x", "Array([1.5, 2. ], dtype=float32)", ""),
    368: ("s", "Array(2.5, dtype=float32)", ""),
    369: ("str(jnp.array(1.))", "'1.0'", ""),
    370: ('f"{s:.1f}"', "'2.5'", ""),
    371: ('f"{x:.1f}"', "raises TypeError", ""),
    372: ("jnp.zeros((0,3))", "Array([], shape=(0, 3), dtype=float32)", ""),
    373: ("jnp.array([1.5],dtype=jnp.bfloat16)", "Array([1.5], dtype=bfloat16)", ""),
    374: ("jnp.array([1e-10,1e10])", "Array([1.e-10, 1.e+10], dtype=float32)", ""),
    375: ("jnp.arange(2000)", "Array([ 0, 1, 2, ..., 1997, 1998, 1999], dtype=int32)", ""),
    376: ("len(s)", "raises TypeError", ""),
    377: ("list(i)", "[Array(0, dtype=int32), Array(1, dtype=int32), Array(2, dtype=int32)]", ""),
    378: ("iter(s)", "raises TypeError", ""),
    379: ("2 in i", "True", ""),
    380: ("hash(i)", "raises TypeError", ""),
    381: ("bool(i)", "raises ValueError", ""),
    382: ("bool(jnp.array([1]))", "True", ""),
    383: ("bool(jnp.array([]))", "raises ValueError", ""),
    384: ("float(s)", "2.5", ""),
    385: ("float(jnp.array([1.]))", "raises TypeError", ""),
    386: ("operator.index(jnp.int32(3))", "3", ""),
    387: ("operator.index(s)", "raises TypeError", ""),
    388: ("i.item()", "raises ValueError", ""),
    389: ("i.tolist()", "[0, 1, 2]", ""),
    390: ("i==None", "False", ""),
    391: ('i=="a"', "False", ""),
    392: ("i==[0,1,2]", "raises TypeError", ""),
    393: ("jnp.ndarray is jax.Array", "True", ""),
    394: ("type(i).__name__", "'ArrayImpl'", ""),
    395: ("i.mT", "raises ValueError", ""),
    396: ("i.flat", "raises NotImplementedError", ""),
    397: ("i.device", "CpuDevice(id=0)", ""),
    398: ("i.sharding", "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)", ""),
    399: ("i.committed", "False", ""),
    400: ("i.__array_priority__", "100", ""),
    401: ("np.asarray(i).flags.writeable", "False", ""),
    402: ("type(np.array([1,2,3])+i).__name__", "'ArrayImpl'", ""),
    403: ("type(np.sin(x)).__name__", "'ndarray'", ""),
    404: ("type(np.float32(2)*x).__name__", "'ArrayImpl'", ""),
    405: ("jnp.asarray(i) is i", "True", ""),
    406: ("jnp.array(i) is i", "False", ""),
    407: ("i.__dlpack_device__()", "(<DLDeviceType.kDLCPU: 1>, 0)", ""),
    408: ("np.from_dlpack(i)", "array([0, 1, 2], dtype=int32)", ""),
    409: (
        "np.from_dlpack(jnp.array([1],dtype=jnp.bfloat16))",
        "array([1], dtype=bfloat16)" if READS_BFLOAT16 else "raises BufferError",
        "",
    ),
    410: ("jnp.from_dlpack(np.arange(3))", "Array([0, 1, 2], dtype=int32)", ""),
    411: ("pickle.loads(pickle.dumps(jnp.array(1)))", "Array(1, dtype=int32, weak_type=True)", ""),
    412: ("deleted()", "(True, (3,))", ""),
    413: ("deleted2()", "raises RuntimeError", ""),
    414: ("donated()", "True", ""),
    415: ("i.block_until_ready() is i", "True", ""),
    416: ('jax.device_put("a")', "raises TypeError", ""),
    417: ("jax.device_put(None)", "None", ""),
    418: ("jax.device_put(1.0).committed", "False", ""),
    419: ("pow(jnp.int32(2),3,5)", "raises TypeError", ""),
    420: ("divmod(jnp.int32(7),2)", "(Array(3, dtype=int32), Array(1, dtype=int32))", ""),
}
