"""Methods of user types that return the wrong thing: the error names the type and the method."""

import pytest

import tans as jax
import tans.numpy as jnp
from tans.experimental import hijax as hj

F32 = hj.ShapedArray((), jnp.dtype("float32"))
X = jnp.float32(2)


def user_type(**methods):
    """Return the class of values, and functions into and out of a type with these methods."""

    class Value:
        def __init__(self, x):
            self.x = x

    class Wrong(hj.HiType):
        def __eq__(self, other):
            return type(self) is type(other)

        def __hash__(self):
            return 1

        def lo_ty(self):
            return [F32]

        def lower_val(self, value):
            return [value.x]

        def raise_val(self, x):
            return Value(x)

        def to_tangent_aval(self):
            return F32

        def str_short(self, short_dtypes=False, mesh_axis_types=False):
            return "wrong"

    class Take(hj.HiPrim):
        def __init__(self):
            self.in_avals, self.out_aval, self.params = (Wrong(),), F32, {}
            super().__init__()

        def expand(self, value):
            return value.x * 2

        def vjp_fwd(self, nzs_in, value):
            return self(value), None

        def vjp_bwd_retval(self, res, ct):
            return (2 * ct,)

    for name, method in methods.items():
        setattr(Wrong, name, method)
    hj.register_hitype(Value, lambda value: Wrong())
    return Value, Take()


def test_the_type_without_wrong_methods():
    value, take = user_type()
    assert jax.jit(take)(value(X)) == 4
    assert jax.grad(take)(value(X)) == 2


@pytest.mark.parametrize(
    ("methods", "text"),
    [
        ({"lo_ty": lambda self: None}, r"Wrong\.lo_ty returned None .* expected a list"),
        ({"lo_ty": lambda self: F32}, r"Wrong\.lo_ty returned ShapedArray.* expected a list"),
        ({"lo_ty": lambda self: [float]}, r"Wrong\.lo_ty returned .*float.* expected types"),
        ({"lower_val": lambda self, v: None}, r"Wrong\.lower_val returned None .* a list"),
        ({"lower_val": lambda self, v: v.x}, r"Wrong\.lower_val returned Array.* a list"),
        ({"lower_val": lambda self, v: [v.x, v.x]}, r"Wrong\.lower_val .*\(float32\[\]\)"),
        ({"raise_val": lambda self, x: None}, r"Wrong\.raise_val returned None of type NoneType"),
        ({"raise_val": lambda self, x: x}, r"Wrong\.raise_val returned JitTracer"),
        ({"to_tangent_aval": lambda self: None}, r"Wrong\.to_tangent_aval returned None"),
        ({"to_ct_aval": lambda self: 3}, r"Wrong\.to_ct_aval returned 3 of type int"),
    ],
)
def test_methods(methods, text):
    value, take = user_type(**methods)
    with pytest.raises(TypeError, match=text):
        jax.jit(jax.grad(take))(value(X))
    assert jax.jit(lambda x: x + 1)(X) == 3  # nothing is left behind


@pytest.mark.parametrize(
    ("cls", "type_of", "error", "text"),
    [
        (type("A", (), {}), 3, TypeError, "3, expected a class and a function"),
        (list, lambda x: None, ValueError, "given list, whose instances are containers"),
        (float, lambda x: None, ValueError, "float is registered already"),
    ],
)
def test_registration(cls, type_of, error, text):
    with pytest.raises(error, match=text):
        hj.register_hitype(cls, type_of)
