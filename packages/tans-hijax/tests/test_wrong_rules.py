"""Rules that are written wrong: the error names the primitive, the rule and the mismatch."""

import numpy as np
import pytest

import tans as jax
import tans.lax as lax
import tans.numpy as jnp
from tans.experimental import hijax as hj

F32 = jax.typeof(jnp.float32(0))
V3 = jax.typeof(jnp.ones(3, jnp.float32))


def primitive(avals=(V3,), out=V3, **rules):
    """Return an application of a primitive with these rules."""

    class Wrong(hj.HiPrim):
        def __init__(self):
            self.in_avals, self.out_aval, self.params = avals, out, {}
            super().__init__()

        def expand(self, *args):
            return args[0] * 2

    for name, rule in rules.items():
        setattr(Wrong, name, rule)
    return Wrong()


def fwd(self, nzs_in, *args):
    return self(*args), None


X = jnp.arange(3.0)


def gradient(prim):
    return jax.grad(lambda x: prim(x).sum())(X)


# ---- definition ---------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["in_avals", "out_aval", "params"])
def test_attributes_must_be_set(missing):  # the reference's AttributeError
    class Unset(hj.HiPrim):
        def __init__(self):
            given = {"in_avals": (V3,), "out_aval": V3, "params": {}}
            del given[missing]
            self.__dict__.update(given)
            super().__init__()

    with pytest.raises(AttributeError, match=f"Unset.*self.{missing}"):
        Unset()


@pytest.mark.parametrize(
    ("attributes", "error", "text"),
    [
        ({"in_avals": V3}, TypeError, "a tuple with one entry per argument"),
        ({"in_avals": (X,)}, TypeError, r"in_avals with the leaf .* expected types"),
        ({"out_aval": 3}, TypeError, "out_aval with the leaf 3 of type int"),
        ({"params": [1]}, TypeError, "and a dict"),
        ({"params": {"batch": 1}}, ValueError, "a param named 'batch'"),
        ({"params": {"in_tree": 1}}, ValueError, "a param named 'in_tree'"),
    ],
)
def test_definitions(attributes, error, text):
    class Wrong(hj.HiPrim):
        def __init__(self):
            self.in_avals, self.out_aval, self.params = (V3,), V3, {}
            self.__dict__.update(attributes)
            super().__init__()

    with pytest.raises(error, match=f"Wrong.*{text}"):
        Wrong()


def test_check_refuses_types():
    class Floats(hj.HiPrim):
        def __init__(self, t):
            self.in_avals, self.out_aval, self.params = (t,), t, {}
            super().__init__()

        def check(self, t):
            if t.dtype != np.float32:
                raise TypeError(f"Floats: given {t.dtype}, expected float32")

    Floats(V3)
    with pytest.raises(TypeError, match="given int32, expected float32"):
        Floats(jax.typeof(jnp.arange(3)))


# ---- application and expand ---------------------------------------------------------------------


def test_arguments():
    prim = primitive()
    with pytest.raises(TypeError, match="Wrong: given arguments with the structure"):
        prim(X, X)
    with pytest.raises(
        TypeError, match=r"Wrong: given argument 0 of type float32\[2\].*float32\[3\]"
    ):
        prim(jnp.ones(2))


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
@pytest.mark.parametrize(
    ("expand", "text"),
    [
        (lambda self, x: x[:2], r"result 0 of type float32\[2\]; expected float32\[3\]"),
        (lambda self, x: x.astype(jnp.int32), r"int32\[3\]; expected float32\[3\]"),
        (lambda self, x: (x, x), "a result with the structure"),
        (lambda self, x: "text", "result 0, which is 'text' of type str"),
    ],
)
def test_expand(expand, text, under):
    with pytest.raises(TypeError, match=rf"Wrong\.expand.*{text}"):
        under(primitive(expand=expand))(X)


# ---- reverse mode -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vjp_fwd", "error", "text"),
    [
        (lambda self, nz, x: self(x), TypeError, "a tuple of 2 to 4"),
        (lambda self, nz, x: (self(x),), TypeError, "1 values"),
        (lambda self, nz, x: (x[:1], None), TypeError, r"output 0 of type float32\[1\]"),
        (lambda self, nz, x: ((x, x), None), TypeError, "an output with the structure"),
        (lambda self, nz, x: (self(x), "res"), TypeError, "residuals with 'res' of type str"),
        (lambda self, nz, x: (self(x), None, (True, False)), ValueError, "flags"),
        (lambda self, nz, x: (self(x), None, "yes"), ValueError, "'yes'"),
        (lambda self, nz, x: (self(x), None, True, {"a": x}), TypeError, "`vjp_bwd`"),
    ],
)
def test_forward_rules(vjp_fwd, error, text):
    prim = primitive(vjp_fwd=vjp_fwd, vjp_bwd_retval=lambda self, res, ct: (ct,))
    with pytest.raises(error, match=rf"Wrong\.vjp_fwd.*{text}"):
        gradient(prim)


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
@pytest.mark.parametrize(
    ("bwd", "error", "text"),
    [
        (lambda self, res, ct: ct, TypeError, "a tuple of 1 cotangents"),
        (lambda self, res, ct: (ct, ct), ValueError, "a tuple of 2 cotangents; expected 1"),
        (lambda self, res, ct: (ct.sum(),), ValueError, r"argument 0 of type float32\[\].*\[3\]"),
        (lambda self, res, ct: (ct.astype(jnp.int32),), ValueError, r"of type int32\[3\]"),
        (
            lambda self, res, ct: ((ct, ct),),
            ValueError,
            "cotangent of argument 0 with the structure",
        ),
        (lambda self, res, ct: ("zero",), TypeError, "'zero' of type str"),
    ],
)
def test_backward_rules(bwd, error, text, under):
    prim = primitive(vjp_fwd=fwd, vjp_bwd_retval=bwd)
    with pytest.raises(error, match=rf"Wrong\.vjp_bwd_retval.*{text}"):
        under(gradient)(prim) if under is not jax.jit else jax.jit(lambda: gradient(prim))()


def test_backward_rule_is_missing():
    with pytest.raises(NotImplementedError, match="`vjp_bwd_retval`"):
        gradient(primitive(vjp_fwd=fwd))


def test_backward_rule_that_pushes_the_wrong_type():
    def vjp_bwd(self, res, ct, accum):
        accum.accum(ct.sum())

    with pytest.raises(ValueError, match=r"Wrong\.vjp_bwd.*float32\[\].*float32\[3\]"):
        gradient(primitive(vjp_fwd=fwd, vjp_bwd=vjp_bwd))


def test_backward_rules_with_logs():
    prim = primitive(vjp_fwd=fwd, vjp_bwd_retval_logs=lambda self, res, ct: (ct,))
    with pytest.raises(TypeError, match=r"Wrong\.vjp_bwd_retval_logs.*a pair"):
        gradient(prim)


# ---- forward mode -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jvp", "text"),
    [
        (lambda self, ps, ts: self(*ps), "a pair"),
        (lambda self, ps, ts: (self(*ps), ts[0][:2]), r"output tangent 0 of type float32\[2\]"),
        (lambda self, ps, ts: (self(*ps), (ts[0], ts[0])), "an output tangent with the structure"),
        (lambda self, ps, ts: (ps[0][:2], ts[0]), r"output 0 of type float32\[2\]"),
        (lambda self, ps, ts: (self(*ps), None), "an output tangent with the structure"),
    ],
)
def test_jvp_rules(jvp, text):
    with pytest.raises(TypeError, match=rf"Wrong\.jvp.*{text}"):
        jax.jvp(primitive(jvp=jvp), (X,), (X,))


def test_linearized_rule():
    prim = primitive(lin=fwd, linearized=lambda self, res, t: t.sum())
    with pytest.raises(TypeError, match=r"Wrong\.linearized.*float32\[\].*float32\[3\]"):
        jax.linearize(prim, X)


def test_forward_mode_through_a_reverse_rule():
    """A program that was linearised for reverse mode is not run forward."""
    prim = primitive(vjp_fwd=fwd, vjp_bwd_retval=lambda self, res, ct: (ct,))
    _, f_vjp = jax.vjp(prim, X)
    from tans_core.jaxpr import eval_closed

    with pytest.raises(TypeError, match=r"Wrong.*forward mode through a rule for reverse mode"):
        eval_closed(f_vjp.jaxpr, X)


# ---- batching and dead code ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "error", "text"),
    [
        (lambda self, ad, args, dims: args[0], TypeError, "a pair"),
        (lambda self, ad, args, dims: ((args[0], args[0]), 0), TypeError, "an output with"),
        (lambda self, ad, args, dims: (args[0], 5), ValueError, "out_dims 5"),
        (lambda self, ad, args, dims: (args[0], "0"), ValueError, "out_dims '0'"),
        (lambda self, ad, args, dims: (args[0], True), ValueError, "out_dims True"),
        (lambda self, ad, args, dims: (args[0], (0, 0)), ValueError, "a prefix of the output"),
        (lambda self, ad, args, dims: ("x", 0), TypeError, "output 0, which is 'x' of type str"),
        (lambda self, ad, args, dims: (args[0][:, :2], 0), TypeError, r"\[2,2\]; .*\[2,3\]"),
        (lambda self, ad, args, dims: (args[0][:1], 0), TypeError, r"\[1,3\]; .*\[2,3\]"),
        (lambda self, ad, args, dims: (args[0], None), TypeError, r"\[2,3\]; .*\[3\]"),
        (lambda self, ad, args, dims: (args[0] > 0, 0), TypeError, r"bool\[2,3\]; .*float32"),
    ],
)
def test_batch_rules(batch, error, text):
    with pytest.raises(error, match=rf"Wrong\.batch.*{text}"):
        jax.vmap(primitive(batch=batch))(jnp.ones((2, 3)))


def test_dce_rules():
    from tans_core.dce import dce_jaxpr

    def pruned(dce):
        prim = primitive((V3,), [V3, V3], expand=lambda self, x: [x, x], dce=dce)
        return dce_jaxpr(jax.make_jaxpr(prim)(X), [True, False])

    with pytest.raises(TypeError, match=r"Wrong\.dce.*a tuple"):
        pruned(lambda self, used, live: True)
    with pytest.raises(ValueError, match=r"Wrong\.dce.*1 inputs and 2 outputs.*keep 1 and 1"):
        pruned(lambda self, used, live: (True, [True, False], self))
    smaller, used = pruned(lambda self, used, live: (False, False, None))
    assert len(smaller.eqns) == 0
    assert used == [False]


# ---- leaked values ------------------------------------------------------------------------------


def test_a_rule_that_leaks():
    """A value kept from another trace is refused, with the place it comes from."""
    kept = []

    def vjp_fwd(self, nzs_in, x):
        kept.append(x)
        return self(x), kept[0]

    prim = primitive(vjp_fwd=vjp_fwd, vjp_bwd_retval=lambda self, x, ct: (ct * x,))
    jax.jit(lambda: gradient_of(prim, X))()
    jax.make_jaxpr(lambda x: gradient_of(prim, x))(X)
    kept.clear()
    jax.make_jaxpr(lambda x: gradient_of(prim, x))(X)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=r"Wrong\.vjp_fwd"):
        jax.make_jaxpr(lambda x: gradient_of(prim, x))(X)


def gradient_of(prim, x):
    return jax.grad(lambda x: prim(x).sum())(x)


def test_vmap_rule():
    def batch(self, axis_data, args, dims):
        return hj.vmap_rule(axis_data, lambda x: x * 2, tuple(dims), None)(*args), None

    with pytest.raises(ValueError, match=r"vmap_rule.*out_axes None"):
        jax.vmap(primitive(batch=batch))(jnp.ones((2, 3)))

    def summed(self, axis_data, args, dims):
        f = hj.vmap_rule(axis_data, lambda x: x, tuple(dims), None, sum_match=True)
        return f(*args), None

    found = jax.vmap(primitive(batch=summed), out_axes=None)(jnp.ones((2, 3)))
    np.testing.assert_array_equal(found, [2, 2, 2])


def test_inside_loops_too():
    prim = primitive(vjp_fwd=fwd, vjp_bwd_retval=lambda self, res, ct: (ct.sum(),))

    def loss(x):
        return lax.scan(lambda c, _: (prim(c), None), x, None, length=2)[0].sum()

    with pytest.raises(ValueError, match=r"Wrong\.vjp_bwd_retval.*float32\[\]"):
        jax.grad(loss)(X)


# ---- logs ---------------------------------------------------------------------------------------


def logging(*entries):
    """Return a function that applies a primitive whose backward rule logs, per entry."""

    def bwd(entry):
        def vjp_bwd(self, res, ct, accum):
            accum.accum(ct)
            return entry

        return vjp_bwd

    prims = [primitive(vjp_fwd=fwd, vjp_bwd=bwd(e)) for e in entries]

    def f(x):
        for prim in prims:
            x = prim(x)
        return x.sum()

    return f


@pytest.mark.parametrize("inside", [jax.jit, lambda f: lambda x: lax.cond(True, f, jnp.sum, x)])
@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (({"a": "text"},), "Wrong: given a log entry under 'a' with 'text' of type str"),
        (({"a": 1.0}, {1: 2.0}), r"Wrong: given log entries under the keys \[1, 'a'\]"),
    ],
)
def test_entries_of_logs_in_calls(inside, entries, text):
    with pytest.raises(TypeError, match=text):
        jax.vjp(inside(logging(*entries)), X)[1](1.0)


def test_keys_of_logs_are_unique():
    with pytest.raises(ValueError, match="backward pass of Wrong: given a second log entry"):
        jax.vjp(logging({"a": 1.0}, {"a": 2.0}), X)[1](1.0)


def test_messages_name_their_page_once():
    leaked = []

    def leak(self, nzs_in, x):
        leaked.append(x)
        return self(x), None

    prim = primitive(vjp_fwd=leak, vjp_bwd_retval=lambda self, res, ct: (leaked[0] * ct,))
    _, f_vjp = jax.jit(lambda x: jax.vjp(prim, x))(X)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=r"Wrong\.vjp_bwd: ") as caught:
        f_vjp(X)
    assert str(caught.value).count("More: ") == 1


def test_params_within_params_are_told_apart_by_type():
    class Factor(hj.HiPrim):
        def __init__(self, value):
            self.in_avals, self.out_aval, self.params = (F32,), F32, {"value": value}
            super().__init__()

        def expand(self, x):
            return x * (10 if self.value[0] is True else 3)

    assert Factor((1, [2.0])) == Factor((1, [2.0]))
    values = [(1,), (True,), (1.0,)]
    found = jax.jit(lambda x: [Factor(v)(x) for v in values])(jnp.float32(1))
    assert [float(x) for x in found] == [3, 10, 3]


@pytest.mark.parametrize(
    ("rule", "rules"),
    [
        (
            "linearized",
            {
                "lin": lambda self, nzs_in, x: (self(x), None),
                "linearized": lambda self, res, t: jnp.sin(t),
                **dict(zip(("vjp_fwd", "vjp_bwd_retval"), hj.vjp_from_lin, strict=True)),
            },
        ),
        (
            "jvp",
            {
                "jvp": lambda self, primals, tangents: (self(*primals), tangents[0] ** 2),
                **dict(zip(("vjp_fwd", "vjp_bwd_retval"), hj.vjp_from_jvp, strict=True)),
            },
        ),
    ],
)
def test_tangent_maps_that_are_not_linear(rule, rules):
    with pytest.raises(NotImplementedError, match=rf"Wrong\.{rule}: .*linear"):
        gradient(primitive(**rules))
