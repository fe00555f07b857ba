"""The specification's test vectors of indexing and ``.at``, by their numbers there."""

import builtins
import warnings

import numpy as np
import pytest

import tans_lax as lax
import tans_numpy as jnp
from tans_core import errors
from tans_lax.slicing import ds
from tans_xla import jit


class tans:
    jit = staticmethod(jit)
    ds = staticmethod(ds)
    errors = errors


NAMES = {
    "np": np,
    "jnp": jnp,
    "lax": lax,
    "jax": tans,
    "x": jnp.arange(5.0),
    "i": jnp.arange(5),
    "m": jnp.arange(6).reshape(2, 3),
    "t": jnp.arange(24).reshape(2, 3, 4),
}
# Number, expression, result or error, and warnings of each vector.
VECTORS = [
    (147, "i[10]", "Array(4, dtype=int32)", ()),
    (148, "i[-10]", "Array(0, dtype=int32)", ()),
    (149, "i[jnp.array([0,7,-1,-5,-6,-7])]", "Array([0, 4, 4, 0, 0, 0], dtype=int32)", ()),
    (150, "i[[0,1]]", "raises TypeError", ()),
    (151, "i[(0,)]", "Array(0, dtype=int32)", ()),
    (152, "i[3:100]", "Array([3, 4], dtype=int32)", ()),
    (153, "i[::-1]", "Array([4, 3, 2, 1, 0], dtype=int32)", ()),
    (154, "m[1,7]", "Array(5, dtype=int32)", ()),
    (155, "m[0,1,2]", "raises IndexError", ()),
    (156, "m[:,None,1].shape", "(2, 1)", ()),
    (157, "i[jnp.array([True,False,True,False,True])]", "Array([0, 2, 4], dtype=int32)", ()),
    (158, "i[jnp.array([True,False])]", "raises IndexError", ()),
    (
        159,
        "jax.jit(lambda a,k: a[k])(i,jnp.array([True,False,True,False,True]))",
        "raises jax.errors.NonConcreteBooleanIndexError",
        (),
    ),
    (160, "jax.jit(lambda a,k: a[k])(i,10)", "Array(4, dtype=int32)", ()),
    (161, "jax.jit(lambda a,k: a[:k])(i,2)", "raises IndexError", ()),
    (162, "i[jax.ds(2,3)]", "Array([2, 3, 4], dtype=int32)", ()),
    (
        163,
        "jax.jit(lambda a,k: a[jax.ds(k,3)])(jnp.arange(10),9)",
        "Array([7, 8, 9], dtype=int32)",
        (),
    ),
    (164, "i[1.0]", "raises TypeError", ()),
    (165, 'i["a"]', "raises TypeError", ()),
    (166, "i[True]", "Array([[0, 1, 2, 3, 4]], dtype=int32)", ()),
    (167, "m[jnp.array([0,1]),jnp.array([2,0])]", "Array([2, 3], dtype=int32)", ()),
    (168, "t[0,:,jnp.array([0,1])].shape", "(2, 3)", ()),
    (169, "t[:,jnp.array([0,1]),jnp.array([0,1])].shape", "(2, 2)", ()),
    (170, "t[jnp.array([0,1]),:,jnp.array([0,1])].shape", "(2, 3)", ()),
    (171, "t[jnp.ones((2,3),bool)].shape", "(6, 4)", ()),
    (172, "i[np.uint8(255)]", "Array(4, dtype=int32)", ()),
    (173, "i[2**40]", "raises OverflowError", ()),
    (174, "jnp.float32(1)[0]", "raises IndexError", ()),
    (175, "jnp.zeros((0,))[0]", "raises IndexError", ()),
    (176, "jnp.take(i,10)", "Array(-2147483648, dtype=int32)", ()),
    (177, "jnp.take(x,jnp.array([-1,10]))", "Array([ 4., nan], dtype=float32)", ()),
    (178, 'jnp.take(i,10,mode="clip")', "Array(4, dtype=int32)", ()),
    (179, 'jnp.take(i,7,mode="wrap")', "Array(2, dtype=int32)", ()),
    (180, "jnp.take_along_axis(i,jnp.array([5,-1]),0)", "Array([-2147483648, 4], dtype=int32)", ()),
    (181, "lax.dynamic_slice(i,(4,),(3,))", "Array([2, 3, 4], dtype=int32)", ()),
    (182, "lax.dynamic_slice(i,(-2,),(3,))", "Array([2, 3, 4], dtype=int32)", ()),
    (
        183,
        "lax.dynamic_update_slice(i,jnp.array([7,7,7]),(4,))",
        "Array([0, 1, 7, 7, 7], dtype=int32)",
        (),
    ),
    (184, "lax.slice(i,(0,),(9,))", "raises TypeError", ()),
    (185, "i.at[10].get()", "Array(4, dtype=int32)", ()),
    (186, 'i.at[10].get(mode="fill")', "Array(-2147483648, dtype=int32)", ()),
    (187, 'x.at[10].get(mode="fill")', "Array(nan, dtype=float32)", ()),
    (188, 'x.at[10].get(mode="fill",fill_value=-1)', "Array(-1., dtype=float32)", ()),
    (189, 'i.astype(jnp.uint8).at[10].get(mode="fill")', "Array(255, dtype=uint8)", ()),
    (190, 'jnp.array([True,False]).at[5].get(mode="fill")', "Array(True, dtype=bool)", ()),
    (191, 'i.at[10].get(mode="wrap")', "raises ValueError", ()),
    (192, 'i.at[-6].get(mode="fill")', "Array(-2147483648, dtype=int32)", ()),
    (
        193,
        'i.at[-1].get(mode="fill",wrap_negative_indices=False)',
        "Array(-2147483648, dtype=int32)",
        (),
    ),
    (194, 'i.at[-1].get(mode="clip",wrap_negative_indices=False)', "Array(0, dtype=int32)", ()),
    (195, "i.at[1].set(10)", "Array([ 0, 10, 2, 3, 4], dtype=int32)", ()),
    (196, "i.at[10].set(99)", "Array([0, 1, 2, 3, 4], dtype=int32)", ()),
    (197, "i.at[-1].set(99)", "Array([ 0, 1, 2, 3, 99], dtype=int32)", ()),
    (198, "i.at[-6].set(99)", "Array([0, 1, 2, 3, 4], dtype=int32)", ()),
    (199, 'i.at[-6].set(99,mode="clip")', "Array([99, 1, 2, 3, 4], dtype=int32)", ()),
    (200, 'i.at[10].set(99,mode="clip")', "Array([ 0, 1, 2, 3, 99], dtype=int32)", ()),
    (
        201,
        "i.at[-1].set(99,wrap_negative_indices=False)",
        "Array([0, 1, 2, 3, 4], dtype=int32)",
        (),
    ),
    (202, "i.at[jnp.array([0,0])].add(1)", "Array([2, 1, 2, 3, 4], dtype=int32)", ()),
    (
        203,
        "i.at[jnp.array([0,7])].set(jnp.array([5,6]))",
        "Array([5, 1, 2, 3, 4], dtype=int32)",
        (),
    ),
    (204, "i.at[1:3].add(10)", "Array([ 0, 11, 12, 3, 4], dtype=int32)", ()),
    (205, "i.at[::2].multiply(3)", "Array([ 0, 1, 6, 3, 12], dtype=int32)", ()),
    (206, "i.at[1].divide(2)", "Array([0. , 0.5, 2. , 3. , 4. ], dtype=float32)", ()),
    (207, "x.at[2].power(3)", "Array([0., 1., 8., 3., 4.], dtype=float32)", ()),
    (208, "i.at[1].subtract(5)", "Array([ 0, -4, 2, 3, 4], dtype=int32)", ()),
    (209, "i.at[3].min(1)", "Array([0, 1, 2, 1, 4], dtype=int32)", ()),
    (
        210,
        "i.at[jnp.array([1,1])].max(jnp.array([9,7]))",
        "Array([0, 9, 2, 3, 4], dtype=int32)",
        (),
    ),
    (211, "x.at[1].apply(jnp.sin)", "Array([0. , 0.84147096, 2. , 3. , 4. ], dtype=float32)", ()),
    (212, "i.at[jnp.array([0,0])].apply(lambda v: v+1)", "Array([2, 1, 2, 3, 4], dtype=int32)", ()),
    (213, "i.at[1].set(2.7)", "Array([0, 2, 2, 3, 4], dtype=int32)", ("FutureWarning",)),
    (214, "jnp.arange(3,dtype=jnp.int8).at[0].set(300)", "Array([44, 1, 2], dtype=int8)", ()),
    (
        215,
        "x.at[0].set(1+2j)",
        "Array([1., 1., 2., 3., 4.], dtype=float32)",
        ("ComplexWarning", "FutureWarning"),
    ),
    (216, "i.at[i>2].set(0)", "Array([0, 1, 2, 0, 0], dtype=int32)", ()),
    (217, "i.at[i>2].set(jnp.array([7,8]))", "Array([0, 1, 2, 7, 8], dtype=int32)", ()),
    (
        218,
        "jax.jit(lambda a: a.at[a>2].set(0))(i)",
        "raises jax.errors.NonConcreteBooleanIndexError",
        (),
    ),
    (219, "i.at[1].set(jnp.array([1,2]))", "raises ValueError", ()),
    (220, "i.at", "_IndexUpdateHelper(Array([0, 1, 2, 3, 4], dtype=int32))", ()),
    (221, "i.at[0]", "_IndexUpdateRef(Array([0, 1, 2, 3, 4], dtype=int32), 0)", ()),
    (222, "i.at[0].div", "raises AttributeError", ()),
    (225, "jnp.put(i,0,5)", "raises ValueError", ()),
    (226, "jnp.put(i,0,5,inplace=False)", "Array([5, 1, 2, 3, 4], dtype=int32)", ()),
]


@pytest.mark.parametrize(("number", "expression", "expected", "warned"), VECTORS)
def test_vector(number, expression, expected, warned):
    if expected.startswith("raises "):
        name = expected.removeprefix("raises ")
        cls = getattr(errors, name.rpartition(".")[2], None) or getattr(builtins, name)
        with pytest.raises(cls):
            eval(expression, NAMES)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = eval(expression, NAMES)
    assert " ".join(repr(result).split()) == expected
    assert sorted({w.category.__name__ for w in caught}) == sorted(warned)
