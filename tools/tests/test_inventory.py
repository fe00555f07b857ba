import pytest

import inventory
from inventory import Name, Notes


def test_every_name_of_jax_is_present_or_has_a_note_and_the_page_says_so():
    assert inventory.faults() == []


def test_the_main_namespaces_lack_nothing_that_no_package_brings():
    main = "jax jax.numpy jax.lax jax.random jax.nn jax.tree_util jax.tree".split()
    names = [n for n in inventory.names() if n.module in main]
    assert len(names) > 1200
    found = inventory.state(names, Notes(inventory.notes().brought_by, {}, {}))
    missing = [f for f in found.faults if ": absent" in f]
    # A module of examples, and a flag without a meaning here.
    assert [m.partition(":")[0] for m in missing] == [
        "jax.example_libraries",
        "jax.jax2tf_associative_scan_reductions",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(x: 'ArrayLike', /) -> 'Array'", "x, /"),
        ("(a, *, dtype: 'type' = <class 'numpy.float32'>, **kw)", "a, *, dtype=float32, **kw"),
        ("(a=<NoDefault>, b=None)", "a=..., b=None"),
    ],
)
def test_signatures_are_compared_without_annotations(text, expected):
    assert inventory.plain_signature(text) == expected


def test_signatures_agree_up_to_defaults_that_are_objects():
    assert inventory.same("a, b=...", "a, b=None")
    assert not inventory.same("a, b", "a, b=None")
    assert not inventory.same("a, /", "a")
    assert not inventory.same("a, *, b=1", "a, b=1")
    assert not inventory.same("a=1", "a=2")
    assert not inventory.same("*args", "*other")


def one(rest, kind="f", signature="()", deprecated=False):
    return Name("jax", rest, kind, signature, deprecated)


def test_absent_and_differing_names_need_a_note():
    said = Notes({"later": ["jax.nothing"]}, {"never": ["jax.never"]}, {})
    given = [
        one("nothing"), one("never"), one("nowhere"), one("old", deprecated=True),
        one("jit", "c"), one("vmap", signature="(other)"), one("device_put_sharded", "r"),
        one("P", "r"), one("numpy", "f"), one("Array", "M"),
    ]  # fmt: skip
    found = inventory.state(given, said)
    assert [n.rest for n, _ in found.absent] == ["nothing"]
    assert [n.rest for n, _ in found.not_planned] == ["never"]
    facts = "\n".join(found.faults)
    for text in (
        "jax.nowhere: absent",
        "jax.jit: not a class",
        "in JAX (other)",
        "jax.P: JAX removed it",
        "jax.numpy: not callable",
        "jax.Array: not a module",
    ):
        assert text in facts
    assert "old" not in facts
    assert "device_put_sharded" not in facts


def test_methods_are_compared_without_the_object():
    name = Name("jax.Array", "swapaxes", "m", "(self, axis1, axis2)", False)
    assert inventory.difference(name, inventory.find(name)) == ""
    other = name._replace(signature="(self, axis1)")
    assert "in JAX (self, axis1)" in inventory.difference(other, inventory.find(other))


def test_the_data_is_read_from_an_inventory(tmp_path):
    file = tmp_path / "api.json"
    file.write_text(
        '[{"name": "jax.numpy", "kind": "module"},'
        ' {"name": "jax.numpy.add", "kind": "ufunc", "sig": "(*args: \'X\')"},'
        ' {"name": "jax.numpy.old", "kind": "function", "sig": "(x)", "deprecated": true},'
        ' {"name": "jax.experimental.pallas.core_map", "kind": "function", "sig": "()"}]'
    )
    lines = inventory.read(file)
    assert lines == ["[jax]", "M numpy", "[jax.numpy]", "u add(*args)", "!f old(x)"]
    parsed = list(inventory.names("\n".join(lines)))
    assert [n.full for n in parsed] == ["jax.numpy", "jax.numpy.add", "jax.numpy.old"]
    assert parsed[2].deprecated
    assert inventory.names() is not None


def test_faults_are_printed_and_make_the_exit_status(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(inventory, "PAGE", tmp_path / "page.md")
    assert inventory.main([]) == 1
    assert "out of date" in capsys.readouterr().out
    assert inventory.main(["--update"]) == 0
