"""Names that JAX removed are absent, and access says what to write instead."""

from importlib import import_module

import pytest

from tans.removed import REMOVED
from tans_numpy.removed import REMOVED as NUMPY

NAMES = [
    (m, n, r) for m, table in {**REMOVED, "tans.numpy": NUMPY}.items() for n, r in table.items()
]


@pytest.mark.parametrize(("module", "name", "remedy"), NAMES, ids=lambda v: v)
def test_removed_names_are_absent_and_explained(module, name, remedy):
    found = import_module(module)
    assert not hasattr(found, name)
    with pytest.raises(AttributeError) as caught:
        getattr(found, name)
    assert name in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("module", ["tans", *REMOVED])
def test_unknown_names_are_only_absent(module):
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = import_module(module).nothing
