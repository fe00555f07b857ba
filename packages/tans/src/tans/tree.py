"""`tans.tree`: the module `tans_core.tree` itself."""

import sys

from tans_core import tree

sys.modules[__name__] = tree
