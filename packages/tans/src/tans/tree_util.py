"""`tans.tree_util`: the module `tans_core.tree_util` itself."""

import sys

from tans_core import tree_util

sys.modules[__name__] = tree_util
