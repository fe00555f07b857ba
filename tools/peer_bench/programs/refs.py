"""Calls with mutable array references: eager operations, and jit with refs as arguments."""


def build(jax, jnp, lax):
    x = jnp.ones(8, jnp.float32)
    r, s = jax.new_ref(x), jax.new_ref(x)
    tree = {"a": jax.new_ref(x), "b": jax.new_ref(x), "c": x}

    @jax.jit
    def add_one(r):
        r[...] = r[...] + 1

    @jax.jit
    def add_one_closed():
        s[...] = s[...] + 1

    @jax.jit
    def copy_leaf(d):
        d["a"][...] = d["b"][...]
        return d["c"]

    def set_one():
        r[0] = 1.0

    def set_all():
        r[...] = x

    L = lambda name, fn, **k: dict(name=name, kind="latency", fn=fn, **k)
    return [
        L("jit(f)(ref)", lambda: add_one(r), block=False),
        L("jit(f)() closing over a ref", lambda: add_one_closed(), block=False),
        L("jit(f)({ref, ref, array})", lambda: copy_leaf(tree)),
        L("ref[...]", lambda: r[...]),
        L("ref[1]", lambda: r[1]),
        L("ref[0] = 1.0", set_one, block=False),
        L("ref[...] = x", set_all, block=False),
        L("new_ref(x)", lambda: jax.new_ref(x), block=False),
    ]
